"""Kill the Python driver or the JVM at random moments: `python -m tests.kills --seed 7 --kills 50`.

After every kill the same order runs again; then the content equals the oracle, the audit is clean, and vacuum leaves
no file that the table does not name. Each operation runs in a fork of its own beside one JVM, so that killing the
driver costs no new session; where the JVM is killed, a new one is started.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.java_gateway import launch_gateway

from tests.support.archives.small_archive import SmallArchive, generation_of, random_batch
from tests.support.kill_child import DONE, FOUND, REFUSED, Order, run
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.errors import TidewheelError
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.process.session import session_conf

SPAN = 4
JVM_SHARE = 0.1
DEEP_AUDIT_EVERY = 10
QUIET_S = 20.0
# A first guess of how long an operation takes; what was measured replaces it.
GUESS_S = 1.0


@dataclass
class Killer:
    """A small archive, a JVM, and somebody who kills."""

    folder: Path
    seed: int
    tally: Counter[str] = field(default_factory=Counter)
    took_s: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.archive = SmallArchive(self.folder, self._generation(), SPAN)
        self.processes = multiprocessing.get_context("forkserver")
        self.processes.set_forkserver_preload(["tests.support.kill_child"])
        self.head = self.keys = 0
        self._start_jvm()

    def close(self) -> None:
        self.gateway.proc.kill()
        self.gateway.proc.wait()

    def play(self, kills: int, seconds: float) -> None:
        """So many kills, or as many as fit into the time."""
        until = time.monotonic() + seconds
        self._create()
        while self.tally["kills"] < kills and time.monotonic() < until:
            order, apply = self._order()
            killed = self._killed(order)
            if killed:
                self._until_done(order)
            if order.kind in ("run both", "rebuild"):
                assert order.generation is not None
                self.archive.migrated_to(order.generation)
            apply()
            self._check(order)
            if killed and self.tally["kills"] % DEEP_AUDIT_EVERY == 0:
                assert self._finished(Order("audit")) == DONE
                self.tally["deep audits"] += 1

    def _create(self) -> None:
        assert self._finished(Order("create")) == DONE
        self._until_done(self._update(0, 1, 2)[0])
        self._update_applied()
        self.head = 2

    def _order(self) -> tuple[Order, Callable[[], None]]:
        """Something to do, and what it means to the oracle."""
        kind = self.chance.choices(
            ["next", "replay", "range", "expire", "forget", "run both", "rebuild", "vacuum"], [6, 3, 3, 1, 2, 1, 2, 3]
        )[0]
        oracle = self.archive.oracle
        if kind == "next":
            self.head += 1
            return self._update(self.head)
        if kind == "replay":
            return self._update(self.head - self.chance.randrange(SPAN))
        if kind == "range":
            first = self.head - self.chance.randrange(3)
            self.head = max(self.head, first + 2)
            return self._update(first, first + 1, first + 2)
        if kind == "expire":
            self.head += 1
            return Order(kind, through=self.head), lambda: oracle.expire(self.head)
        if kind == "forget":
            key = f"k{self.chance.randrange(6)}"
            return Order(kind, key=key), lambda: oracle.forget(lambda record: record.key == key)
        if kind == "vacuum":
            return Order(kind), lambda: None
        return Order(kind, generation=self._generation()), lambda: None

    def _update(self, *slots: int) -> tuple[Order, Callable[[], None]]:
        batches = {slot: random_batch(self.chance, slot, SPAN) for slot in slots}
        for slot, records in batches.items():
            broken = [Record(slot, slot + 100, "too long", 1)] if self.chance.random() < 0.3 else []
            self.archive.write(slot, [*records, *broken])
        self._update_applied = lambda: self.archive.oracle.update(batches)
        return Order("update", slots), self._update_applied

    def _generation(self) -> Any:
        g, e = self.chance.choice([(1, 2), (2, 2), (3, 1), (1, 4)])
        strategy = self.chance.choice(["rebuild", "no_rebuild", "expire_rebuild"])
        share = self.chance.choice([0.3, 0.4, 0.5, 0.6, 0.7])
        return generation_of("round_robin", g, e, strategy, span=SPAN, dead_share_max=share, runs_max=4)

    def _killed(self, order: Order) -> bool:
        """Start the order and kill somebody at a random moment; False if it was done before that."""
        guess_s = self.took_s.get(order.kind, GUESS_S)
        process, started = self._started(order), time.monotonic()
        process.join(self.chance.uniform(0, guess_s))
        if process.exitcode is not None:
            self.took_s[order.kind] = time.monotonic() - started
            self.tally["too late"] += 1
            if process.exitcode != DONE:
                self._until_done(order)
            return False
        victim = "JVM" if self.chance.random() < JVM_SHARE else "driver"
        if victim == "JVM":
            os.kill(self.gateway.proc.pid, signal.SIGKILL)
            process.join(QUIET_S)
            self.gateway.proc.wait()
        process.kill()
        process.join()
        self.tally["kills"] += 1
        self.tally[f"{victim} killed in {order.kind}"] += 1
        if victim == "JVM":
            self._start_jvm()
        return True

    def _until_done(self, order: Order) -> None:
        started = time.monotonic()
        code = self._finished(order)
        # What a kill came too late for is already there.
        allowed = (DONE, REFUSED) if order.kind == "run both" else (DONE,)
        assert code in allowed, f"the rerun of {order} ended with {code}"
        self.took_s[order.kind] = min(time.monotonic() - started, 2 * self.took_s.get(order.kind, GUESS_S))

    def _finished(self, order: Order) -> int | None:
        process = self._started(order)
        process.join()
        assert process.exitcode in (DONE, REFUSED, FOUND), f"{order} ended with {process.exitcode}"
        return process.exitcode

    def _started(self, order: Order) -> Any:
        # Lambdas of the oracle cannot be sent along, and the operation has no use for it.
        bare = replace(self.archive, oracle=type(self.archive.oracle)())
        process = self.processes.Process(target=run, args=(bare, order, *self._gateway_address()))
        process.start()
        return process

    def _check(self, order: Order) -> None:
        archive = self.archive
        archive.check()
        report = audit(archive.job, deep=False)
        assert report.findings == (), f"after {order}: {report.findings}"
        until = time.monotonic() + QUIET_S
        while left := self._orphans():
            # The JVM may still be writing what its killed driver asked for.
            assert time.monotonic() < until, f"after {order} vacuum leaves {sorted(left)[:5]}"
            time.sleep(0.3)
        archive.check()

    def _orphans(self) -> set[str]:
        """Files that the table does not name, after a vacuum; the archive's clock is months ahead of the store's."""
        vacuum(self.archive.job)
        root = Path(self.archive.job.location.uri)
        named = {fact.path for fact in self.archive.snapshot().files}
        there = {path.relative_to(root).as_posix() for path in root.glob("run-*/**/*") if path.is_file()}
        data = {path.replace("/.", "/").removesuffix(".crc") if path.endswith(".crc") else path for path in there}
        temporary = {str(path) for path in root.rglob("*.tmp")} | {str(path) for path in root.glob("_delta_log/.*")}
        return (data - named) | temporary

    def _start_jvm(self) -> None:
        self.gateway: Any = launch_gateway(session_conf("tidewheel kills"))

    def _gateway_address(self) -> tuple[int, str]:
        parameters = self.gateway.gateway_parameters
        return parameters.port, parameters.auth_token


def kill(seed: int, kills: int, seconds: float) -> Counter[str]:
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    with tempfile.TemporaryDirectory(prefix="tidewheel-kills-") as folder:
        os.environ["SPARK_LOCAL_DIRS"] = f"{folder}/spark"
        killer = Killer(Path(folder), seed)
        try:
            killer.play(kills, seconds)
        except BaseException as error:
            error.add_note(f"after {killer.tally['kills']} kills; repeat with: python -m tests.kills --seed {seed}")
            raise
        finally:
            killer.close()
    return killer.tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so long, whatever was reached")
    given = parser.parse_args()
    started = time.monotonic()
    try:
        tally = kill(given.seed, given.kills, given.seconds)
    except TidewheelError as error:
        raise SystemExit(str(error)) from error
    print(f"seed {given.seed}: " + ", ".join(f"{count} {name}" for name, count in sorted(tally.items())))
    print(f"{tally['kills']} kills survived in {time.monotonic() - started:.0f} s, losses: 0")


if __name__ == "__main__":
    main()
