"""Standing queries in memory: the product's own comparison and folds, on records in lists.

A source is batches and a ledger; partials and answers are rows by (slot, part) and a ledger each, folded from receipts
as those of real archives are. What a build can read of a batch is decided by the history that plays it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from tidewheel.indexing.core.batches import source_of
from tidewheel.indexing.core.folding import fold
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Deed, Observation, Receipt, SlotReceipt, Tombstone
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.core.undo_rules import restoration_between
from tidewheel.queries.aggregates import Argument, ArgumentKind, aggregate
from tidewheel.queries.operation import Aggregate
from tidewheel.queries.standing.answer_oracle import Asked, StreamRecord, answer
from tidewheel.queries.standing.lineage import Cover, Coverage, PartialLineage
from tidewheel.queries.standing.query import Call, Counts, Named, Query, Terms
from tidewheel.queries.standing.reflection import reflections
from tidewheel.queries.standing.staleness import (
    AnswerState,
    DueAnswers,
    StalePartials,
    due_answers,
    due_of_each,
    slot_of_report,
    stale_partials,
)
from tidewheel.queries.standing.tree import Assignment, StoredTrees, Tree, assigned

SPAN = 7
AXIS = TimeAxis(60_000_000, 7_000_000)
PREDICATES: dict[str, Callable[[StreamRecord], bool]] = {
    "": lambda one: True,
    "v > 4": lambda one: one.values["v"] > 4,
    "k = 1": lambda one: one.values["k"] == 1,
}
GROUPS: dict[str, Callable[[StreamRecord], Any]] = {"k": lambda one: one.values["k"], "r": lambda one: one.values["r"]}
CALLS = {
    Call("count_rows"): (aggregate("count_rows", Argument()), ()),
    Call("sum", ("v",), ("BIGINT",)): (aggregate("sum", Argument(ArgumentKind.WHOLE)), ("v",)),
    Call("max", ("v",), ("BIGINT",)): (aggregate("max", Argument(ArgumentKind.WHOLE)), ("v",)),
    Call("gcd", ("v",), ("BIGINT",)): (aggregate("gcd", Argument(ArgumentKind.WHOLE)), ("v",)),
    Call("avg", ("v",), ("BIGINT",)): (aggregate("avg", Argument(ArgumentKind.WHOLE)), ("v",)),
}


def inputs_of(call: Call, one: StreamRecord) -> tuple[Any, ...]:
    return tuple(one.values[name] for name in CALLS[call][1])


def asked(query: Query) -> Asked:
    """The query as the oracle takes it."""
    names = [one.name for one in query.groups]

    def inputs(call: Call) -> Callable[[StreamRecord], tuple[Any, ...]]:
        return lambda one: inputs_of(call, one)

    return Asked(
        query.terms,
        PREDICATES[query.where],
        lambda one: tuple(GROUPS[name](one) if one.values else None for name in names),
        tuple((CALLS[call][0], inputs(call)) for call in query.calls),
    )


@dataclass
class ModelSource:
    """Latest batches by slot with every record that came, stored or not."""

    ledger: Ledger = field(default_factory=Ledger)
    batches: dict[int, tuple[StreamRecord, ...]] = field(default_factory=dict)
    forgotten: list[tuple[int, int]] = field(default_factory=list)
    receipts: list[tuple[int, Receipt]] = field(default_factory=list)
    past: dict[int, tuple[dict[int, tuple[StreamRecord, ...]], Ledger]] = field(default_factory=dict)
    barrier: int = 0

    def commit(self, operation: Deed, **values: Any) -> None:
        version = self.ledger.version + 1
        watermark = values.pop("watermark", self.ledger.watermark)
        receipt = Receipt(operation, f"a{version}", version, watermark, 0, 0, **values)
        self.ledger = fold(self.ledger, version, receipt, SPAN)
        self.receipts.append((version, receipt))
        self.past[version] = (dict(self.batches), self.ledger)

    def observe(self, horizon: int) -> None:
        self.commit(Deed.OBSERVE, observation=Observation(horizon))
        self.barrier = self.ledger.version

    def update(self, slot: int, records: tuple[StreamRecord, ...]) -> None:
        self.batches[slot] = records
        watermark = slot if self.ledger.watermark is None else max(slot, self.ledger.watermark)
        one = SlotReceipt(slot, len(records), 0, 0, len(records), 0, 0, {})
        self.commit(Deed.UPDATE, watermark=watermark, slots=(one,))

    def expire(self, slot: int) -> None:
        """Carry out expiry without a batch."""
        if self.ledger.watermark is not None and slot > self.ledger.watermark:
            self.commit(Deed.EXPIRE, watermark=slot)

    def forget(self, key: int) -> None:
        if self.batches:
            bound = max(last for _, last in self.ledger.applied)
            self.forgotten.append((key, bound))
            self.commit(Deed.FORGET, tombstones=(Tombstone(("k",), str(key), bound),))
            self.barrier = self.ledger.version

    def undo(self, version: int) -> None:
        batches, then = self.past[version]
        restoration = restoration_between(self.ledger, then)
        self.batches = dict(batches)
        self.commit(Deed.UNDO, watermark=then.watermark, restoration=restoration)

    def valid(self, slot: int) -> list[StreamRecord]:
        return [
            one
            for one in self.batches.get(slot, ())
            if not any(one.values["k"] == key and slot <= bound for key, bound in self.forgotten)
        ]


@dataclass
class ModelDerived:
    """Rows by (slot, part), and the ledger of their receipts."""

    ledger: Ledger = field(default_factory=Ledger)
    rows: dict[tuple[int, str], dict[tuple[Any, ...], tuple[Any, ...]]] = field(default_factory=dict)

    def put(self, source: Ledger, batches: dict[tuple[int, str], tuple[tuple[str, ...], dict[Any, Any]]]) -> None:
        slots = tuple(
            SlotReceipt(slot, len(rows), len(rows), 0, 0, 0, 0, {}, lineage, part)
            for (slot, part), (lineage, rows) in batches.items()
        )
        version = self.ledger.version + 1
        observation = Observation(source.horizon) if version == 0 else None
        receipt = Receipt(
            Deed.UPDATE, f"d{version}", version, source.watermark, 0, 0, slots=slots, observation=observation
        )
        self.ledger = fold(self.ledger, version, receipt, SPAN)
        for key, (_, rows) in batches.items():
            self.rows[key] = rows


@dataclass
class ModelQueries:
    """A source with its partials and answers, refreshed by comparison."""

    source: ModelSource
    queries: tuple[Query, ...] = ()
    assignment: Assignment = field(default_factory=lambda: Assignment((), {}))
    partials: ModelDerived = field(default_factory=ModelDerived)
    answers: ModelDerived = field(default_factory=ModelDerived)

    @property
    def now_us(self) -> int:
        watermark = self.source.ledger.watermark
        return 0 if watermark is None else AXIS.end_us(watermark)

    def ask(self, queries: tuple[Query, ...]) -> None:
        self.queries = queries
        self.assignment = assigned(queries, SPAN * AXIS.interval_us, StoredTrees(self.assignment.trees))

    def build(self, readable: Callable[[StalePartials], Coverage], through: int | None = None) -> list[StalePartials]:
        """Make stale partials again; only so many, if the refresh is to die in between."""
        trees = {tree.name: tree for tree in self.assignment.trees}
        stale = stale_partials(AXIS, self.now_us, self.source.ledger, self.partials.ledger, self.assignment.trees)
        stale = stale[:through]
        self.partials.put(
            self.source.ledger, {one.key: self._partials(one, trees[one.tree], readable(one)) for one in stale}
        )
        return stale

    def _partials(self, one: StalePartials, tree: Tree, coverage: Coverage) -> tuple[tuple[str, ...], dict[Any, Any]]:
        batch = self.source.ledger.batches.get((one.slot, ""))
        if batch is None:
            coverage = Coverage(Cover.NONE, why="undone")
        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for record in self.source.valid(one.slot) if coverage.cover is not Cover.NONE else ():
            if coverage.cover is Cover.LIVE and record.expiration_slot <= coverage.since:
                continue
            key = partial_key(tree, record)
            if key is not None:
                lifted = tuple(
                    operation.lift(*inputs_of(call, record)) for call in tree.calls for operation in _operations(call)
                )
                rows[key] = joined(tree.calls, rows[key], lifted) if key in rows else lifted
        fragments: dict[int, int] = defaultdict(int)
        for key, accumulators in rows.items():
            text = repr((one.slot, key, accumulators)).encode()
            fragments[key[0]] += int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        digests = {number: digest % (1 << 64) for number, digest in fragments.items()}
        return PartialLineage(source_of(batch), coverage, digests).to_texts(), rows

    def due(self) -> list[DueAnswers]:
        state = AnswerState(AXIS, self.now_us, SPAN, self.source.ledger, self.answers.ledger)
        reflected = reflections(AXIS, self.partials.ledger, self.assignment)
        tree_of = self.assignment.tree_of
        due = {query.name: list(due_answers(state, query, reflected[tree_of[query.name]])) for query in self.queries}
        for tree in self.assignment.trees:
            mine = [query for query in self.queries if tree_of[query.name] == tree.name]
            together = due_of_each(state, mine, reflected[tree.name])
            assert together == {query.name: due[query.name] for query in mine}, (
                "looked at together they are due otherwise"
            )
        return [one for some in due.values() for one in some]

    def give(self, through: int | None = None) -> list[DueAnswers]:
        due = self.due()[:through]
        by_part = {query.part: query for query in self.queries}
        batches: dict[tuple[int, str], tuple[tuple[str, ...], dict[Any, Any]]] = {}
        for one in due:
            query = by_part[one.part]
            rows = {
                (report.at_us, *group): (*values, report.complete)
                for report in one.reports
                for group, values in self._folded(query, report.at_us).items()
            }
            batches[one.key] = ((one.digest,), rows)
        self.answers.put(self.source.ledger, batches)
        return due

    def _folded(self, query: Query, at_us: int) -> dict[Any, Any]:
        """A query's answer from partial rows alone."""
        tree = self.assignment.tree(query.name)
        window_us = query.terms.window_us
        end = tree.slices.number_of(at_us)
        first = None if window_us is None else tree.slices.number_of(at_us - window_us)
        kept = [one.sql for one in tree.groups]
        positions = [kept.index(one.sql) for one in query.groups]
        groups: dict[tuple[Any, ...], Any] = {}
        for (_, part), rows in sorted(self.partials.rows.items()):
            for (fragment, signature, expiration, *group), accumulators in rows.items() if part == tree.name else ():
                inside = fragment < end and (first is None or fragment >= first)
                alive = expiration is None or expiration > slot_of_report(AXIS, at_us)
                if inside and alive and tree.signatures.selects(query.where, signature):
                    key = tuple(group[position] for position in positions)
                    groups[key] = joined(tree.calls, groups[key], accumulators) if key in groups else accumulators
        if not query.groups and not groups:
            groups[()] = tuple(operation.identity for call in tree.calls for operation in _operations(call))
        return {key: _finished(tree, query, accumulators) for key, accumulators in groups.items()}

    def truth(self, query: Query, at_us: int) -> dict[Any, Any]:
        """The oracle's answer over the slots that the partials cover."""
        tree = self.assignment.tree_of[query.name]
        records = []
        for (slot, part), batch in self.partials.ledger.batches.items():
            coverage = PartialLineage.from_texts(batch.lineage).coverage
            if part == tree and coverage.cover is not Cover.NONE:
                since = coverage.since if coverage.cover is Cover.LIVE else None
                records += [one for one in self.source.valid(slot) if since is None or one.expiration_slot > since]
        return answer(asked(query), records, AXIS, at_us)


def _operations(call: Call) -> tuple[Any, ...]:
    return CALLS[call][0].operations


def joined(calls: tuple[Call, ...], older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
    operations = [operation for call in calls for operation in _operations(call)]
    return tuple(one.join(x, y) for one, x, y in zip(operations, older, newer, strict=True))


def _finished(tree: Tree, query: Query, accumulators: tuple[Any, ...]) -> tuple[Any, ...]:
    at, found = 0, {}
    for call in tree.calls:
        known: Aggregate = CALLS[call][0]
        found[call] = known.answer(accumulators[at : at + len(known.operations)])
        at += len(known.operations)
    return tuple(found[call] for call in query.calls)


def partial_key(tree: Tree, record: StreamRecord) -> tuple[Any, ...] | None:
    time_us = record.time_us if tree.time else AXIS.start_us(record.slot)
    if time_us is None or time_us >= AXIS.end_us(record.slot) + tree.ahead_us:
        return None
    signature = tree.signatures.of(lambda text: PREDICATES[text](record))
    expiration = record.expiration_slot if tree.counts is Counts.LIVE else None
    if not signature:
        return None
    return (tree.slices.number_of(time_us), signature, expiration, *(GROUPS[one.sql](record) for one in tree.groups))


def random_query(chance: random.Random, name: str) -> Query:
    minute = AXIS.interval_us
    counts = chance.choice(list(Counts))
    window_us: int | None = chance.choice([1, 2, 3, 4, 6]) * minute
    slide_us, offset_us, time = chance.choice([1, 2, 3]) * minute, AXIS.epoch_us, ""
    if counts is Counts.LIVE and chance.random() < 0.3:
        window_us = None
    elif counts is Counts.ARRIVED and chance.random() < 0.5:
        time = "t"
        slide_us = chance.choice([minute // 2, minute // 3, minute, 90_000_000])
        window_us = chance.choice([minute // 2, 100_000_000, 3 * minute])
        offset_us = chance.randrange(0, slide_us)
    groups = chance.choice([(), ("k",), ("r",), ("k", "r")])
    calls = tuple(chance.sample(list(CALLS), chance.randrange(1, 4)))
    terms = Terms(
        window_us=window_us,
        slide_us=slide_us,
        offset_us=offset_us % slide_us,
        counts=counts,
        time=time,
        ahead_us=chance.choice([0, 0, minute]) if time else 0,
        late_us=chance.choice([0, 0, minute]),
        revise_us=chance.choice([0, 2, 5]) * minute,
        keep_us=50 * minute,
    )
    named = tuple(Named(one, one, "BIGINT") for one in groups)
    return Query(name, "m", calls, (), named, chance.choice(list(PREDICATES)), "", "", None, terms)


def renamed(query: Query, name: str) -> Query:
    return replace(query, name=name)
