"""An explanation of a read: the files it opened and why, and DuckDB's own count of the row groups it read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.core.state import FileFact
from tidewheel.sql.keys.file_access import Access
from tidewheel.sql.keys.key_conditions import KeyCondition
from tidewheel.sql.questions import KeyQuestion, Question
from tidewheel.sql.read_faults import explained
from tidewheel.sql.session import Session
from tidewheel.storage.snapshot import Snapshot


@dataclass(frozen=True)
class Explanation:
    """One read, measured. `row_groups_in_bounds` are those whose key bounds admit the key: of a probe, the ones
    among them that were not read were ruled out by a Bloom filter or by their expiry. None is: not measured."""

    reads: Mapping[str, Access]
    row_groups_total: int
    row_groups_in_bounds: int | None
    row_groups_read: int | None
    rows_found: int

    @property
    def access(self) -> Access:
        """Return the access of the only archive that was read."""
        (access,) = self.reads.values()
        return access

    def to_json(self) -> dict[str, Any]:
        accesses = {name: _access_json(access) for name, access in self.reads.items()}
        opened = next(iter(accesses.values())) if len(accesses) == 1 else {"archives": accesses}
        return {
            **opened,
            "row_groups_total": self.row_groups_total,
            "row_groups_in_bounds": self.row_groups_in_bounds,
            "row_groups_read": self.row_groups_read,
            "rows_found": self.rows_found,
        }

    def lines(self) -> Iterator[str]:
        """The same for people."""
        for name, access in self.reads.items():
            of = f"{name}: " if len(self.reads) > 1 else ""
            yield f"{of}version {access.version}, as of {iso(access.as_of_us)}"
            yield (
                f"files: {access.files_total} considered, {len(access.expired)} expired, "
                f"{len(access.outside_key)} outside the key, {len(access.without_key)} without it, "
                f"{len(access.read)} read"
            )
        if self.row_groups_read is not None:
            bounds = "" if self.row_groups_in_bounds is None else f", {self.row_groups_in_bounds} admit the key"
            yield f"row groups of these: {self.row_groups_total}{bounds}, {self.row_groups_read} read"
        yield f"rows found: {self.rows_found}"
        for access in self.reads.values():
            yield from (f"  {file.path}: {reason}" for file, reason in access.reasons())


def _access_json(access: Access) -> dict[str, Any]:
    read = frozenset(access.read)
    return {
        "version": access.version,
        "as_of": iso(access.as_of_us),
        "files_total": access.files_total,
        "files_read": len(access.read),
        "files_expired": len(access.expired),
        "files_outside_key": len(access.outside_key),
        "files_without_key": len(access.without_key),
        "files": [{"path": file.path, "read": file in read, "reason": reason} for file, reason in access.reasons()],
    }


def explain(session: Session, question: Question, columns: Sequence[str] | None) -> Explanation:
    """Run the question's statement under DuckDB's profiler."""
    for version in session.pinned.values():
        version.asked_again()
    statement = question.statement(session, columns)
    explaining = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}"
    parameters = statement.parameters or None
    try:
        answer = statement.connection.sql(explaining, params=parameters).fetchall()
    except duckdb.Error as error:
        raise session.explained(error, statement.reads, statement.written_by_user) from error
    profile = json.loads(answer[0][1])
    condition = question.condition(session.only) if isinstance(question, KeyQuestion) else None
    snapshots = {name: version.snapshot for name, version in session.pinned.items()}
    counts = [_row_groups(snapshots[name], access.read, condition) for name, access in statement.reads.items()]
    local = all(snapshot.location.is_local for snapshot in snapshots.values())
    return Explanation(
        reads=statement.reads,
        row_groups_total=sum(total for total, _ in counts),
        row_groups_in_bounds=None if condition is None else sum(admitted for _, admitted in counts),
        row_groups_read=_row_groups_read(profile) if local else None,
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


def _row_groups(snapshot: Snapshot, files: Sequence[FileFact], condition: KeyCondition | None) -> tuple[int, int]:
    """How many row groups the files have, and how many of them the footers' key bounds admit."""
    total, admitted = 0, 0
    for file in files:
        footer = _footer(snapshot, file)
        total += footer.num_row_groups
        if condition is None:
            continue
        for i in range(footer.num_row_groups):
            minima, maxima = _bounds(footer.row_group(i), snapshot.definition.key)
            admitted += not condition.excludes(minima, maxima)
    return total, admitted


def _footer(snapshot: Snapshot, file: FileFact) -> pq.FileMetaData:
    location = snapshot.location
    try:
        return pq.read_metadata(location.child(file.path), filesystem=location.filesystem)
    except (OSError, pa.ArrowException) as error:
        raise explained(error, [(snapshot, (file,))]) from error


def _bounds(row_group: pq.RowGroupMetaData, key: Sequence[str]) -> tuple[list[Any], list[Any]]:
    minima: dict[str, Any] = {}
    maxima: dict[str, Any] = {}
    for i in range(row_group.num_columns):
        column = row_group.column(i)
        if column.path_in_schema in key and column.is_stats_set and column.statistics.has_min_max:
            minima[column.path_in_schema] = column.statistics.min
            maxima[column.path_in_schema] = column.statistics.max
    return [minima.get(name) for name in key], [maxima.get(name) for name in key]
