"""How many answers a refresh would give, before it begins: a slide of a second over a year is probably a slip."""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis, ranges_since
from tidewheel.indexing.errors import Refused
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reach import slot_reached

REPORTS_MAX = 100_000


def guard_reports(
    name: str,
    axis: TimeAxis,
    source: Ledger,
    answers: Ledger,
    queries: Iterable[Query],
    *,
    confirm: str,
    allow_many: bool = False,
) -> None:
    """Refuse to give very many answers at once, with the queries that want most of them; `confirm` gives them."""
    wanted = {query.name: reports_missing(axis, source, answers, query) for query in queries}
    total = sum(wanted.values())
    if total <= REPORTS_MAX or allow_many:
        return
    most = sorted(wanted, key=lambda one: -wanted[one])[:3]
    raise Refused(
        f"a refresh of archive {name} would give up to {total:,} answers, most of them of "
        f"{', '.join(f'{one} ({wanted[one]:,})' for one in most)}. Nothing was changed",
        f"check slide and keep of these queries, or confirm with: {confirm}",
        reports=total,
    )


def reports_missing(axis: TimeAxis, source: Ledger, answers: Ledger, query: Query) -> int:
    """At most so many reports of a query are missing between the oldest batch that is known and the present."""
    slots = [slot for slot, part in source.batches if not part]
    if not slots:
        return 0
    terms, reached = query.terms, slot_reached(source)
    end_us = axis.end_us(max(slots) if reached is None else reached)
    if terms.window_us is not None:
        end_us = min(end_us, axis.end_us(max(slots)) + terms.window_us + terms.ahead_us)
    start_us = max(axis.start_us(min(slots)), end_us - terms.keep_us)
    oldest = axis.slot_of(start_us)
    ranges = ranges_since(answers.applied_parts.get(query.part, ()), oldest)
    given = sum(last - max(first, oldest) + 1 for first, last in ranges)
    per_slot = max(1, axis.interval_us / terms.slide_us)  # slots without a report are not among those given
    return max(0, round((end_us - start_us) / terms.slide_us - given * per_slot))
