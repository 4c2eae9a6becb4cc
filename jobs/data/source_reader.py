"""Spark's readers, with what they need beside the options of an archive file: jars, a driver, the right time zone.

A JDBC source gives timestamps without a zone, to be read as UTC like everywhere; by default Spark takes them for the
local time of the machine. A Delta source is read at one version, which the lineage names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from tidewheel.indexing.core.definition import Source
from tidewheel.indexing.core.fates import TEXT_COLUMN
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.nanoseconds import with_moments
from tidewheel.jobs.data.source_options import with_environment
from tidewheel.jobs.process.jars import require
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import list_log

# Start of a JDBC URL -> set of jars, driver. Spark finds a driver among added jars only by its name.
_DRIVERS = {"jdbc:postgresql:": ("postgresql", "org.postgresql.Driver")}
# A table may be given as a whole query.
_PLACE_MAX = 80
# Formats of which Spark can say what it could not parse, what reading adds, and the column that Spark would choose.
TEXT_FORMATS = ("json", "csv")
ADDED_BY_READING = ("ins_slot", TEXT_COLUMN)
_SPARKS_OWN = "_corrupt_record"
_TIME_TRAVEL = ("versionasof", "timestampasof")


def loaded(
    spark: SparkSession,
    source: Source,
    options: Mapping[str, str],
    known: Collection[str],
    path: str | None = None,
) -> DataFrame:
    """Return the frame that Spark reads; for text also each unparsed record's own text, in `TEXT_COLUMN`.

    `known` are the archive's columns: where Spark's own name for that text is one of them, people keep it themselves.
    """
    reader = spark.read.format(source.format).options(**options)
    frame = (reader.schema(source.schema) if source.schema else reader).load(path)
    if source.format == "parquet":
        return with_moments(spark, source, reader, frame, path)
    given = {key.lower(): value for key, value in options.items()}
    by_user = "columnnameofcorruptrecord" in given or given.get("mode", "permissive").lower() != "permissive"
    if source.format not in TEXT_FORMATS or by_user or _SPARKS_OWN in (*known, *source.schema.split()):
        return frame
    columns = [field for field in frame.schema.fields if field.name != _SPARKS_OWN]
    with_text = StructType([*columns, StructField(TEXT_COLUMN, StringType())])
    return reader.schema(with_text).option("columnNameOfCorruptRecord", TEXT_COLUMN).load(path)


def options_of(source: Source) -> dict[str, str]:
    """Return reader options, with ${ENV:NAME} replaced from the environment, and the defaults added."""
    given = with_environment(source.options)
    known = {key.lower(): value for key, value in given.items()}
    for start, (jars, driver) in _DRIVERS.items():
        if known.get("url", "").startswith(start) and "driver" not in known:
            require(jars)
            given["driver"] = driver
    if source.format == "jdbc" and "prefertimestampntz" not in known:
        given["preferTimestampNTZ"] = "true"
    if source.format == "delta" and "path" in known and not known.keys() & set(_TIME_TRAVEL):
        given |= _newest_version(known["path"])
    if any(path.startswith("s3a://") for path in (source.path, known.get("path", ""))):
        require("s3")
    return given


def place_of(source: Source, options: Mapping[str, str]) -> str:
    """Return the place of a source, for the lineage; nothing that could be a secret."""
    known = {key.lower(): value for key, value in options.items()}
    parts = [known.get("path", source.format)]
    parts += [" ".join(known["dbtable"].split())[:_PLACE_MAX]] if "dbtable" in known else []
    parts += [f"version {known['versionasof']}"] if "versionasof" in known else []
    return " ".join(parts)


def _newest_version(path: str) -> dict[str, str]:
    """Return the version to stay at; none for a table that is missing, or in a place that only Spark knows."""
    try:
        entries = list_log(Location.of(path)).entries
    except (OSError, InvalidInput):
        return {}
    return {"versionAsOf": str(max(entries))} if entries else {}
