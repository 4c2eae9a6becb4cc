"""Local clocks, heartbeats, and the union of streams that lag one another (sections 2.2.1 and 3.5.4).

An operator expires by its own clock: the least moment up to which it has processed all of its inputs, never the wall
clock. So nothing ends before everything with a smaller timestamp has reached the operator that would still see it. A
selection that drops all still tells how far it has read: a heartbeat, or an answer to `request`. A run over batches
is the case in which all operators share one watermark.

Follows the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.state.records import Record


class Clock:
    """The progress of one operator; a source has no inputs and is told by its tuples and heartbeats.

    >>> source = Clock()
    >>> source.hear(100)
    >>> operator = Clock([source])
    >>> operator.process(0, 98); operator.now, operator.request()
    (98, 100)
    """

    def __init__(self, inputs: Sequence[Clock] = ()) -> None:
        self._inputs = inputs
        self._processed = [0] * max(1, len(inputs))

    def hear(self, ts: int) -> None:
        """Note a source's tuple or heartbeat."""
        self.process(0, ts)

    def process(self, side: int, ts: int) -> None:
        if ts < self._processed[side]:
            raise InvalidInput(
                f"a tuple or heartbeat of {ts} comes after one of {self._processed[side]}",
                "streams arrive in the order of ts: sort them before, with `Slack`",
            )
        self._processed[side] = ts

    @property
    def now(self) -> int:
        """The moment by which this operator expires."""
        return min(self._processed)

    def request(self) -> int:
        """Ask the inputs how far they are, as if nothing were under way between them and this operator."""
        for side, below in enumerate(self._inputs):
            self._processed[side] = max(self._processed[side], below.request())
        return self.now


class MergeUnion:
    """The order-preserving union (GSQL's stream merge): gives tuples by ts, holding what a slower input may precede.

    >>> union = MergeUnion(2)
    >>> one = Record((0, 1), (), 5)
    >>> union.add(0, one), union.heartbeat(1, 4), union.heartbeat(1, 5)
    ([], [], [Record(id=(0, 1), values=(), ts=5, exp=inf, sign=1)])
    """

    def __init__(self, inputs: int) -> None:
        self._clock = Clock([Clock() for _ in range(inputs)])
        self._held: list[tuple[int, int, Record]] = []
        self._count = 0

    def add(self, side: int, record: Record) -> list[Record]:
        self._count += 1
        heappush(self._held, (record.ts, self._count, record))
        return self.heartbeat(side, record.ts)

    def heartbeat(self, side: int, ts: int) -> list[Record]:
        """Note that the input gives nothing before `ts` any more."""
        self._clock.process(side, ts)
        found = []
        while self._held and self._held[0][0] <= self._clock.now:
            found.append(heappop(self._held)[2])
        return found

    def __len__(self) -> int:
        return len(self._held)


class Slack:
    """Aurora's buffered sort: holds `slack` tuples and gives the least ts first; what comes later than that is late.

    >>> sort = Slack(1)
    >>> [one.ts for ts in (2, 1, 4, 3) for one in sort.add(Record((ts,), (), ts))]
    [1, 2, 3]
    """

    def __init__(self, slack: int) -> None:
        self._slack = slack
        self._held: list[tuple[int, int, Record]] = []
        self._given = self._count = 0

    def add(self, record: Record) -> list[Record]:
        if record.ts < self._given:
            raise InvalidInput(
                f"Tuple ts={record.ts} not after watermark τ_k={self._given} (late data)", "take a larger slack"
            )
        self._count += 1
        heappush(self._held, (record.ts, self._count, record))
        if len(self._held) <= self._slack:
            return []
        found = heappop(self._held)[2]
        self._given = found.ts
        return [found]

    def flush(self) -> list[Record]:
        return [heappop(self._held)[2] for _ in range(len(self._held))]
