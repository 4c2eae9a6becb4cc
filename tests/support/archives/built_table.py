"""Archives without Spark: Parquet files written by pyarrow, committed like the jobs commit theirs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from tidewheel.commits.commit import commit, commit_schema, create_table, stored_fields
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.definition import STORED_COLUMNS, Clock, Definition, Retention
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.slots import TimeAxis, moment
from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.entry import NewFile
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot, open_snapshot

# As earlier programs wrote them.
ASCII_STATISTICS = False
HOUR_US = 3600 * 10**6
Row = dict[str, Any]  # people's columns, and ins_slot, exp_slot, valid_until (microseconds), row_hash


@dataclass
class BuiltTable:
    """A table under construction, and every row that was ever put into each version of it."""

    location: Location
    fields: list[Field]
    row_group_rows: int = 10_000
    file_rows_max: int = 1_000_000
    rows_by_file: dict[str, list[Row]] = field(default_factory=dict)

    @staticmethod
    def create(
        root: Path | str,
        fields: Sequence[Field],
        key: Sequence[str],
        *,
        clock: Clock = Clock.DATA,
        classes: tuple[int, int] = (1, 4),
        interval_us: int = HOUR_US,
        retention: Retention | None = None,
        row_group_rows: int = 10_000,
        file_rows_max: int = 1_000_000,
        name: str = "built",
    ) -> BuiltTable:
        layout = Layout(LayoutKind.ROUND_ROBIN, *classes, span=36)
        definition = Definition(
            name=name,
            key=tuple(key),
            axis=TimeAxis(interval_us),
            max_lifetime_us=36 * interval_us,
            clock=clock,
            generations=(Generation(0, layout, Strategy.EXPIRE_REBUILD),),
            retention=retention or Retention(1, 1, 1, 1),
            salt="salt",
        )
        location = Location.of(root)
        create_table(location, list(fields), definition, _receipt(Deed.INIT, 0, None))
        return BuiltTable(location, list(fields), row_group_rows, file_rows_max)

    @property
    def snapshot(self) -> Snapshot:
        return open_snapshot(self.location)

    @property
    def rows(self) -> list[Row]:
        """What the newest version stores."""
        return [row for rows in self.rows_by_file.values() for row in rows]

    def path(self, relative: str) -> Path:
        return Path(self.location.child(relative))

    def append(self, rows: Iterable[Row], *, watermark: int | None, removed: Iterable[str] = ()) -> list[str]:
        """Commit rows as new files, and files out; the new files' paths."""
        snapshot = self.snapshot
        attempt = f"run-20260101T000000-{snapshot.head + 1:012x}-1"
        gone = set(removed)
        added = [new for part in self._parts(rows, snapshot) for new in self._write(attempt, snapshot, *part)]
        facts = [fact for fact in snapshot.files if fact.path in gone]
        receipt = _receipt(Deed.UPDATE, snapshot.head + 1, watermark)
        commit(snapshot, replace(receipt, files_added=len(added), files_removed=len(facts)), added, facts)
        for path in gone:
            del self.rows_by_file[path]
        return [new.fact.path for new in added]

    def widen(self, column: Field) -> None:
        """Add a nullable column; the files that are there do not have it."""
        snapshot = self.snapshot
        fields = [*snapshot.schema.fields[: len(self.fields)], column, *snapshot.schema.fields[len(self.fields) :]]
        receipt = _receipt(Deed.WIDEN, snapshot.head + 1, snapshot.watermark)
        commit_schema(snapshot, receipt, Schema(fields))
        self.fields = [*self.fields, column]

    def row(self, ins_slot: int, valid_until: int, **values: Any) -> Row:
        """A row with what tidewheel adds to it."""
        axis = TimeAxis(HOUR_US)
        digest = sha256(repr((ins_slot, valid_until, sorted(values.items()))).encode()).digest()
        return {
            **{one.name: None for one in self.fields},
            **values,
            "ins_slot": ins_slot,
            "exp_slot": axis.expiration_slot_of(valid_until),
            "valid_until": valid_until,
            "row_hash": int.from_bytes(digest[:8], "big", signed=True),
        }

    def _parts(self, rows: Iterable[Row], snapshot: Snapshot) -> list[tuple[tuple[int, int], list[Row]]]:
        """Rows by sub-index, sorted, cut into files by key range."""
        layout = snapshot.definition.current.layout
        by_subindex: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in rows:
            by_subindex[layout.row_of(row["ins_slot"]), layout.column_of(row["exp_slot"])].append(row)
        parts = []
        for subindex, members in sorted(by_subindex.items()):
            members.sort(key=lambda row: (*(row[name] for name in snapshot.definition.key), row["valid_until"]))
            parts += [
                (subindex, members[at : at + self.file_rows_max]) for at in range(0, len(members), self.file_rows_max)
            ]
        return parts

    def _write(self, attempt: str, snapshot: Snapshot, subindex: tuple[int, int], rows: list[Row]) -> Iterable[NewFile]:
        g, e = subindex
        relative = f"{attempt}/layout=0/g={g}/e={e}/part-{len(self.rows_by_file):05d}.parquet"
        target = self.path(relative)
        target.parent.mkdir(parents=True, exist_ok=True)
        schema = pa.schema(Schema([*self.fields, *stored_fields()])).remove_metadata()
        columns = [
            pa.array([_arrow_value(name, row.get(name)) for row in rows], schema.field(name).type)
            for name in schema.names
        ]
        pq.write_table(
            pa.table(columns, schema=schema),
            target,
            row_group_size=self.row_group_rows,
            compression="zstd",
            bloom_filter_options=self._bloom_filter(snapshot.definition.key[0]),
        )
        self.rows_by_file[relative] = rows
        ins, exp = [row["ins_slot"] for row in rows], [row["exp_slot"] for row in rows]
        fact = FileFact(relative, 0, g, e, min(ins), max(ins), min(exp), max(exp), len(rows), target.stat().st_size)
        return [NewFile(fact, _statistics(rows, (*snapshot.definition.key, *STORED_COLUMNS)), 0)]

    def _bloom_filter(self, name: str) -> dict[str, Any] | None:
        kind = next(one.type for one in self.fields if one.name == name)
        return None if kind == PrimitiveType("boolean") else {name: {"ndv": self.row_group_rows}}


def alive(rows: Iterable[Row], as_of_us: int) -> list[Row]:
    return [row for row in rows if row["valid_until"] > as_of_us]


def cells_of(rows: Iterable[Row]) -> dict[tuple[int, int], Cell]:
    cells: dict[tuple[int, int], Cell] = {}
    for row in rows:
        at = (row["ins_slot"], row["exp_slot"])
        cells[at] = cells.get(at, Cell(0, 0)).plus(Cell(1, row["row_hash"]))
    return cells


def _receipt(operation: Deed, head: int, watermark: int | None) -> Receipt:
    return Receipt(operation, f"attempt-{head}", head, watermark, 0, 0)


def _arrow_value(name: str, value: Any) -> Any:
    return moment(value) if name == "valid_until" else value


def _statistics(rows: list[Row], names: Sequence[str]) -> str:
    bounds: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}}
    for name in names:
        values = [row[name] for row in rows]
        if not isinstance(values[0], bytes | bool | float):
            bounds["minValues"][name] = _stated(name, min(values))
            bounds["maxValues"][name] = _stated(name, max(values))
    return json.dumps({"numRecords": len(rows), **bounds}, ensure_ascii=ASCII_STATISTICS)


def _stated(name: str, value: Any) -> Any:
    if name == "valid_until":
        value = moment(value)
    if isinstance(value, datetime):
        # Cut to milliseconds, as Delta allows.
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
