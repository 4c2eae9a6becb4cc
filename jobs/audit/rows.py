"""Hash and expiration slot of every row, computed again for audit: Spark counts, only wrong rows come back."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.findings import Finding, Flaw
from tidewheel.jobs.audit.files import read_fault, unreadable
from tidewheel.jobs.data.expressions import expiration_slot_of, quoted, row_hash
from tidewheel.jobs.data.schema import full_schema_of
from tidewheel.storage.snapshot import Snapshot

CELLS_NAMED_MAX = 200
EXAMPLES_MAX = 10
_BY_SPARK = "Spark cannot read it to its end"


def row_findings(spark: SparkSession, snapshot: Snapshot, facts: Sequence[FileFact]) -> list[Finding]:
    """Return rows that differ from what was stored, by cell and file, and files that could not be read to their end.

    Cost: one scan of all columns; a second one of the files with a wrong row.
    """
    if not facts:
        return []
    by_path = {fact.path: fact for fact in facts}
    counts = _checked(spark, snapshot, list(by_path)).groupBy("path")
    totals = counts.agg(F.count("*").alias("rows"), F.count_if("wrong").alias("wrong")).collect()
    seen = {relative_path(snapshot, row["path"]): row for row in totals}
    findings = []
    for path, fact in by_path.items():
        if path not in seen or seen[path]["rows"] < fact.rows:
            findings.append(unreadable(fact, read_fault(snapshot, fact) or _BY_SPARK))
    wrong = [path for path, row in seen.items() if row["wrong"]]
    return findings + (_wrong_rows(spark, snapshot, wrong) if wrong else [])


def _checked(spark: SparkSession, snapshot: Snapshot, paths: list[str]) -> DataFrame:
    """Return every row as its file, cell, key and whether it is wrong; a broken file is read as far as it goes."""
    reader = (
        spark.read.schema(full_schema_of(snapshot))
        .option("recursiveFileLookup", "true")
        .option("ignoreCorruptFiles", "true")
        .option("ignoreMissingFiles", "true")
        .option("parquet.page.verify-checksum.enabled", "true")
    )
    frame = reader.parquet(*snapshot.location.spark_paths(paths))
    again = row_hash([field.name for field in snapshot.columns])
    expiration = expiration_slot_of("unix_micros(valid_until)", snapshot.definition.axis)
    key = ", ".join(map(quoted, snapshot.definition.key))
    return frame.selectExpr(
        "_metadata.file_path as path",
        "ins_slot",
        "exp_slot",
        f"to_json(struct({key})) as key",
        f"not (row_hash <=> {again} and exp_slot <=> {expiration}) as wrong",
    )


def _wrong_rows(spark: SparkSession, snapshot: Snapshot, paths: list[str]) -> list[Finding]:
    wrong = _checked(spark, snapshot, paths).where("wrong")
    cells = wrong.groupBy("path", "ins_slot", "exp_slot").agg(F.count("*").alias("rows"), F.min("key").alias("key"))
    axis, findings = snapshot.definition.axis, []
    for number, row in enumerate(cells.orderBy("ins_slot", "exp_slot").limit(CELLS_NAMED_MAX).collect()):
        slot, path = row["ins_slot"], relative_path(snapshot, row["path"])
        example = f", for example key {row['key']}" if number < EXAMPLES_MAX else ""
        message = (
            f"not as stored: {counted(row['rows'], 'record')} of slot {axis.name(slot)}, expiring in slot "
            f"{axis.name(row['exp_slot'])}{example}: {path}"
        )
        findings.append(Finding(Flaw.CHANGED, message, (slot, row["exp_slot"]), path, 0, row["rows"], (slot, slot)))
    return findings


def relative_path(snapshot: Snapshot, path: str) -> str:
    """Return a path of Spark's as the log names it."""
    return unquote(path).rpartition(f"{snapshot.location.root}/")[2]
