"""A refresh: what is stale is found by comparison, partials are made again, then answers; one commit for each.

Killed anywhere, it leaves what is committed, and the next one finds the rest. Two at once compare the same, and whoever
commits second has nothing left to bring.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.fail_points import reach
from tidewheel.commits.observe import observe
from tidewheel.commits.undo import undo
from tidewheel.indexing.definition import Clock, Definition
from tidewheel.indexing.ledger import Ledger
from tidewheel.indexing.receipts import BatchKey
from tidewheel.indexing.slots import TimeAxis
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.columns import (
    ANSWER_COLUMNS,
    ANSWER_KEY,
    PARTIAL_COLUMNS,
    PARTIAL_KEY,
    answer_columns,
    delta_columns,
    partial_columns,
)
from tidewheel.local.standing.derived import PART, Batches, create_derived, definition_of, put, redefine
from tidewheel.local.standing.folds import Folder
from tidewheel.local.standing.partials import PartialBuilder
from tidewheel.local.standing.slot_rows import SlotReader, SlotRows, reader_of
from tidewheel.queries.standing.lineage import PartialLineage, source_of
from tidewheel.queries.standing.query import Counts, Query
from tidewheel.queries.standing.staleness import (
    AnswerState,
    DueAnswers,
    StalePartials,
    due_answers,
    reflections,
    stale_partials,
)
from tidewheel.queries.standing.tree import Assignment, Tree, assigned
from tidewheel.storage.ledger_store import ledger_of, receipts_since
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot

DIGEST_BYTES = 8
ROWS = "tw_source"


def derived_location(location: Location, kind: str) -> Location:
    """Where the partials or answers of an archive lie: beside it."""
    return Location(f"{location.uri}.{kind}")


def derived_job(job: ArchiveJob, kind: str) -> ArchiveJob:
    """The partials or answers of an archive, as operations take them."""
    return replace(job, location=derived_location(job.location, kind), file=None)


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did, or would do: stale partials and due answers with their reasons, and the two commits."""

    stale: tuple[StalePartials, ...]
    due: tuple[DueAnswers, ...]
    partials: Outcome | None = None
    answers: Outcome | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "stale": [{"slot": one.slot, "tree": one.tree, "why": one.why} for one in self.stale],
            "due": [
                {"slot": one.slot, "part": one.part, "reports": len(one.reports), "revision": one.revision,
                 "why": one.why} for one in self.due
            ],
            "partials_version": None if self.partials is None else self.partials.version,
            "answers_version": None if self.answers is None else self.answers.version,
        }  # fmt: skip


@dataclass
class Refresh:
    """One refresh of an archive's standing queries."""

    job: ArchiveJob
    queries: Sequence[Query]
    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(":memory:"))

    def __post_init__(self) -> None:
        self.connection.execute("SET TimeZone = 'UTC'")
        self.partials, self.answers = derived_job(self.job, "partials"), derived_job(self.job, "answers")

    def run(self) -> Refreshed:
        """Compare, make partials, give answers."""
        source = self.job.snapshot()
        assignment = self._prepare(source.definition)
        reader = reader_of(self.job)
        self._follow_undo(reader)
        stale, made = self._make_partials(reader, assignment)
        reach("partials_committed")
        due, given = self._give_answers(reader, assignment)
        return Refreshed(tuple(stale), tuple(due), made, given)

    def kept_trees(self) -> tuple[Tree, ...]:
        """The trees whose partials are stored."""
        return stored_trees(self.partials)

    def compare(self) -> Refreshed:
        """What a refresh would do; answers are told as far as the partials that are there tell it."""
        reader = reader_of(self.job)
        source = reader.snapshot.definition
        assignment = assigned(self.queries, source.max_lifetime_us, stored_trees(self.partials))
        partials, answers = (ledger_of(job.snapshot()) if is_there(job) else Ledger()
                             for job in (self.partials, self.answers))  # fmt: skip
        stale = stale_partials(source.axis, _now_us(self.job, reader), reader.state.ledger, partials, assignment.trees)
        reflected = reflections(source.axis, partials, assignment)
        state = self._answer_state(reader, answers)
        due = [one for query in self.queries
               for one in due_answers(state, query, reflected[assignment.tree_of[query.name]])]  # fmt: skip
        return Refreshed(tuple(stale), tuple(due))

    # Before: what is derived by what.

    def _prepare(self, source: Definition) -> Assignment:
        """The archive is observed, both derived archives are there, and say what they are derived by."""
        kept = stored_trees(self.partials)
        assignment = assigned(self.queries, source.max_lifetime_us, kept)
        horizon = _horizon(source, assignment)
        observe(self.job, horizon)
        self._derive(self.partials, source, "partials", PARTIAL_KEY, horizon, _partial_schema(assignment),
                     {"trees": [tree.to_json() for tree in assignment.trees]})  # fmt: skip
        self._derive(self.answers, source, "answers", ANSWER_KEY, horizon, _answer_schema(self.queries),
                     {"queries": [query.to_json() for query in self.queries]})  # fmt: skip
        return assignment

    def _derive(
        self,
        job: ArchiveJob,
        source: Definition,
        kind: str,
        key: Sequence[str],
        horizon: int,
        columns: Iterable[tuple[str, str]],
        by: dict[str, object],
    ) -> None:
        told = json.dumps({"of": self.job.location.uri, **by}, sort_keys=True)
        fields = delta_columns(columns)
        if not is_there(job):
            create_derived(job, fields, definition_of(source, kind, key, told), horizon)
        else:
            redefine(job, told, fields, horizon)

    def _follow_undo(self, reader: SlotReader) -> None:
        """Where the source's watermark went back, the derived archives go back to before they followed it."""
        watermark = reader.state.watermark
        for job in (self.partials, self.answers):
            snapshot = job.snapshot()
            if watermark is None or snapshot.watermark is None or snapshot.watermark <= watermark:
                continue
            before = [version for version, receipt in receipts_since(snapshot, -1)
                      if receipt.watermark is None or receipt.watermark <= watermark]  # fmt: skip
            undo(job, max(before))

    # Partials.

    def _make_partials(self, reader: SlotReader, assignment: Assignment) -> tuple[list[StalePartials], Outcome | None]:
        ledger = ledger_of(self.partials.snapshot())
        source = reader.state.ledger
        axis, now_us = reader.snapshot.definition.axis, _now_us(self.job, reader)
        stale = stale_partials(axis, now_us, source, ledger, assignment.trees)
        if not stale and ledger.watermark == source.watermark:
            return [], None
        trees = {tree.name: tree for tree in assignment.trees}
        lineages: dict[BatchKey, tuple[str, ...]] = {}
        tables = []
        for slot in sorted({one.slot for one in stale}):
            rows = reader.read(slot)
            for one in (one for one in stale if one.slot == slot):
                table, lineage = self._partials_of(trees[one.tree], slot, rows, reader, now_us)
                lineages[one.key] = lineage.to_texts()
                tables.append(table)
        rows_of_all = pa.concat_tables(tables, promote_options="default") if tables else None
        return stale, put(self.partials, Batches(rows_of_all, lineages), source.watermark)

    def _partials_of(
        self, tree: Tree, slot: int, given: SlotRows, reader: SlotReader, now_us: int
    ) -> tuple[pa.Table, PartialLineage]:
        axis = reader.snapshot.definition.axis
        self.connection.register(ROWS, given.rows)
        oldest_us = now_us - tree.horizon_us - tree.ahead_us
        table = PartialBuilder(tree, axis, self.connection).build(slot, ROWS, oldest_us)
        coverage = given.coverage if tree.counts is Counts.LIVE else given.coverage.for_all()
        batch = reader.state.ledger.batches.get((slot, ""))
        lineage = PartialLineage(source_of(batch), coverage, _digests(self.connection, table))
        return _stored_partials(table, tree, slot, axis), lineage

    # Answers.

    def _give_answers(self, reader: SlotReader, assignment: Assignment) -> tuple[list[DueAnswers], Outcome | None]:
        partials = self.partials.snapshot()
        reflected = reflections(reader.snapshot.definition.axis, ledger_of(partials), assignment)
        answers = ledger_of(self.answers.snapshot())
        state = self._answer_state(reader, answers)
        due: list[DueAnswers] = []
        tables: list[pa.Table] = []
        for tree in assignment.trees:
            queries = [query for query in self.queries if assignment.tree_of[query.name] == tree.name]
            mine = {query.part: list(due_answers(state, query, reflected[tree.name])) for query in queries}
            due += [one for some in mine.values() for one in some]
            if any(one.reports for some in mine.values() for one in some):
                tables += self._answers_of(tree, queries, mine, partials, reader)
        if not due and answers.watermark == state.source.watermark:
            return [], None
        rows = pa.concat_tables(tables, promote_options="default") if tables else None
        lineages = {one.key: (one.digest,) for one in due}
        return due, put(self.answers, Batches(rows, lineages), state.source.watermark)

    def _answer_state(self, reader: SlotReader, answers: Ledger) -> AnswerState:
        return AnswerState(
            axis=reader.snapshot.definition.axis,
            now_us=_now_us(self.job, reader),
            span=reader.snapshot.definition.span,
            source=reader.state.ledger,
            answers=answers,
        )

    def _answers_of(
        self,
        tree: Tree,
        queries: Sequence[Query],
        due: dict[str, list[DueAnswers]],
        partials: Snapshot,
        reader: SlotReader,
    ) -> list[pa.Table]:
        """The answers of a tree's queries, from one reading of its partials."""
        self.connection.register("tw_partials", loaded_partials(self.partials, partials, tree))
        axis = reader.snapshot.definition.axis
        found = []
        for query in queries:
            reports = [report for one in due[query.part] for report in one.reports]
            if reports:
                table = Folder(query, tree, axis, self.connection, "tw_partials").fold(reports)
                found.append(_stored_answers(table, query, due[query.part], reader))
        return found


def _now_us(job: ArchiveJob, reader: SlotReader) -> int:
    """The archive's present: the wall's, or for historic data the end of what was applied."""
    definition, watermark = reader.snapshot.definition, reader.state.watermark
    if definition.clock is Clock.WALL or watermark is None:
        return job.clock()
    return definition.axis.end_us(watermark)


def is_there(job: ArchiveJob) -> bool:
    return DeltaTable.is_deltatable(job.location.delta_uri, job.location.storage_options)


def stored_trees(job: ArchiveJob) -> tuple[Tree, ...]:
    if not is_there(job):
        return ()
    told = json.loads(job.snapshot().definition.derived)
    return tuple(Tree.from_json(one) for one in told["trees"])


def _horizon(source: Definition, assignment: Assignment) -> int:
    """How many slots back batches are compared, in whole slots."""
    longest = max((tree.horizon_us + tree.ahead_us for tree in assignment.trees), default=0)
    return -(-longest // source.axis.interval_us) + 2


def _partial_schema(assignment: Assignment) -> list[tuple[str, str]]:
    columns = list(PARTIAL_COLUMNS.items())
    for tree in assignment.trees:
        columns += partial_columns(tree).values()
    return columns


def _answer_schema(queries: Sequence[Query]) -> list[tuple[str, str]]:
    columns = list(ANSWER_COLUMNS.items())
    for query in queries:
        columns += answer_columns(query).values()
    return columns


def _digests(connection: duckdb.DuckDBPyConnection, table: pa.Table) -> dict[int, int]:
    """By fragment, a digest of its partial rows, whatever their order."""
    connection.register("tw_digested", table)
    query = "SELECT fragment, md5(string_agg(to_json(tw_digested), chr(10) ORDER BY to_json(tw_digested)::VARCHAR))"
    rows = connection.execute(f"{query} FROM tw_digested GROUP BY fragment").fetchall()
    return {
        number: int.from_bytes(blake2b(f"{number} {text}".encode(), digest_size=DIGEST_BYTES).digest(), "big")
        for number, text in rows
    }


def _stored_partials(table: pa.Table, tree: Tree, slot: int, axis: TimeAxis) -> pa.Table:
    """Partial rows as they are stored: typed columns, the slot, and how long each row lives."""
    names = {name: stored for name, (stored, _) in partial_columns(tree).items()}
    rows = table.rename_columns([names.get(name, name) for name in table.column_names])
    if tree.counts is Counts.LIVE:
        ends = [axis.end_us(one) for one in rows.column("expiration").to_pylist()]
    else:
        ends = [tree.slices.end_of(number) for number in rows.column("fragment").to_pylist()]
    lives = tree.horizon_us if tree.counts is Counts.ARRIVED else tree.revise_us
    return _with_slot(rows, tree.name, [slot] * rows.num_rows, [end + lives for end in ends])


def _stored_answers(table: pa.Table, query: Query, due: Sequence[DueAnswers], reader: SlotReader) -> pa.Table:
    """Answers as they are stored."""
    names = {name: stored for name, (stored, _) in answer_columns(query).items()}
    slots = {report.at_us: one for one in due for report in one.reports}
    ends = table.column("window_end").to_pylist()
    rows = table.rename_columns([names.get(name, name) for name in table.column_names])
    for name in ("window_start", "window_end"):
        moments = table.column(name).cast(pa.timestamp("us", "UTC"))
        rows = rows.set_column(rows.schema.get_field_index(name), name, moments)
    count = rows.num_rows
    rows = rows.append_column("revision", pa.array([slots[at].revision for at in ends], pa.int32()))
    rows = rows.append_column("source_version", pa.array([reader.snapshot.version] * count, pa.int64()))
    return _with_slot(rows, query.part, [slots[at].slot for at in ends], [at + query.terms.keep_us for at in ends])


def _with_slot(rows: pa.Table, part: str, slots: Sequence[int], until_us: Sequence[int]) -> pa.Table:
    rows = rows.append_column(PART, pa.array([part] * rows.num_rows, pa.string()))
    rows = rows.append_column("ins_slot", pa.array(slots, pa.int64()))
    return rows.append_column("valid_until", pa.array(until_us, pa.timestamp("us", "UTC")))


def loaded_partials(job: ArchiveJob, snapshot: Snapshot, tree: Tree) -> pa.Table:
    """A tree's partial rows under the names that folds give them."""
    columns = {"fragment": "fragment", "signature": "signature", "expiration": "expiration"}
    columns |= {name: stored for name, (stored, _) in partial_columns(tree).items()}
    condition = pc.field(PART) == tree.name
    if snapshot.watermark is not None:
        condition &= pc.field("exp_slot") > snapshot.watermark
    rows = rows_of(job.location, snapshot.files, file_schema(snapshot))
    return rows.to_table(columns={name: pc.field(stored) for name, stored in columns.items()}, filter=condition)


def refresh(
    job: ArchiveJob, queries: Sequence[Query], progress: Callable[[str], None] = lambda step: None
) -> Refreshed:
    """Bring an archive's standing queries up to date."""
    progress("comparing")
    return Refresh(job, queries).run()
