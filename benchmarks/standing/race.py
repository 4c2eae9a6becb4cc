"""The race itself: the same happens to everyone, each whole and alone, every answer is held against the oracle."""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.archives.feeding import feed
from benchmarks.standing.beside import growth, many_groups, one_query, sharing, techniques
from benchmarks.standing.course import KEY_FORGOTTEN, Course, Stage
from benchmarks.standing.goals import OURS
from benchmarks.standing.growing import history, longer_windows
from benchmarks.standing.kernels import kernel_race
from benchmarks.standing.oracle import Answers, nothing_empty, same
from benchmarks.standing.ours import Ours
from benchmarks.standing.rival import Rival, Unavailable
from benchmarks.standing.rivals import RIVALS
from benchmarks.standing.rolled_up import Prefixes
from benchmarks.standing.stream import SLOT_ZERO, Size, queries

ALL_DUE_SLOTS = 72  # from where all queries are due to where they are again
DAY_MINUTES = 1440
# Who is raced with many queries, too.
MANY = RIVALS[:3]


class WrongAnswer(Exception):
    """A contender answered something else than the oracle."""


def wrong_answers(found: Mapping[str, Any]) -> list[str]:
    """What contenders answered wrongly."""
    raced = [one for which in ("contenders", "many") for one in found[which].values()]
    return [text for one in raced for text in one.get("wrong", ())]


class Race:
    """One size of the race, in a folder of its own; what `known` has is not run again."""

    def __init__(
        self,
        size: Size,
        folder: Path,
        known: Mapping[str, Any] | None = None,
        keep: Callable[[dict[str, Any]], None] = lambda found: None,
        rivals: Sequence[type[Rival]] = RIVALS,
    ) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.size, self.folder, self.keep = size, folder, keep
        self.rivals = [one for one in rivals if size.name in one.sizes]
        head: dict[str, Any] = {"size": asdict(size), "live": size.live}
        self.found: dict[str, Any] = {**head, "contenders": {}, "many": {}}
        if known and known.get("size") == _plain(head["size"]):
            self.found = {name: one for name, one in known.items() if name != "measured_at"}

    def run(self) -> dict[str, Any]:
        """All contenders, and what is measured of ours beside them; what is finished is kept at once."""
        course = Course(self.size, queries(self.size), SLOT_ZERO, self.size.measured)
        many = self._many_course()
        for some, which, who in ((course, "contenders", self.rivals), (many, "many", MANY)):
            for make in who if some else ():
                if make.name not in self.found[which]:
                    assert some is not None
                    self._work_out(some)
                    self._say(f"{make.name}, {len(some.asked)} queries")
                    self._put(which, make.name, self._rival(make, some))
        if OURS not in self.found["contenders"]:
            self._work_out(course)
            self._ours(course, many)
        for name, measure in self._beside():
            if name not in self.found:
                self._say(f"ours: {name}")
                self.found[name] = measure()
                self.keep(self.found)
        return self.found

    def _many_course(self) -> Course | None:
        size = self.size
        if not size.many_queries:
            return None
        asked = queries(_many(size))
        return Course(size, asked, SLOT_ZERO - ALL_DUE_SLOTS, size.many_measured, corrections=False)

    def _beside(self) -> Sequence[tuple[str, Callable[[], Any]]]:
        return (
            ("kernels", lambda: kernel_race(self.size.kernel_rows, self.size.kernel_sizes)),
            ("many_groups", lambda: many_groups(self.folder / "many", self.size)),
            ("growth", lambda: growth(self.folder / "growth", self.size, self._say)),
            ("longer_windows", lambda: longer_windows(self.folder / "longer", self.size, self._say)),
            ("history", lambda: history(self.folder / "history", self.size, self._say)),
            ("sharing", lambda: sharing(self.folder / "sharing", self.size, self._say)),
            ("techniques", lambda: techniques(self.folder / "techniques", self.size, self._say)),
        )

    def _put(self, which: str, name: str, found: dict[str, Any]) -> None:
        self.found[which][name] = found
        self.keep(self.found)

    def _work_out(self, course: Course) -> None:
        if not course.truth:
            self._say(f"the oracle, {len(course.asked)} queries")
            course.work_out()
            # What the oracle knows is not looked through again by each refresh that happens to collect garbage.
            gc.collect()
            gc.freeze()

    # Rivals.

    def _rival(self, make: type[Rival], course: Course) -> dict[str, Any]:
        """What it took; or why it cannot run here, or what went wrong, which is not the end of the race."""
        folder = self.folder / make.__name__
        try:
            rival = make(folder, course.asked)
        except Unavailable as missing:
            return {"setting": make.setting, "missing": str(missing)}
        try:
            return self._raced(rival, course)
        except WrongAnswer as error:
            self._say(f"wrong: {error}")
            return {"setting": make.setting, "wrong": [str(error)]}
        except Exception as error:
            self._say(f"{make.name} failed: {error}")
            return {"setting": make.setting, "missing": f"failed: {type(error).__name__}: {str(error)[:200]}"}
        finally:
            rival.close()
            shutil.rmtree(folder)

    def _raced(self, rival: Rival, course: Course) -> dict[str, Any]:
        found: dict[str, Any] = {"setting": rival.setting, "queries": len(rival.asked), "refresh": []}
        begun = perf_counter()
        rival.load(*course.loaded(rival.slots_max))
        for stage in course.stages_of(rival.slots_max, with_day=rival.catches_up):
            if perf_counter() - begun > self.size.patience_s:
                found["stopped"] = f"stopped after {self.size.patience_s} s, before: {stage.name}"
                break
            rows = stage.rows()
            if stage.corrected is None:
                step = partial(rival.step, rows, stage.slot, stage.since_us)
            else:
                step = partial(rival.correct, rows, stage.corrected, stage.slot, stage.since_us)
            _record(found, stage, _timed(step))
            names = {query.name for query in rival.asked}
            true = {key: rows for key, rows in course.truth[stage.name].items() if key[0] in names}
            _compare(f"{rival.name}, {stage.name}", nothing_empty(rival.answers()), nothing_empty(true))
        return found

    # Ours.

    def _ours(self, course: Course, many: Course | None) -> None:
        ours = Ours(self.folder / OURS, self.size, course.asked, course.begin)
        self._say("ours: loading")
        loaded = course.begin
        if many:
            self._work_out(many)
            ours.load(range(loaded, many.measured.start))
            loaded = many.measured.stop
            ours.ask(many.asked)
            self._put("many", OURS, self._stages(ours, many))
        ours.load(range(loaded, course.measured.start))
        ours.ask(course.asked)
        found = self._stages(ours, course)
        self.found["bytes"] = ours.bytes()
        self._catch_up(ours, course, found)
        self._say("ours: one query")
        after = range(course.last + 1, course.last + 7)
        self.found["one_query"] = one_query(ours, after)
        shutil.rmtree(ours.folder)
        self._put("contenders", OURS, found)

    def _stages(self, ours: Ours, course: Course) -> dict[str, Any]:
        self._say("ours: first refresh")
        found: dict[str, Any] = {"queries": len(course.asked), "first": ours.refresh(), "refresh": []}
        self._say(f"ours: {found['first']['reports']} reports in {found['first']['seconds']:.3f} s")
        for stage in course.stages():
            if stage.name == "forget":
                found["forget_seconds"] = ours.forget(f"k{KEY_FORGOTTEN:04}")
            else:
                slots = [stage.slot] if stage.corrected is None else list(stage.corrected)
                feed(ours.job, slots, stage.rows())
            measured = ours.refresh()
            _record(found, stage, measured)
            self._say(f"ours, {stage.name}: {measured['reports']} reports in {measured['seconds']:.3f} s")
            self._held(ours, course, stage, found)
        return found

    def _held(self, ours: Ours, course: Course, stage: Stage, found: dict[str, Any]) -> None:
        """What is wrong is told, and the race goes on."""
        try:
            self._check(ours, course, stage)
        except WrongAnswer as error:
            self._say(f"wrong: {error}")
            found.setdefault("wrong", []).append(str(error))

    def _check(self, ours: Ours, course: Course, stage: Stage) -> None:
        """All that had to be answered was, and what was answered is true: only whole windows are given as whole."""
        given = nothing_empty(ours.answers(stage.since_us))
        true = nothing_empty(course.truth[stage.name])
        lacking = (course.asked_for[stage.name] & true.keys()) - given.keys()
        if lacking:
            raise WrongAnswer(f"ours, {stage.name}: {len(lacking)} not answered, such as {min(lacking)}")
        both = given.keys() & true.keys()
        _compare(f"ours, {stage.name}", {one: given[one] for one in both}, {one: true[one] for one in both})

    def _catch_up(self, ours: Ours, course: Course, found: dict[str, Any]) -> None:
        """A day at once: of all queries, and of those that a rival can answer that only adds up."""
        stage = course.day()
        asked = queries(_of_a_day(self.size))
        for name, some in (("day", asked), ("day_sums", [query for query in asked if Prefixes.takes(query)])):
            self._say(f"ours: a day at once, {len(some)} queries")
            ours.ask(some)
            ours.refresh()
            ours.forget_answers()
            found[name] = ours.refresh()
            self._held(ours, course, stage, found)

    def _say(self, what: str) -> None:
        print(f"[{self.size.name}] {what}", file=sys.stderr, flush=True)


def _many(size: Size) -> Size:
    return replace(size, queries=size.many_queries, keep="3h")


def _of_a_day(size: Size) -> Size:
    """The same queries; all that a day's answers are made of is kept."""
    return replace(size, keep="1d", revise_minutes=DAY_MINUTES)


def _plain(size: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in size.items()}


def _record(found: dict[str, Any], stage: Stage, measured: dict[str, Any]) -> None:
    if stage.name.startswith("slot"):
        found["refresh"].append(measured)
    else:
        found[stage.name] = measured


def _timed(step: Callable[[], int]) -> dict[str, Any]:
    start = perf_counter()
    rows = step()
    return {"seconds": perf_counter() - start, "rows": rows}


def _compare(who: str, given: Answers, true: Answers) -> None:
    if not given and true:
        raise WrongAnswer(f"{who}: nothing was answered")
    wrong = same(given, true)
    if wrong:
        raise WrongAnswer(f"{who}: {len(wrong)} differ, the first {wrong[:3]}")
