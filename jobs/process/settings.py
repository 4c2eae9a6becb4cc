"""The settings of a Spark session: local unless told otherwise, and never a network look-up for jars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tidewheel.jobs.process.jars import jar_paths
from tidewheel.jobs.process.java_needs import library_options, options_given
from tidewheel.jobs.process.object_store import object_store_settings

MASTER_VARIABLE = "TIDEWHEEL_SPARK_MASTER"
# JDBC sources are asked for intervals in the local time of the JVM, which elsewhere says one hour twice a year.
_UTC = "-Duser.timezone=UTC"
_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Plans are small and their sizes known: adaptive execution only adds jobs.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    # Listing a few hundred files is quicker here than as a Spark job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    # Small pieces, so that those who read end together; of 128 MB, the default, one core often waits for the last.
    "spark.sql.files.maxPartitionBytes": "16m",
    # INT96, Spark's default, has no min/max in the footers.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # A timestamp without a zone is read as UTC; timestamp_ntz would lift the table's reader version.
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    # Spark has no moments of nanoseconds, which pandas writes: as numbers they can at least be read, and made moments.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    # Delta rebuilds its state over 50 tasks by default: seconds, for small tables.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # What a task wrote becomes visible when the job ends: version 2 shows what a lost task left behind.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "1",
    "spark.hadoop.parquet.summary.metadata.level": "NONE",
    # Call sites of every column: slow, and printed as JSON to standard error on the first mistake.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Without its pages, too, Spark remembers a thousand of each with all their tasks: memory that grows by update.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.executor.defaultJavaOptions": _UTC,
}
# Nobody else needs to reach a Spark that works alone; by default its two ports listen on an outer interface.
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
# Spark's own name for the secret that the processes of a cluster share.
_SECRET_VARIABLE = "_SPARK_AUTH_SECRET"
# Errors only; spark.log.level would announce itself, and only after the first warnings.
_LOGGING = f'-Dlog4j2.configurationFile="{Path(__file__).with_name("log4j2.properties")}"'
# Nobody waits for the pauses of an update: on 2 cores a third less time than with the collector Java would choose.
_COLLECTOR = "-XX:+UseParallelGC"
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def session_settings(environment: Mapping[str, str], name: str = "tidewheel") -> dict[str, str]:
    """Return the settings of a session, for its JVM and for itself."""
    settings = {**_SETTINGS, **object_store_settings(environment), "spark.app.name": name}
    settings["spark.master"] = master_of(environment)
    if is_local(environment):
        settings |= _LOOPBACK
    settings["spark.jars"] = ",".join(str(path) for path in jar_paths())
    settings["spark.driver.defaultJavaOptions"] = " ".join(_java_options(environment))
    if "SPARK_DRIVER_MEMORY" not in environment:
        settings["spark.driver.memory"] = "2g"
    return settings


def master_of(environment: Mapping[str, str]) -> str:
    return environment.get(MASTER_VARIABLE) or "local[*]"


def is_local(environment: Mapping[str, str]) -> bool:
    return master_of(environment).startswith("local")


def cluster_secret(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the proof of who we are for a cluster; only to a running Java, or it would be on its command line."""
    secret = environment.get(_SECRET_VARIABLE)
    if not secret or is_local(environment):
        return {}
    return {"spark.authenticate": "true", "spark.authenticate.secret": secret}


def _java_options(environment: Mapping[str, str]) -> list[str]:
    """Return our options for the driver.

    Java refuses to start with two collectors, so the user's choice stays alone.
    """
    collector = [] if _ANY_COLLECTOR.search(options_given(environment)) else [_COLLECTOR]
    return [_LOGGING, _UTC, *collector, *library_options(environment)]
