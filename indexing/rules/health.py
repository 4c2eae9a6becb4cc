"""The health of an archive: one word, and what does not happen that should.

The page, `status`, the task `watch` and the metrics all take it from here, so that they say the same.

overdue      bytes that should be gone are kept: expiry stands still, or answers still hold what was forgotten late
the newest batch is too old, due slots were never brought, or answers stay behind the archive catching up  it is behind,
and its batches come faster than time passes waiting      nothing was applied yet, or due slots wait for batches that
are not there healthy      none of these
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.due import Ranges, slots_in
from tidewheel.indexing.rules.freshness import RUNS_BY_DEFAULT

if TYPE_CHECKING:
    from tidewheel.indexing.rules.status import Status

HEALTHY, CATCHING_UP, WAITING, LATE, OVERDUE = "healthy", "catching up", "waiting", "late", "overdue"
LOOKED_AT = (HEALTHY, CATCHING_UP, WAITING, LATE, OVERDUE)
# Of an archive that nobody could look at.
DAMAGED, UNREADABLE = "damaged", "unreadable"
WORST_FIRST = (DAMAGED, OVERDUE, UNREADABLE, LATE, WAITING, CATCHING_UP, HEALTHY)
_RANGES_TOLD = 5
_SECOND_US = 1_000_000


@dataclass(frozen=True)
class Worry:
    """Something that should happen and does not, and the remedy."""

    message: str
    remedy: str


@dataclass(frozen=True)
class Health:
    """One word, the worries behind it, and what is worth saying without being one."""

    word: str = HEALTHY
    worries: tuple[Worry, ...] = ()
    said: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"word": self.word, "said": self.said, "worries": [one.__dict__ for one in self.worries]}


@dataclass(frozen=True)
class PendingErasure:
    """A forget that partials and answers have not followed yet, and when it was committed."""

    head: int
    since_us: int


@dataclass(frozen=True)
class Following:
    """How far an archive's standing queries follow it: the ones that lag, by how much, and an erasure that waits."""

    lags_us: tuple[tuple[str, int], ...] = ()
    erasure: PendingErasure | None = None


def health_of(status: Status, following: Following | None = None) -> Health:
    """Return the health of an archive that could be opened."""
    behind = following or Following()
    overdue = (*_expiry_overdue(status), *_erasure_overdue(status, behind))
    worries = (*overdue, *_late(status), *_missing(status), *_answers_behind(status, behind))
    said = _awaited(status)
    if worries:
        return Health(OVERDUE if overdue else LATE, worries, said)
    if status.applied is None:
        return Health(WAITING, said="nothing was applied yet")
    if status.freshness.is_catching_up:
        return Health(CATCHING_UP, said=f"the newest batch ends {_ago(status.freshness.age_us)}, and more come")
    return Health(WAITING if said else HEALTHY, said=said)


def backfill_command(name: str, axis: TimeAxis, first: int, last: int) -> str:
    """Return the command that brings the missing ones among some slots."""
    start, end = iso(axis.start_us(first)), iso(axis.end_us(last))
    return (
        f'airflow dags trigger {name}__backfill --conf \'{{"start": "{start}", "end": "{end}", "missing_only": true}}\''
    )


def pressing(status: Status) -> Ranges:
    """Return the missing slots that somebody has to bring.

    The schedule is about to bring those behind the newest batch of an archive that is not late. Nobody can bring those
    whose batch is not there.
    """
    comes = status.freshness.bound_us is not None and not status.freshness.is_late
    return status.missing_due.bringable(status.applied if comes else None)


def _expiry_overdue(status: Status) -> Iterator[Worry]:
    """Yield the worry that expiry stands still. An archive younger than its slots counts from its own creation."""
    late_us, bound_us = status.expiry_lag_us, status.expiry_bound_us
    if late_us is not None and min(late_us, status.now_us - status.created_us) > bound_us:
        yield Worry(
            f"expiry is overdue: archive {status.name} is expired through {iso(status.now_us - late_us)}, "
            f"{_ago(late_us)}; after {duration_text(bound_us)} its deadline for bytes is no longer kept",
            f"see why the task expire fails, or: tidewheel expire {status.name}",
        )


def _erasure_overdue(status: Status, following: Following) -> Iterator[Worry]:
    """Yield the worry that answers lag behind a forget; a refresh follows each update, so a vacuum period is enough."""
    pending = following.erasure
    if pending is not None and status.now_us - pending.since_us > status.vacuum_period_us:
        yield Worry(
            f"erasure is overdue: answers of archive {status.name} still hold what was forgotten "
            f"{_ago(status.now_us - pending.since_us)}, as no refresh has followed since",
            f"see why the task refresh fails, or: tidewheel refresh {status.name}",
        )


def _late(status: Status) -> Iterator[Worry]:
    freshness = status.freshness
    if not freshness.is_late or freshness.bound_us is None:
        return
    what = (
        "no batch came yet"
        if status.applied is None
        else f"its newest batch ends at {iso(status.axis.end_us(status.applied))}, {_ago(freshness.age_us)}"
    )
    runs = f"{RUNS_BY_DEFAULT} runs of its schedule, as it has no freshness of its own"
    yield Worry(
        f"archive {status.name} is late: {what}; {duration_text(freshness.bound_us)} are allowed "
        f"({'[schedule] freshness' if freshness.is_written else runs})",
        f"see what became of its runs: airflow dags list-runs {status.name}",
    )


def _missing(status: Status) -> Iterator[Worry]:
    gaps = pressing(status)
    if gaps:
        axis, count = status.axis, slots_in(gaps)
        shown = ", ".join(
            axis.name(a) if a == b else f"{axis.name(a)} to {axis.name(b)}" for a, b in gaps[:_RANGES_TOLD]
        )
        yield Worry(
            f"{count} {'slot is' if count == 1 else 'slots are'} missing in archive {status.name}: {shown}"
            + (" and more" if len(gaps) > _RANGES_TOLD else "")
            + ", though their runs were due",
            "see what became of their runs; when their data is there: "
            + backfill_command(status.name, axis, gaps[0][0], gaps[-1][1]),
        )


def _answers_behind(status: Status, following: Following) -> Iterator[Worry]:
    bound_us = status.freshness.bound_us
    lagging = [] if bound_us is None else [one for one in following.lags_us if one[1] > bound_us]
    if lagging:
        name, lag_us = max(lagging, key=lambda one: one[1])
        yield Worry(
            f"{counted(len(lagging), 'standing query', 'standing queries')} of archive {status.name} "
            f"{'is' if len(lagging) == 1 else 'are'} behind it: answers of {name} by {duration_text(lag_us)}",
            f"see why the task refresh fails, or: tidewheel refresh {status.name}",
        )


def _awaited(status: Status) -> str:
    missing = status.missing_due
    return f"waits for a batch that is not there: {missing.awaited}" if missing.awaited else ""


def _ago(us: int | None) -> str:
    """Return the age to the second, from two minutes on to the minute."""
    whole_us = _SECOND_US if (us or 0) < 120 * _SECOND_US else 60 * _SECOND_US
    return f"{duration_text((us or 0) // whole_us * whole_us)} ago"
