"""A reader's own holds (`holds.py`): taken, renewed while it lives, given back."""

from __future__ import annotations

import getpass
import json
import os
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex

from tidewheel.indexing.core.definition import Retention
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.vacuum import HOLD_STALE_US, Hold
from tidewheel.storage.floor import floor
from tidewheel.storage.holds import FOLDER
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import LogFiles, list_log
from tidewheel.storage.snapshot import Snapshot

RENEW_S = HOLD_STALE_US / 1e6 / 10


@dataclass
class HeldVersion:
    """A reader's own hold."""

    location: Location
    path: str
    hold: Hold

    def renew(self, now_us: int) -> bool:
        """Write it again, unless its time is over."""
        if now_us >= self.hold.until_us:
            return False
        self.location.write_bytes(self.location.child(self.path), _packed(self.hold))
        return True

    def release(self) -> None:
        self.location.delete(self.path)


class Holding:
    """The holds of one reader, renewed by a thread until they are given back or over."""

    def __init__(self, held: Sequence[HeldVersion], now_us: Callable[[], int]) -> None:
        self.held = list(held)
        self._now_us = now_us
        self._stopped = threading.Event()
        self._renewing = threading.Lock()
        threading.Thread(target=self._renew_until_released, daemon=True).start()

    def renew(self) -> bool:
        """Renew the holds; tell whether anything is still held."""
        # Under a lock: a renewal under way would put back what was just given back.
        with self._renewing:
            if self._stopped.is_set():
                return False
            renewed = [one.renew(self._now_us()) for one in self.held]
            return any(renewed)

    def release(self) -> None:
        self._stopped.set()
        with self._renewing:
            for one in self.held:
                one.release()

    def _renew_until_released(self) -> None:
        going_on = True
        while going_on and not self._stopped.wait(RENEW_S):
            with suppress(OSError):  # the next time is soon enough
                going_on = self.renew()


def take_hold(snapshot: Snapshot, duration_us: int, now_us: int) -> HeldVersion | None:
    """Hold a version for a time. None if a vacuum has passed meanwhile: the version may not be whole any more."""
    location, version = snapshot.location, snapshot.version
    log = list_log(location)
    until_us = now_us + duration_us
    _refuse_too_long(snapshot, duration_us, until_us, longest_us(snapshot, log, now_us))
    holder = f"{_user()}@{socket.gethostname()}, process {os.getpid()}"
    held = HeldVersion(location, f"{FOLDER}/{version:020d}-{token_hex(8)}", Hold(holder, version, until_us, now_us))
    held.renew(now_us)
    if floor(location) > version:
        held.release()
        return None
    return held


def longest_us(snapshot: Snapshot, log: LogFiles, now_us: int) -> int:
    """Return the moment until which a version can be held: grace and `hold` after the next one was committed."""
    retention = snapshot.definition.retention
    following = log.entries.get(snapshot.version + 1)
    superseded_us = now_us if following is None else min(now_us, following.changed_us)
    return superseded_us + retention.grace_us + retention.hold_us


def _refuse_too_long(snapshot: Snapshot, duration_us: int, until_us: int, longest_us: int) -> None:
    if until_us <= longest_us:
        return
    retention, name = snapshot.definition.retention, snapshot.definition.name
    left_us = max(0, longest_us - (until_us - duration_us)) // 10**6 * 10**6
    raise InvalidInput(
        f"version {snapshot.version} of archive {name} cannot be held for {duration_text(duration_us)}, only for "
        f"{duration_text(left_us)}: {_maximum(retention)}",
        "hold it for less; or give a new archive a longer [retention] hold, which moves the deadline of its bytes",
    )


def _maximum(retention: Retention) -> str:
    return (
        f"a version is kept for the grace of {duration_text(retention.grace_us)} after the next one was committed, and "
        f"readers can prolong that by {duration_text(retention.hold_us)}"
    )


def _packed(hold: Hold) -> bytes:
    return json.dumps({"holder": hold.holder, "version": hold.version, "until_us": hold.until_us}).encode()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"
