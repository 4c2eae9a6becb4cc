"""What a read opened, and why: the log's view of every file, and DuckDB's own count of the row groups it read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.indexing.slots import iso
from tidewheel.sql.file_index import Access, DataFile
from tidewheel.sql.key_conditions import KeyCondition
from tidewheel.sql.questions import Probe, Question, Range
from tidewheel.sql.version_reader import VersionReader


@dataclass(frozen=True)
class Explanation:
    """One read, measured. `row_groups_in_bounds` are those whose key bounds admit the key: of a probe, the ones
    among them that were not read were ruled out by a Bloom filter or by their expiry. None is: not measured."""

    access: Access
    row_groups_total: int | None
    row_groups_in_bounds: int | None
    row_groups_read: int | None
    rows_found: int

    def to_json(self) -> dict[str, Any]:
        access = self.access
        return {
            "version": access.version,
            "as_of": iso(access.as_of_us),
            "files_total": access.files_total,
            "files_read": len(access.read),
            "files_expired": len(access.expired),
            "files_outside_key": len(access.outside_key),
            "files_without_key": len(access.without_key),
            "row_groups_total": self.row_groups_total,
            "row_groups_in_bounds": self.row_groups_in_bounds,
            "row_groups_read": self.row_groups_read,
            "rows_found": self.rows_found,
            "files": [
                {"path": file.path, "read": file in access.read, "reason": reason} for file, reason in access.reasons()
            ],
        }

    def lines(self) -> Iterator[str]:
        """The same for people."""
        access = self.access
        yield f"version {access.version}, as of {iso(access.as_of_us)}"
        yield (
            f"files: {access.files_total} considered, {len(access.expired)} expired, "
            f"{len(access.outside_key)} outside the key, {len(access.without_key)} without it, {len(access.read)} read"
        )
        if self.row_groups_read is not None:
            bounds = "" if self.row_groups_in_bounds is None else f", {self.row_groups_in_bounds} admit the key"
            yield f"row groups of these: {self.row_groups_total}{bounds}, {self.row_groups_read} read"
        yield f"rows found: {self.rows_found}"
        for file, reason in access.reasons():
            yield f"  {file.path}: {reason}"


def explain(reader: VersionReader, question: Question, columns: Sequence[str] | None, as_of_us: int) -> Explanation:
    """Run the question's statement under DuckDB's profiler."""
    statement = reader.statement(question, columns, as_of_us)
    explaining = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}"
    parameters = statement.parameters or None
    try:
        answer = statement.connection.sql(explaining, params=parameters).fetchall()
    except duckdb.Error as error:
        raise reader.explained(error, statement.access, statement.written_by_user) from error
    profile = json.loads(answer[0][1])
    condition = reader.condition(question) if isinstance(question, Probe | Range) else None
    total, admitted = _row_groups(reader, statement.access.read, condition)
    return Explanation(
        access=statement.access,
        row_groups_total=total,
        row_groups_in_bounds=admitted,
        row_groups_read=_row_groups_read(profile) if reader.snapshot.location.is_local else None,
        rows_found=_rows_found(profile),
    )


def _operators(profile: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = list(profile.get("operator", []))
    while waiting:
        operator = waiting.pop()
        yield operator
        waiting.extend(operator.get("children", []))


def _row_groups_read(profile: dict[str, Any]) -> int:
    return sum(int(operator.get("row_groups_scanned", 0)) for operator in _operators(profile))


def _rows_found(profile: dict[str, Any]) -> int:
    """The rows that arrive at EXPLAIN ANALYZE. A union counts none of its own."""
    waiting = [one for one in _operators(profile) if one["type"] == "EXPLAIN_ANALYZE"]
    found = 0
    while waiting:
        for child in waiting.pop()["children"]:
            if child["type"] == "UNION":
                waiting.append(child)
            else:
                found += int(child.get("intermediate_rows", 0))
    return found


def _row_groups(
    reader: VersionReader, files: Sequence[DataFile], condition: KeyCondition | None
) -> tuple[int, int | None]:
    """How many row groups the files have, and how many of them the footers' key bounds admit."""
    total, admitted = 0, 0
    for file in files:
        footer = _footer(reader, file)
        total += footer.num_row_groups
        if condition is None:
            continue
        for i in range(footer.num_row_groups):
            minima, maxima = _bounds(footer.row_group(i), reader.snapshot.definition.key)
            admitted += not condition.excludes(minima, maxima)
    return total, None if condition is None else admitted


def _footer(reader: VersionReader, file: DataFile) -> pq.FileMetaData:
    location = reader.snapshot.location
    try:
        return pq.read_metadata(location.child(file.path), filesystem=location.filesystem)
    except (OSError, pa.ArrowException) as error:
        raise reader.explained(error, Access(reader.version, 0, (file,), (), ())) from error


def _bounds(row_group: pq.RowGroupMetaData, key: Sequence[str]) -> tuple[list[Any], list[Any]]:
    minima: dict[str, Any] = {}
    maxima: dict[str, Any] = {}
    for i in range(row_group.num_columns):
        column = row_group.column(i)
        if column.path_in_schema in key and column.is_stats_set and column.statistics.has_min_max:
            minima[column.path_in_schema] = column.statistics.min
            maxima[column.path_in_schema] = column.statistics.max
    return [minima.get(name) for name in key], [maxima.get(name) for name in key]
