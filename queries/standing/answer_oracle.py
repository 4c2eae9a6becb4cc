"""The oracle of standing queries: an answer from all records, from scratch. Slow, obviously right, kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.queries.operation import Aggregate
from tidewheel.queries.standing.query import Counts, Terms

Inputs = tuple[Any, ...]


@dataclass(frozen=True)
class StreamRecord:
    """A valid record of a latest batch, as the oracle needs it; `time_us` None is NULL."""

    slot: int
    time_us: int | None
    expiration_slot: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A query in Python: which records, by what, and the inputs of each aggregate."""

    terms: Terms
    where: Callable[[StreamRecord], bool]
    group: Callable[[StreamRecord], tuple[Any, ...]]
    aggregates: tuple[tuple[Aggregate, Callable[[StreamRecord], Inputs]], ...]


def answer(asked: Asked, records: Iterable[StreamRecord], axis: TimeAxis, at_us: int) -> dict[tuple[Any, ...], Inputs]:
    """The values of each group for the window that ends at a moment; without groups, of an empty window too."""
    counted = [one for one in records if _counts(asked.terms, one, axis, at_us) and asked.where(one)]
    groups = {asked.group(one) for one in counted} or ({()} if asked.group(_NOBODY) == () else set())
    return {
        group: tuple(_value(aggregate, inputs, [one for one in counted if asked.group(one) == group])
                     for aggregate, inputs in asked.aggregates)
        for group in groups
    }  # fmt: skip


_NOBODY = StreamRecord(0, 0, 0, {})


def _counts(terms: Terms, record: StreamRecord, axis: TimeAxis, at_us: int) -> bool:
    time_us = record.time_us if terms.time else axis.start_us(record.slot)
    if time_us is None or time_us >= axis.end_us(record.slot) + terms.ahead_us:
        return False
    if terms.counts is Counts.LIVE and record.expiration_slot <= axis.slot_of(at_us - 1):
        return False
    return time_us < at_us and (terms.window_us is None or at_us - terms.window_us <= time_us)


def _value(aggregate: Aggregate, inputs: Callable[[StreamRecord], Inputs], records: list[StreamRecord]) -> Any:
    return aggregate.answer(
        operation.fold(operation.lift(*inputs(one)) for one in records) for operation in aggregate.operations
    )
