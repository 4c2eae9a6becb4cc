"""An advisory lease beside the table: writers that lost a race queue, first come first served.

Correctness never depends on it: only the commit decides. It keeps a slow writer from being overtaken for ever. A ticket
is a file named by the moment it was drawn; the oldest goes first and newcomers queue behind. Writers renew their
tickets while they live. A ticket that was not renewed for a while is passed by: its writer died or is paused. Ages go
by the store's own clock, as the difference to one's own ticket.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.location import Location

FOLDER = f"{SIDE_FOLDER}/lease"
STALE_S = 30.0
RENEW_S = 10.0
WAIT_MAX_S = 600.0
POLL_S = 0.05


class Lease:
    """One writer's place in the queue; nothing happens until it must wait."""

    stale_s = STALE_S
    poll_s = POLL_S

    def __init__(self, location: Location, attempt: str, clock: Callable[[], int]) -> None:
        self._location = location
        self._attempt = attempt
        self._clock = clock
        self._ticket = ""
        self._stopped = threading.Event()
        self._renewing = threading.Lock()

    def queue_if_others_wait(self) -> None:
        """Queue if others wait already, so that a newcomer does not overtake them."""
        if not self._ticket and self._location.files_below(FOLDER):
            self.take()

    def take(self) -> None:
        """Draw a ticket, once, and wait for those before it, for a bounded time."""
        if not self._ticket:
            self._ticket = f"{FOLDER}/{self._clock():020d}-{self._attempt}"
            self.renew()
            self.keep_renewed()
        waited_s = 0.0
        while waited_s < WAIT_MAX_S and self._others_before():
            self.wait()
            waited_s += self.poll_s

    def release(self) -> None:
        """Give the ticket back; the next one goes."""
        self._stopped.set()
        # A renewal under way would put the ticket back, and newcomers would queue behind nobody.
        with self._renewing:
            if self._ticket:
                self._location.delete(self._ticket)
                self._ticket = ""

    def wait(self) -> None:
        time.sleep(self.poll_s)

    def keep_renewed(self) -> None:
        threading.Thread(target=self._renew_until_released, daemon=True).start()

    def renew(self) -> None:
        self._location.write_bytes(self._location.child(self._ticket), b"")

    def _renew_until_released(self) -> None:
        while not self._stopped.wait(RENEW_S):
            with self._renewing:
                if not self._stopped.is_set():
                    self.renew()

    def _others_before(self) -> bool:
        files = self._location.files_below(FOLDER)
        tickets = {info.base_name: info.mtime_ns for info in files if info.base_name[0].isdigit()}
        mine = self._ticket.rsplit("/", 1)[-1]
        now_ns = max(tickets.values(), default=0)
        return any(name < mine and now_ns - mtime_ns < self.stale_s * 1e9 for name, mtime_ns in tickets.items())
