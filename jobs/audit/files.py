"""The real content of data files, for audit: sizes, footers, statistics, cells. Three narrow columns, no Spark.

Each page read is checked against the checksum its writer put beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tidewheel.commits.statistics import file_statistics, moment_text
from tidewheel.commits.written import CELL_COLUMNS, counted
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.rules.audit import FileContent
from tidewheel.indexing.rules.findings import Finding, Flaw, hit_range
from tidewheel.jobs.audit.others import filter_misleads, misleading_filter
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot

READERS = 4


@dataclass(frozen=True)
class FileReading:
    """One file: its content, unless it could not be read, and its faults."""

    fact: FileFact
    content: FileContent | None
    findings: tuple[Finding, ...] = ()


def read_contents(snapshot: Snapshot, rewrite: str) -> list[FileReading]:
    """Read every file of the version.

    Cost: the footers, and three columns of each file; one file at a time in memory.
    """
    location = snapshot.location
    facts = list(dict.fromkeys(snapshot.files))
    infos = location.filesystem.get_file_info([location.child(fact.path) for fact in facts])
    said = _logged_bounds(snapshot)
    with ThreadPoolExecutor(READERS) as readers:
        return list(
            readers.map(lambda one: _reading(snapshot, one[0], one[1], said, rewrite), zip(facts, infos, strict=True))
        )


def _reading(
    snapshot: Snapshot,
    fact: FileFact,
    info: fs.FileInfo,
    said: Mapping[str, Mapping[str, tuple[Any, Any]]],
    rewrite: str,
) -> FileReading:
    hit = hit_range(fact)
    if info.type != fs.FileType.File:
        message = f"the data file {fact.path} is missing, with {fact.rows} rows"
        return FileReading(fact, None, (Finding(Flaw.MISSING_FILE, message, None, fact.path, fact.bytes, 0, hit),))
    findings = []
    if info.size != fact.bytes:
        message = f"the data file {fact.path} has {info.size} bytes, the log says {fact.bytes}"
        findings.append(Finding(Flaw.WRONG_SIZE, message, None, fact.path, fact.bytes, info.size, hit))
    try:
        content, bounds, misleads = _content(snapshot.location, fact, snapshot.definition.key)
    except (OSError, pa.ArrowException, KeyError, ValueError, OverflowError, MemoryError) as error:
        findings.append(unreadable(fact, error))
        return FileReading(fact, None, tuple(findings))
    if content.rows != fact.rows:
        message = f"the data file {fact.path} holds {content.rows} rows, the log says {fact.rows}"
        findings.append(Finding(Flaw.COUNT, message, None, fact.path, fact.rows, content.rows, hit))
    findings += _narrow(fact, said[fact.path], bounds)
    if misleads:
        findings.append(misleading_filter(snapshot, fact, rewrite))
    return FileReading(fact, content, tuple(findings))


def page_findings(snapshot: Snapshot, facts: Sequence[FileFact]) -> list[Finding]:
    """Return files with an unreadable page, of whatever column. Cost: all columns of all files, a batch in memory."""
    with ThreadPoolExecutor(READERS) as readers:
        faults = readers.map(lambda fact: read_fault(snapshot, fact), facts)
        return [unreadable(fact, fault) for fact, fault in zip(facts, faults, strict=True) if fault]


def read_fault(snapshot: Snapshot, fact: FileFact) -> str:
    """Return why a file cannot be read to its end; nothing if it can."""
    try:
        source = snapshot.location.filesystem.open_input_file(snapshot.location.child(fact.path))
        with source, pq.ParquetFile(source, page_checksum_verification=True) as parquet:
            for _ in parquet.iter_batches():
                pass
    except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
        return one_line(str(error)) or type(error).__name__
    return ""


def unreadable(fact: FileFact, error: object) -> Finding:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    message = f"the data file {fact.path} cannot be read: {said}"
    return Finding(Flaw.UNREADABLE, message, None, fact.path, fact.rows, None, hit_range(fact))


def _content(
    location: Location, fact: FileFact, key: Sequence[str]
) -> tuple[FileContent, Mapping[str, tuple[Any, Any]], bool]:
    """Return cells, bounds, and whether a Bloom filter misleads readers."""
    source = location.filesystem.open_input_file(location.child(fact.path))
    with source, pq.ParquetFile(source, page_checksum_verification=True) as parquet:
        cells = counted(parquet.read(CELL_COLUMNS))
        statistics = json.loads(file_statistics(parquet, key))
        misleads = filter_misleads(parquet.metadata, key[0])
    if any(None in at for at in cells):
        raise ValueError("it has rows without slots")
    least, greatest = statistics["minValues"], statistics["maxValues"]
    return FileContent(fact, cells), {name: (least[name], greatest[name]) for name in least}, misleads


def _narrow(
    fact: FileFact, said: Mapping[str, tuple[Any, Any]], bounds: Mapping[str, tuple[Any, Any]]
) -> list[Finding]:
    """Return bounds in the log that leave out values of the file: readers who trust them miss records."""
    findings = []
    for name, (least, greatest) in bounds.items():
        low, high = said.get(name, (None, None))
        if (low is not None and low > least) or (high is not None and high < greatest):
            message = f"the log says {name} is from {low} to {high} in {fact.path}, it is from {least} to {greatest}"
            findings.append(
                Finding(Flaw.STATISTICS, message, None, fact.path, f"{least}..{greatest}", f"{low}..{high}")
            )
    return findings


def _logged_bounds(snapshot: Snapshot) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Return the least and the greatest value that the log names, by file and column.

    Bounds of slots are left out: they are compared with the rows themselves.
    """
    adds = snapshot.adds
    names = [
        name
        for name in (*snapshot.definition.key, "valid_until")
        if f"min.{name}" in adds.column_names and f"max.{name}" in adds.column_names
    ]
    paths = adds.column("path").to_pylist()
    bounds: dict[str, dict[str, tuple[Any, Any]]] = {path: {} for path in paths}
    for name in names:
        pairs = zip(adds.column(f"min.{name}").to_pylist(), adds.column(f"max.{name}").to_pylist(), strict=True)
        for path, (least, greatest) in zip(paths, pairs, strict=True):
            bounds[path][name] = (_as_json(least), _as_json(greatest))
    return bounds


def _as_json(value: Any) -> Any:
    """Return a typed value as the statistics of a file write it."""
    return moment_text(value) if isinstance(value, date) else value
