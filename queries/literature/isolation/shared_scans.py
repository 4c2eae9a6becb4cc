"""Several queries of different lengths in one scan (the groups of the experiments), each with a fate of its own.

The source does not say when the members of a group commit. Here a read serves all members that still need the slot, a
member commits with its last read, and each slide tests each member by its own length: so every member ends as if it ran
alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidewheel.queries.literature.isolation.read_schedulers import HighestTimeToUpdate, State
from tidewheel.queries.literature.isolation.window_ring import Ring


class SharedScan:
    """A group under Algorithm 8: the youngest slot that anybody lacks is read next."""

    def __init__(self, ring: Ring, lengths: Sequence[int], last: int) -> None:
        self.members = [HighestTimeToUpdate(ring, length, last) for length in lengths]
        self.units_read = 0

    @property
    def running(self) -> list[HighestTimeToUpdate]:
        return [member for member in self.members if member.state is State.RUNNING]

    def read(self) -> None:
        """Read one unit for all who need it.

        Members lag behind each other only where a slide took what one had read.
        """
        wanted = max((member.unread[0] for member in self.running), default=None)
        if wanted is None:
            return
        self.units_read += 1
        for member in self.running:
            if member.unread[0] == wanted:
                member.read()

    def slide(self) -> None:
        for member in self.members:
            member.slide()
