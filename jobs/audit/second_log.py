"""A second reading of the log, for audit: by delta-spark, which shares no code with delta-rs, our own reader."""

from __future__ import annotations

from collections import Counter

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.findings import Finding, Flaw
from tidewheel.jobs.audit.rows import relative_path
from tidewheel.jobs.process.java import first_line
from tidewheel.storage.snapshot import Snapshot

# delta-spark opens the newest version however old it is, an earlier one only while it is younger than grace.
_TOO_OLD = "TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION"
OVERTAKEN_MAX = 3


def log_findings(spark: SparkSession, snapshot: Snapshot) -> list[Finding]:
    """Compare both readers: they must name the same files and columns. Cost: the log since its checkpoint, by Spark.

    If a commit landed meanwhile and delta-spark no longer opens the version, the newest one is compared instead.
    """
    for _ in range(OVERTAKEN_MAX):
        try:
            return _compared(spark, snapshot)
        except (PySparkException, Py4JJavaError) as error:
            newest = snapshot.newest()
            if _TOO_OLD not in str(error) or newest.version == snapshot.version:
                said = f"delta-spark cannot read version {snapshot.version} of the log: {first_line(error)}"
                return [Finding(Flaw.OTHER_READERS, said)]
            snapshot = newest
    # Each newest version was overtaken, by one that came more than grace later: nothing can be said of the log.
    return []


def _compared(spark: SparkSession, snapshot: Snapshot) -> list[Finding]:
    uri, version = snapshot.location.spark_uri, snapshot.version
    # What it remembers of the place may be of a table that was there before.
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    frame = spark.read.format("delta").option("versionAsOf", version).load(uri)
    there = Counter(relative_path(snapshot, file) for file in frame.inputFiles())
    findings = []
    ours = Counter(file.path for file in snapshot.files)
    if there != ours:
        missed, more = sorted((ours - there).elements()), sorted((there - ours).elements())
        said = (
            f"by delta-spark version {version} has {counted(there.total(), 'file')}, by delta-rs {ours.total():,}; "
            f"the first that only one of them names is {[*missed, *more][0]}"
        )
        findings.append(Finding(Flaw.OTHER_READERS, said, expected=ours.total(), found=there.total()))
    columns = [field.name for field in snapshot.schema.fields]
    if frame.columns != columns:
        said = f"by delta-spark the columns are {', '.join(frame.columns)}, by delta-rs {', '.join(columns)}"
        findings.append(Finding(Flaw.OTHER_READERS, said))
    return findings
