"""The queue of writers: first come first served, and whoever dies or sleeps in it is passed by."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidewheel.storage import lease
from tidewheel.storage.lease import FOLDER, RENEW_S, STALE_S, Lease
from tidewheel.storage.location import Location

ROOT = Path(__file__).parent.parent.parent
# On a machine that is busy with something else, and still less than after what a ticket is passed by as stale.
WAIT_MAX_S = 0.7 * STALE_S
HOLDER = """
import sys, time
from tidewheel.storage.lease import Lease
from tidewheel.storage.location import Location
Lease(Location.of(sys.argv[1]), "run-holder", lambda: 1).take()
print("holds", flush=True)
time.sleep(600)
"""


def tickets(folder: Path) -> list[str]:
    place = folder / FOLDER
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def waiting(folder: Path, at_us: int) -> tuple[Lease, threading.Thread]:
    """Somebody who has drawn a ticket and waits."""
    one = Lease(Location.of(folder), f"run-{at_us}", lambda: at_us)
    thread = threading.Thread(target=one.take, daemon=True)
    thread.start()
    while not any(name.endswith(f"run-{at_us}") for name in tickets(folder)):
        time.sleep(0.01)
    return one, thread


def test_the_oldest_ticket_goes_first(tmp_path: Path) -> None:
    first = Lease(Location.of(tmp_path), "run-1", lambda: 1)
    first.take()
    (second, waits), (third, waits_too) = waiting(tmp_path, 2), waiting(tmp_path, 3)
    time.sleep(0.2)
    assert waits.is_alive()
    first.release()
    waits.join(WAIT_MAX_S)
    assert not waits.is_alive()
    assert waits_too.is_alive()
    second.release()
    waits_too.join(WAIT_MAX_S)
    assert not waits_too.is_alive()
    third.release()
    assert tickets(tmp_path) == []


def test_a_newcomer_queues_only_where_somebody_waits(tmp_path: Path) -> None:
    newcomer = Lease(Location.of(tmp_path), "run-9", lambda: 9)
    newcomer.queue_if_others_wait()
    assert tickets(tmp_path) == []
    Lease(Location.of(tmp_path), "run-1", lambda: 1).take()
    age(tmp_path, STALE_S + 1)
    newcomer.queue_if_others_wait()
    assert len(tickets(tmp_path)) == 2
    newcomer.release()


def age(folder: Path, seconds: float) -> None:
    """As if the last sign of life were so long ago."""
    at_s = time.time() - seconds
    for path in (folder / FOLDER).iterdir():
        os.utime(path, (at_s, at_s))


def test_a_ticket_that_was_given_back_does_not_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewal and a release at the same moment."""
    monkeypatch.setattr(lease, "RENEW_S", 0.0005)
    for at_us in range(200):
        one = Lease(Location.of(tmp_path), f"run-{at_us}", at_us.__int__)
        one.take()
        time.sleep(0.002)
        one.release()
        assert tickets(tmp_path) == []
    time.sleep(0.05)
    assert tickets(tmp_path) == []


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.nightly
@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
def test_who_dies_or_sleeps_in_the_queue_is_passed_by(
    tmp_path: Path, holder: subprocess.Popen[str], fate: signal.Signals
) -> None:
    holder.send_signal(fate)
    start = time.monotonic()
    one, waits = waiting(tmp_path, 2)
    waits.join(STALE_S + 2 * RENEW_S)
    waited_s = time.monotonic() - start
    assert not waits.is_alive()
    print(f"{fate.name}: waited {waited_s:.0f} s")
    if fate is signal.SIGSTOP:
        holder.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        assert holder.poll() is None
    one.release()
