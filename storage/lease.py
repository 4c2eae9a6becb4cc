"""An advisory lease beside the table: writers that lost a race queue, first come first served.

Correctness never depends on it, only the commit decides; it keeps a slow writer from being overtaken for ever.
A ticket is a file named by the moment it was drawn. Who holds the oldest ticket goes first; the others wait until
it is gone, or has not been renewed for a while (its holder died or is paused), and then go on anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tidewheel.storage.location import SIDE_FOLDER, Location

FOLDER = f"{SIDE_FOLDER}/lease"
STALE_US = 120 * 1_000_000
WAIT_MAX_S = 60.0
POLL_S = 0.05


class Lease:
    """One writer's place in the queue; nothing happens until `take`."""

    def __init__(self, location: Location, attempt: str, clock: Callable[[], int]) -> None:
        self._location = location
        self._attempt = attempt
        self._clock = clock
        self._ticket = ""

    def take(self) -> None:
        """Draw a ticket, once, and wait for those before it, for a bounded time."""
        if not self._ticket:
            self._ticket = f"{FOLDER}/{self._clock():020d}-{self._attempt}"
            self._location.write_bytes(self._location.child(self._ticket), b"")
        waited_s = 0.0
        while waited_s < WAIT_MAX_S and self._others_before():
            time.sleep(POLL_S)
            waited_s += POLL_S

    def release(self) -> None:
        """Give the ticket back; the next one goes."""
        if self._ticket:
            self._location.delete(self._ticket)
            self._ticket = ""

    def _others_before(self) -> bool:
        now_us = self._clock()
        tickets = sorted(info.base_name for info in self._location.files_below(FOLDER))
        mine = self._ticket.rsplit("/", 1)[-1]
        return any(ticket < mine and now_us - int(ticket.split("-", 1)[0]) < STALE_US for ticket in tickets)
