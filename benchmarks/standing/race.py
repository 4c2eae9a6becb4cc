"""The race itself: the same slots for everyone, each contender whole and alone, every answer compared."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from benchmarks.feeding import feed
from benchmarks.standing.beside import growth, many_groups, one_query
from benchmarks.standing.goals import OURS
from benchmarks.standing.ours import Ours
from benchmarks.standing.rivals import RIVALS, Answers, Rival, nothing_empty, same
from benchmarks.standing.stream import AXIS, SLOT_ZERO, Size, batch, late_record, queries

DAY_SLOTS = 288
LATE_MINUTES = 30
HOUR_US = 3_600_000_000


class WrongAnswer(Exception):
    """A contender answered something else than the others."""


class Race:
    """One size of the race, in a folder of its own."""

    def __init__(self, size: Size, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.size, self.folder, self.asked = size, folder, queries(size)
        # The last slot measured ends where all queries are due.
        self.first = SLOT_ZERO - size.slots
        self.measured = range(SLOT_ZERO - size.measured, SLOT_ZERO)
        self.since_us = AXIS.start_us(self.measured.start)
        self.truth: dict[str, Answers] = {}

    def run(self) -> dict[str, Any]:
        """All contenders, rivals first: what they answer is what we are held against."""
        contenders = {}
        for make in RIVALS:
            self._say(make.name)
            contenders[make.name] = self._rival(make)
            shutil.rmtree(self.folder / make.__name__)
        self._say("ours: loading")
        contenders[OURS], beside = self._ours()
        return {"size": asdict(self.size), "live": self.size.live, "contenders": contenders, **beside}

    def _rival(self, make: type[Rival]) -> dict[str, Any]:
        rival = make(self.folder / make.__name__, self.asked)
        before = range(max(self.first, self.measured.start - 2 * DAY_SLOTS), self.measured.start)
        rival.load(pa.concat_tables([batch(self.size, slot) for slot in before]), before)
        samples = []
        for slot in self.measured:
            rows = batch(self.size, slot)
            samples.append(self._timed(partial(rival.step, rows, slot, AXIS.start_us(slot))))
            self._compare(make.name, f"slot {slot}", rival.answers())
        late = self._timed(lambda: rival.step(*self._late(), AXIS.start_us(SLOT_ZERO) - LATE_MINUTES * 60_000_000 - 1))
        self._compare(make.name, "late", rival.answers())
        found = {"setting": rival.setting, "refresh": samples, "late": late}
        if rival.catches_up:
            empty = batch(self.size, SLOT_ZERO + 1, rows=0)
            since_us = AXIS.end_us(SLOT_ZERO) - DAY_SLOTS * AXIS.interval_us
            found["day"] = self._timed(lambda: rival.step(empty, SLOT_ZERO, since_us))
            self._compare(make.name, "day", rival.answers())
        rival.close()
        return found

    def _ours(self) -> tuple[dict[str, Any], dict[str, Any]]:
        ours = Ours(self.folder / OURS, self.size, self.asked, self.first)
        ours.load(range(self.first, self.measured.start))
        self._say("ours: first refresh")
        first, samples = ours.refresh(), []
        for slot in self.measured:
            feed(ours.job, [slot], batch(self.size, slot))
            samples.append(ours.refresh())
            self._compare(OURS, f"slot {slot}", ours.answers())
            self._say(f"ours: {samples[-1]['reports']} reports in {samples[-1]['seconds']:.3f} s")
        rows, slot = self._late()
        feed(ours.job, [slot], rows)
        late = ours.refresh()
        self._compare(OURS, "late", ours.answers())
        stored = ours.bytes()
        ours.forget_answers()
        self._say("ours: a day at once")
        day = ours.refresh()
        self._compare(OURS, "day", ours.answers())
        found = {"first": first, "refresh": samples, "late": late, "day": day}
        self._say("ours: one query")
        beside: dict[str, Any] = {"bytes": stored, "one_query": one_query(ours, range(SLOT_ZERO + 1, SLOT_ZERO + 7))}
        shutil.rmtree(ours.folder)
        self._say("ours: many groups")
        beside["many_groups"] = many_groups(self.folder / "many", self.size)
        beside["growth"] = growth(self.folder / "growth", self.size, self._say)
        return found, beside

    def _late(self) -> tuple[pa.Table, int]:
        return late_record(self.size, SLOT_ZERO, LATE_MINUTES), SLOT_ZERO

    def _timed(self, step: Callable[[], int]) -> dict[str, Any]:
        start = perf_counter()
        rows = step()
        return {"seconds": perf_counter() - start, "rows": rows}

    def _compare(self, who: str, what: str, found: Mapping[Any, Any]) -> None:
        """With what the first one answered.

        Of catch-up and corrections what both answered must be the same; so too in a race that is shorter than windows,
        as ours tells which answers are not whole.
        """
        given = nothing_empty(found)
        if what not in self.truth:
            self.truth[what] = given
            return
        true = self.truth[what]
        if what in ("day", "late") or self.size.slots < DAY_SLOTS + self.size.measured:
            both = given.keys() & true.keys()
            given, true = {key: given[key] for key in both}, {key: true[key] for key in both}
        if not given:
            raise WrongAnswer(f"{who}, {what}: no answer in common")
        wrong = same(given, true)
        if wrong:
            raise WrongAnswer(f"{who}, {what}: {len(wrong)} differ, the first {wrong[:3]}")

    def _say(self, what: str) -> None:
        print(f"[{self.size.name}] {what}", file=sys.stderr, flush=True)
