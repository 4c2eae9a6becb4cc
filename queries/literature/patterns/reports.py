"""Periodic evaluation: what a run reports of what happened since the run before (sections 3.2.3 and 3.2.4).

A run at τ_k sees three effects: results reported late, removed late, and *lost*: born and dead since τ_{k-1}. The
plain streams pass lost results by; their restore variants report them once, flagged. A result of a fixed lifetime of
at least Δ is never lost; those of joins, δ, aggregates and negation are.

Departs from the thesis's estimate of the lost share, Δ/T, which is an upper bound. Births are uniform in the interval
too, so it is the mean over it of the share of lifetimes that are shorter: Δ/(2T) for lifetimes uniform in (0, T]. That
of joins is in `statements/join_sizes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.view import Life
from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.statements.statement import Output


class Reported(NamedTuple):
    record: Record
    restored: bool = False


def report(lives: Iterable[Life], before: int, now: int, output: Output, *, restore: bool = False) -> list[Reported]:
    """Return what the run at `now` reports, the run before having been at `before`."""
    if output not in _STAYS or (restore and output is Output.DSTREAM):
        raise InvalidInput(f"{output}{'-restore' if restore else ''} is not what a run reports", "see `Output`")
    found = []
    for life in lives:
        is_short = before < life.record.ts and life.end <= now
        if _STAYS[output](life, before, now) or (restore and is_short):
            found.append(Reported(life.record, is_short))
    return sorted(found, key=lambda one: (one.record.ts, one.record.id))


def _is_new(life: Life, before: int, now: int) -> bool:
    return before < life.record.ts <= now < life.end


def _is_there(life: Life, before: int, now: int) -> bool:
    return life.record.ts <= now < life.end


def _is_gone(life: Life, before: int, now: int) -> bool:
    return life.record.ts <= before < life.end <= now


_STAYS = {Output.ISTREAM: _is_new, Output.RSTREAM: _is_there, Output.DSTREAM: _is_gone}


def output_window(
    lives: Iterable[Life], now: int, *, rows: int | None = None, length: int | None = None
) -> list[Record]:
    """Return the newest results of all that were ever produced (Wstream): so many rows, or of the last so long.

    Ties of time are in the order of ids; the thesis leaves them open. Its size has nothing to do with that of the
    input windows, which it makes INTERNAL.
    """
    log = sorted((life.record for life in lives if life.record.ts <= now), key=lambda one: (one.ts, one.id))
    if length is not None:
        return [one for one in log if now - length < one.ts]
    return log[-rows:] if rows else []


def lost_share_of(period: int, share_dead_by: Callable[[int], float]) -> float:
    """Return the expected lost share of lifetimes whose distribution is given: the mean of F over the interval.

    >>> lost_share_of(10, lambda age: min(1, age / 60))
    0.075
    """
    return sum(share_dead_by(age) for age in range(period)) / period


def is_needed_by_the_next_run(record: Record, now: int, period: int, *, restore: bool) -> bool:
    """Return if a base tuple can influence the run after this one: without restore it must be live by then."""
    return record.exp > (now if restore else now + period)
