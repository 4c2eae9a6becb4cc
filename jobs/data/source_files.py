"""The files of a batch: listed before Spark reads them, and compared with a second listing when all is read.

Spark opens a file by its path, once for each part and each pass, and reads as far as the first listing said. A file
that is exchanged meanwhile would be stored as a mixture of two, or cut. So a batch of changed files is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from py4j.java_gateway import is_instance_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidewheel.indexing.core.definition import Source
from tidewheel.indexing.errors import InvalidInput, Unavailable

NAMED_MAX = 3
FORMATS_WITH_FOOTER = ("parquet", "orc", "avro")
FILE_FORMATS = (*FORMATS_WITH_FOOTER, "json", "csv", "text", "xml", "binaryfile")
_LOCAL = "file:"
_ETAGS = "org.apache.hadoop.fs.EtagSource"


@dataclass(frozen=True)
class SourceFile:
    """A file as a listing shows it; `state` differs between two files that lie at the same path in turn."""

    bytes: int
    state: tuple[object, ...]


@dataclass(frozen=True)
class Listing:
    """The files at a path or glob by address, and the frame that reads them; without a slot, those of all slots."""

    path: str
    files: Mapping[str, SourceFile]
    slot: int | None = None
    frame: DataFrame | None = None

    @property
    def lineage(self) -> tuple[str, ...]:
        return tuple(f"{_name(address)} ({file.bytes} bytes)" for address, file in sorted(self.files.items()))


def list_files(spark: SparkSession, path: str) -> dict[str, SourceFile]:
    """Return the data files at a path or glob, as Hadoop lists them; hidden ones are left out."""
    jvm: Any = spark._jvm
    hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
    system = hadoop_path.getFileSystem(spark._jsc.hadoopConfiguration())
    found: dict[str, SourceFile] = {}
    pending = list(system.globStatus(hadoop_path) or [])
    while pending:
        status = pending.pop()
        address = status.getPath().toString()
        if _name(address).rpartition("/")[2].startswith(("_", ".")):
            continue
        if status.isDirectory():
            pending += list(system.listStatus(status.getPath()))
        else:
            found[address] = SourceFile(status.getLen(), _state(spark, address, status))
    return found


def _state(spark: SparkSession, address: str, status: Any) -> tuple[object, ...]:
    """Return the inode of a local file, which a rename exchanges; the ETag where a store has one; and the time."""
    if address.startswith(_LOCAL):
        try:
            there = os.stat(address.removeprefix(_LOCAL))
        except OSError:
            return ("gone",)
        return there.st_ino, there.st_mtime_ns, there.st_size
    gateway = spark.sparkContext._gateway
    tag = status.getEtag() if is_instance_of(gateway, status, _ETAGS) else ""
    return tag, status.getModificationTime()


def refuse_unwritten(source: Source, slot: str, listed: Listing) -> None:
    """Refuse files of no bytes in a format that always has a footer: a write that was cut off. Spark skips them."""
    unwritten = [name for name in listed.lineage if name.endswith(" (0 bytes)")]
    if unwritten and source.format in FORMATS_WITH_FOOTER:
        raise InvalidInput(
            f"the source of slot {slot} has {source.format} files of no bytes: {', '.join(unwritten[:NAMED_MAX])}. "
            "Nothing was changed",
            "wait until they are written, or delete them",
        )


def refuse_changed(spark: SparkSession, archive: str, listings: Sequence[Listing]) -> None:
    """Refuse a batch if one of its files is not the file that was there before the read. Cost: the listings again."""
    changed = [name for listed in listings for name in _changed(listed, list_files(spark, listed.path))]
    if not changed:
        return
    names = ", ".join(map(_name, changed[:NAMED_MAX]))
    more = f" and {len(changed) - NAMED_MAX} more" if len(changed) > NAMED_MAX else ""
    raise Unavailable(
        f"the source of archive {archive} changed while it was read: {names}{more}. Nothing was changed in the archive",
        "run the command again when the source is complete; let its writer write under another name, and rename "
        "before the slot is due",
        files=changed,
    )


def _changed(listed: Listing, now: Mapping[str, SourceFile]) -> list[str]:
    """Return the files that are gone or exchanged, and those that Spark found and the first listing did not."""
    exchanged = [address for address, file in sorted(listed.files.items()) if now.get(address) != file]
    new = now.keys() - listed.files.keys()
    if listed.frame is None or not new:
        return exchanged
    read = {_name(unquote(address)) for address in listed.frame.inputFiles()}
    return exchanged + sorted(address for address in new if _name(address) in read)


def refuse_unread(
    spark: SparkSession, source: Source, listings: Sequence[Listing], found: Collection[int], names: Mapping[int, str]
) -> None:
    """Refuse slots of text files that hold lines and gave no record. Cost: a few lines of such files."""
    options = {key.lower(): value.lower() for key, value in source.options.items()}
    if source.format not in ("json", "csv") or options.get("mode") == "dropmalformed":
        return
    for listed in listings:
        filled = sum(1 for file in listed.files.values() if file.bytes)
        if listed.slot is None or listed.slot in found or not filled or _is_empty(spark, source, options, listed):
            continue
        raise InvalidInput(
            f"the source of slot {names[listed.slot]} gave no record, although its files hold text: "
            f"{', '.join(listed.lineage[:NAMED_MAX])}. Nothing was changed",
            "check the files, and format and options of [source] in the archive file; then run the command again",
        )


def _is_empty(spark: SparkSession, source: Source, options: Mapping[str, str], listed: Listing) -> bool:
    """Tell whether the text of a slot's files is that of no record: blank, headers alone, or an empty JSON list."""
    comment = options.get("comment", "")
    headers = len(listed.files) if source.format == "csv" and options.get("header") == "true" else 0
    text = spark.read.text(listed.path).where(F.trim("value") != "")
    text = text.where(~F.col("value").startswith(comment)) if comment else text
    lines = [row["value"] for row in text.limit(headers + 3).collect()]
    if source.format == "json":
        return re.fullmatch(r"(\s*\[\s*\]\s*)*", "".join(lines)) is not None
    return len(lines) <= headers


def _name(address: str) -> str:
    """Return a local file's path, and the address of any other."""
    return re.sub("^file:/+", "/", address)
