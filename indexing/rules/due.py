"""The slots that the schedule should have brought by now, and those of them that never came.

A run is due when its interval has ended. It is missed only after the time that the archive's freshness gives it, or
after a vacuum period if none is promised. Slots before the schedule's start, before the archive itself, or skipped by
`catchup = false` do not count as missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import gaps_of, has_slot
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.schedule.cron_runs import newest_run

Ranges = tuple[tuple[int, int], ...]


def due_slots(file: ArchiveFile, state: TableState, created_us: int, now_us: int) -> Ranges:
    """Return closed ranges of slots, in order, without those that could bring nothing alive any more."""
    schedule, axis = file.schedule, file.axis
    through_us = newest_run(schedule.cron, now_us - (schedule.freshness_us or file.retention.vacuum_period_us))
    if through_us is None or not schedule.catchup or state.watermark is None:
        return ()
    first = axis.slot_of(_begun_us(file, created_us))
    if schedule.start_us is None and state.ledger.applied:
        first = max(first, state.ledger.applied[0][0])
    first = max(first, state.watermark - state.definition.span + 1)
    last = axis.slot_of(through_us) - 1
    return ((first, last),) if first <= last else ()


def _begun_us(file: ArchiveFile, created_us: int) -> int:
    """Return when the schedule began. Without a start, the first run was due when the archive was made, or later."""
    if file.schedule.start_us is not None:
        return file.schedule.start_us
    cron = file.schedule.cron
    due_us = newest_run(cron, created_us)
    begun_us = None if due_us is None else newest_run(cron, due_us - 1)
    return created_us if begun_us is None else begun_us


def missing_slots(state: TableState, due: Ranges) -> Ranges:
    """Return closed ranges of the due slots that were never applied."""
    return tuple(gap for first, last in due for gap in _gaps(state.ledger.applied, first, last))


def slots_in(ranges: Ranges) -> int:
    """Return how many slots ranges hold."""
    return sum(last - first + 1 for first, last in ranges)


def _gaps(applied: Ranges, first: int, last: int) -> Ranges:
    within = [(max(a, first), min(b, last)) for a, b in applied if b >= first and a <= last]
    return gaps_of([(first - 1, first - 1), *within], last)


@dataclass(frozen=True)
class Missing:
    """The due slots that never came, and those of them whose batch was looked for and is absent as well.

    Each look costs a request, so only the ends of a long range are looked at. If none of their batches is there, the
    slots between count as absent too.
    """

    slots: Ranges = ()
    absent: Ranges = ()
    awaited: str = ""  # where the first absent batch should lie

    def bringable(self, through: int | None = None) -> Ranges:
        """Return closed ranges of the missing slots, through one, that a backfill could bring now."""
        some = self.slots if through is None else _through(self.slots, through)
        return tuple(gap for first, last in some for gap in _gaps(self.absent, first, last))

    def is_absent(self, slot: int) -> bool:
        return has_slot(self.absent, slot)


LOOKED_AT_EACH_END = 24


def looked_at(missing: Ranges) -> list[int]:
    """Return the missing slots whose batches are looked for: those at both ends.

    >>> looked_at(((3, 5), (9, 9)))
    [3, 4, 5, 9]
    >>> len(looked_at(((0, 10**9),)))
    48
    """
    n = LOOKED_AT_EACH_END
    first = [slot for a, b in missing[:n] for slot in range(a, min(b, a + n - 1) + 1)][:n]
    last = [slot for a, b in missing[-n:] for slot in range(max(a, b - n + 1), b + 1)][-n:]
    return sorted({*first, *last})


def missing_with(missing: Ranges, looked: list[int], absent: dict[int, str]) -> Missing:
    """Return the missing slots, given the batches that a look for some of them found."""
    if not absent:
        return Missing(missing)
    awaited = absent[min(absent)]
    if len(absent) == len(looked):
        return Missing(missing, missing, awaited)
    return Missing(missing, tuple((slot, slot) for slot in sorted(absent)), awaited)


def _through(ranges: Ranges, through: int) -> Ranges:
    return tuple((first, min(last, through)) for first, last in ranges if first <= through)
