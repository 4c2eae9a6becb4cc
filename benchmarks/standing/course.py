"""What happens in the race, in order, and what must be answered after each: the same for every contender."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.standing.oracle import Answers, Oracle
from benchmarks.standing.stream import AXIS, KEYS, MINUTE_US, SLOT_ZERO, Size, batch, due, late_record
from tidewheel.queries.standing.query import Query

DAY_SLOTS = 288
LATE_MINUTES = 30
REPLAYED_BACK = 4  # slots before the last; not the one in which the late record lies
KEY_FORGOTTEN = KEYS - 1
HOURS_KEPT = 50  # of what any answer asks about: windows of a day, reports of a day


@dataclass(frozen=True)
class Stage:
    """One thing that happens, with what is answered then: all reports after a moment, up to the end of a slot."""

    name: str
    slot: int
    since_us: int
    rows: Callable[[], pa.Table]
    corrected: range | None = None  # slots of which these are now all records; else the batch of `slot`


class Course:
    """The stages over some slots that end at `end`; the last one measured is where all queries are due."""

    def __init__(self, size: Size, asked: Sequence[Query], end: int, measured: int, corrections: bool = True) -> None:
        self.size, self.asked, self.corrections = size, asked, corrections
        self.begin = SLOT_ZERO - size.slots  # of the archive; a window from before it is not whole
        self.measured = range(end - measured, end)
        self.first = max(self.begin, end - HOURS_KEPT * 12)
        self.before = range(self.first, self.measured.start)
        self.truth: dict[str, Answers] = {}
        self.asked_for: dict[str, set[tuple[str, int]]] = {}  # what who corrects little must have answered

    @property
    def last(self) -> int:
        """The slot in which late records come: the one after those measured."""
        return self.measured.stop

    def loaded(self, slots_max: int) -> tuple[pa.Table, range]:
        """What there is before anything is measured, if so many slots are; and the slots."""
        slots = range(self.first, max(self.measured.start, self.measured.stop - slots_max))
        return pa.concat_tables([batch(self.size, slot) for slot in slots]), slots

    def stages_of(self, slots_max: int, *, with_day: bool) -> Iterator[Stage]:
        """The stages for who is measured over so many slots at most; the day comes last."""
        skipped = max(0, len(self.measured) - slots_max)
        yield from islice(self.stages(), skipped, None)
        if with_day and self.corrections:
            yield self.day()

    def stages(self) -> Iterator[Stage]:
        for slot in self.measured:
            yield Stage(f"slot {slot}", slot, AXIS.start_us(slot), partial(batch, self.size, slot))
        if not self.corrections:
            return
        late_us = AXIS.start_us(self.last) - LATE_MINUTES * MINUTE_US
        yield Stage("late", self.last, late_us - 1, lambda: late_record(self.size, self.last, LATE_MINUTES))
        replayed = self.last - REPLAYED_BACK
        since_us = AXIS.start_us(replayed)
        yield Stage("replay", self.last, since_us, self.replayed, range(replayed, replayed + 1))
        since_us = AXIS.end_us(self.last) - self.size.revise_minutes * MINUTE_US
        yield Stage("forget", self.last, since_us, self.without_key, range(self.first, self.last + 1))

    def day(self) -> Stage:
        """All reports of 24 hours at once; nothing new comes."""
        since_us = AXIS.end_us(self.last) - DAY_SLOTS * AXIS.interval_us
        return Stage("day", self.last, since_us, lambda: batch(self.size, self.last, rows=0))

    def replayed(self) -> pa.Table:
        """Other records for a slot that there was."""
        return batch(self.size, self.last - REPLAYED_BACK, again=1)

    def without_key(self) -> pa.Table:
        """All records as they are after the key was forgotten."""
        replayed = self.last - REPLAYED_BACK
        there = [batch(self.size, slot) for slot in range(self.first, self.last) if slot != replayed]
        rows = pa.concat_tables([*there, self.replayed(), late_record(self.size, self.last, LATE_MINUTES)])
        rows = rows.filter(pc.not_equal(rows.column("key"), f"k{KEY_FORGOTTEN:04}"))
        return rows.take(pc.sort_indices(rows, [("ins_slot", "ascending")]))

    def work_out(self) -> None:
        """The truth after each stage."""
        oracle = Oracle(self.first, self.last)
        for slot in self.before:
            oracle.put(slot, batch(self.size, slot))
        end_us = AXIS.start_us(self.measured.start)
        for stage in [*self.stages(), *([self.day()] if self.corrections else [])]:
            wanted = list(due(self.asked, stage.since_us, AXIS.end_us(stage.slot)))
            before = oracle.answers(wanted) if stage.since_us < end_us else {}
            self._happens(oracle, stage)
            true = self.truth[stage.name] = oracle.answers(wanted)
            new = {one for one in true if one[1] > end_us or before.get(one) != true[one]}
            self.asked_for[stage.name] = {one for one in new if self._is_whole(one)} if stage.name != "day" else set()
            end_us = AXIS.end_us(stage.slot)

    def _happens(self, oracle: Oracle, stage: Stage) -> None:
        if stage.name == "forget":
            oracle.forget(KEY_FORGOTTEN)
        elif stage.corrected is not None:
            oracle.put(stage.corrected.start, stage.rows())
        elif stage.name != "day":
            oracle.put(stage.slot, stage.rows())

    def _is_whole(self, report: tuple[str, int]) -> bool:
        name, at_us = report
        window_us = next(query.terms.window_us for query in self.asked if query.name == name)
        return at_us - (window_us or 0) >= AXIS.start_us(self.begin)
