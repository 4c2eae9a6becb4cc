"""A profile, carried through: warm the session, run every race and experiment that has no result yet."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Set
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.archives.stream import Stream
from benchmarks.contenders.catalogue import catalogue
from benchmarks.harness.contender import Unavailable
from benchmarks.harness.profiles import SMALL, Profile
from benchmarks.harness.race import Race, run
from benchmarks.harness.store import Store
from benchmarks.process.cold_commands import EXPERIMENT, cold_commands
from tidewheel.jobs.process.session import open_session

# Compiles what the measured contenders will run: the JVM needs some dozen updates to reach its pace.
WARM_UP = Race("warm_up", Stream(rows=2_000, span=6), ("rr_rebuild_2x2", "delta_delete"), updates=7, scans=1)


class Bench:
    """Runs what is missing from a store; progress on standard error."""

    def __init__(self, profile: Profile, store: Store, work: Path, *, fresh: bool = False, spark: Any = None) -> None:
        self.profile, self.store, self.work, self.fresh = profile, store, work, fresh
        self.spark = spark  # a session that is given is warm enough
        self._start = perf_counter()
        self._done = 0

    def run(self, races: Set[str] = frozenset(), contenders: Set[str] = frozenset()) -> int:
        """Run the races and contenders named, or all; how many failed."""
        failed = 0
        self.store.keep({race.name: race.contenders for race in self.profile.races})
        for race in self.profile.races:
            for name in race.contenders:
                self._done += 1
                wanted = (not races or race.name in races) and (not contenders or name in contenders)
                if wanted and (self.fresh or not self.store.has(race.name, name, race.fingerprint)):
                    failed += not self._run_one(race, name)
        times = self.profile.cold_commands
        if times and not races and not contenders and (self.fresh or not self.store.experiment(EXPERIMENT)):
            self._say("command line, cold: ", "starting")
            measured = cold_commands(self.work, times, SMALL)
            self.store.put_experiment(EXPERIMENT, measured)
        self._say("", f"done in {perf_counter() - self._start:.0f} s\n")
        return failed

    def _run_one(self, race: Race, name: str) -> bool:
        what = f"{race.name} {name}: "
        self._warm_up()
        try:
            result = run(race, catalogue()[name], self.work, self.spark, lambda step: self._say(what, step))
        except Unavailable as error:
            result = {"skipped": str(error)}
        except Exception as error:
            traceback.print_exc()
            result = {"failed": f"{type(error).__name__}: {error}"}
        self.store.put(race.name, asdict(race.stream), name, {**result, "fingerprint": race.fingerprint})
        return "failed" not in result

    def _warm_up(self) -> None:
        if self.spark is not None:
            return
        self._say("", "starting Spark")
        self.spark = open_session("tidewheel benchmarks")
        for name in WARM_UP.contenders:
            run(WARM_UP, catalogue()[name], self.work, self.spark, partial(self._say, f"warm-up {name}: "))

    def _say(self, what: str, step: str) -> None:
        spent = perf_counter() - self._start
        place = f"[{self._done}/{self.profile.contenders()} {spent:4.0f} s]"
        end = "" if sys.stderr.isatty() else "\n"
        print(f"\r\033[K{place} {what}{step}" if not end else f"{place} {what}{step}", end=end, file=sys.stderr)
