"""Forgotten keys leave answers of any age: rows whose group columns hold the whole key are deleted, in one commit.

The tombstones of the source that the answers have not met yet say which keys went. The commit carries them, so the
next refresh knows them. A tombstone is a digest, so keys are told apart by theirs. Young answers are folded again after
it, as records of the key may have come since; older ones are given, and stay as they are but for this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.operation import Lap, Operation, Try
from tidewheel.commits.receipt import receipt_of
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, check_sizes, counted, read_back
from tidewheel.indexing.plan import FileChange, Plan
from tidewheel.indexing.plan_kinds import plan_nothing
from tidewheel.indexing.receipts import BatchKey, Cell, Cells, Receipt, Tombstone
from tidewheel.indexing.receipts import Operation as Kind
from tidewheel.local.keys import digest_of, knows
from tidewheel.local.new_files import write_rows
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.columns import answer_columns
from tidewheel.local.standing.derived import PART
from tidewheel.queries.standing.query import Query


def erase(answers: ArchiveJob, queries: Sequence[Query], key: Sequence[str], new: Collection[Tombstone]) -> Outcome:
    """Delete the answers of forgotten keys; `key` is the source's, `new` the tombstones not met yet."""
    return attempt(answers, _Erase(tuple(queries), tuple(key), tuple(new)))


def key_columns(query: Query, key: Sequence[str]) -> list[str] | None:
    """The stored columns of an answer that hold the source's key; None if its groups do not hold the whole of it."""
    named = {one.sql.strip('"'): one.name for one in query.groups}
    stored = answer_columns(query)
    return [stored[named[column]][0] for column in key] if all(column in named for column in key) else None


@dataclass
class _Erase(Operation):
    queries: tuple[Query, ...]
    key: tuple[str, ...]
    new: tuple[Tombstone, ...]
    kept: dict[str, pa.Table] = field(default_factory=dict)  # by file, what stays of it
    gone: dict[tuple[int, int], Cell] = field(default_factory=dict)
    gone_parts: dict[BatchKey, dict[int, Cell]] = field(default_factory=dict)

    def plan(self, one: Try) -> Plan:
        self.kept, self.gone, self.gone_parts = {}, {}, {}
        for file in one.state.files:
            rows = rows_of(one.job.location, [file], file_schema(one.snapshot)).to_table()
            hit = self._hits(rows, one.state.definition.salt)
            if pc.any(hit).as_py():
                self.kept[file.path] = rows.filter(pc.invert(hit))
                self._count(rows.filter(hit), one.state.watermark)
        rewritten = tuple(
            FileChange(file, "holds forgotten keys") for file in one.state.files if file.path in self.kept
        )
        return replace(plan_nothing(one.state, Kind.FORGET), rewritten=rewritten, tombstones=self.new)

    def is_needed(self, one: Try, plan: Plan) -> bool:
        return bool(set(self.new) - set(one.state.ledger.tombstones))

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        if not plan.rewritten:
            return Work(plan, folder, NOTHING_WRITTEN)
        check_sizes(one.job.location, [change.file for change in plan.rewritten])
        rows = pa.concat_tables(self.kept.values())
        if plan.watermark is not None:
            rows = rows.filter(pc.greater(rows.column("exp_slot"), plan.watermark))
        write_rows(one, plan, rows, folder)
        written = read_back(one.job.location, folder, one.state.definition)
        reach("files_written")
        check_conserved(one.state, plan, written, self.gone)
        lap("write")
        return Work(plan, folder, written, rows_read=sum(change.file.rows for change in plan.rewritten))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        by_slot: dict[int, dict[int, Cell]] = {}
        for (slot, expiration), cell in self.gone.items():
            by_slot.setdefault(slot, {})[expiration] = cell
        forgotten: tuple[tuple[int, Cells], ...] = tuple(sorted(by_slot.items()))
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        parts = tuple(sorted(self.gone_parts.items(), key=lambda one: one[0]))
        return replace(receipt, forgotten=forgotten, forgotten_parts=parts, tombstones=self.new)

    def _hits(self, rows: pa.Table, salt: str) -> pa.Array:
        """Which rows are of a forgotten key and inserted up to its bound."""
        bounds = {one.digest: one.slot_max for one in self.new}
        hit = [False] * rows.num_rows
        for query in self.queries:
            columns = key_columns(query, self.key)
            if columns is None or any(name not in rows.column_names for name in columns):
                continue
            if not knows(pa.schema([rows.schema.field(name) for name in columns])):
                continue
            for place, row in enumerate(rows.select([PART, "ins_slot", *columns]).to_pylist()):
                values = [row[name] for name in columns]
                if row[PART] == query.part and None not in values:
                    bound = bounds.get(digest_of(self.key, values, salt))
                    hit[place] = hit[place] or (bound is not None and row["ins_slot"] <= bound)
        return pa.array(hit, pa.bool_())

    def _count(self, rows: pa.Table, watermark: int | None) -> None:
        for part in pc.unique(rows.column(PART)).to_pylist():
            for (slot, expiration), cell in counted(rows.filter(pc.equal(rows.column(PART), part))).items():
                if watermark is None or expiration > watermark:
                    at = (slot, expiration)
                    self.gone[at] = self.gone[at].plus(cell) if at in self.gone else cell
                    mine = self.gone_parts.setdefault((slot, part), {})
                    mine[expiration] = mine[expiration].plus(cell) if expiration in mine else cell
