"""The messages of a Kafka topic that belong to a slot: decided once, by timestamps, and from then on by receipts.

A bound between two slots is one offset in each partition: that of the first message stamped at or after the moment
between them. Messages before it belong to the earlier slots, the others to the later ones, so each message is in
exactly one slot. A late message lies behind a bound whose moment is after its own stamp, so it belongs to the later
slot that it came with.

1. A slot whose receipt has offsets is read by these and no others, whatever came to the topic since.
2. If a neighbour's receipt has the bound, the bound stays; a partition that the neighbour did not know begins at 0.
3. Any other bound is looked up. A partition without a message after it ends there once the lateness has passed.

Messages that a slot should read and that are gone are refused, or left out and counted, as the archive file says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidewheel.indexing.core.batch_map import Batches
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.offsets import OffsetRange, SlotOffsets, ranges_text
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput, Unavailable
from tidewheel.indexing.printable import counted

_NAMED_MAX = 5


@dataclass(frozen=True)
class Partition:
    """The broker's facts about one partition."""

    begin: int  # the oldest offset that is still there
    end: int  # after the newest one that may be read
    first_at: Mapping[int, int]  # by moment, the first message stamped at or after it; none, where it is missing


@dataclass(frozen=True)
class Topic:
    """The broker's facts about a topic, at one moment."""

    name: str
    topic_id: str
    partitions: Mapping[int, Partition]
    asked_us: int
    is_compacted: bool = False
    kept_us: int | None = None  # what is younger was not deleted; None if that does not go by time alone


@dataclass(frozen=True)
class Reading:
    """The messages that one slot reads: its share for the receipt, and the rest of it that still exists."""

    offsets: SlotOffsets
    there: Mapping[int, OffsetRange]


def moments_of(file: ArchiveFile, slots: Sequence[int]) -> list[int]:
    """Return the moments between slots that may have to be looked up."""
    axis = file.axis
    return sorted({at for slot in slots for at in (axis.start_us(slot), axis.end_us(slot))})


def known_offsets(batches: Batches) -> dict[int, SlotOffsets]:
    """Return the offsets that receipts say were read, by slot."""
    return {slot: batch.offsets for (slot, _), batch in batches.items() if batch.offsets is not None}


def unready(file: ArchiveFile, topic: Topic, slots: Sequence[int]) -> list[str]:
    """Return, for each slot that is not complete in the topic yet, what it waits for."""
    return [said for slot in slots if (said := _waits_for(file, topic, slot) or _lacks_all(file, topic, slot))]


def readings(
    file: ArchiveFile, topic: Topic, slots: Sequence[int], known: Mapping[int, SlotOffsets]
) -> dict[int, Reading]:
    """Return the messages that each slot reads; raise an error that says why one cannot be read."""
    if topic.is_compacted and file.source.lost == "fail":
        raise InvalidInput(
            f"topic {topic.name} is compacted: the broker deletes messages whose key comes again, so a slot may find "
            "fewer of them than came, and a replay fewer than the first time. Nothing was changed",
            'read a topic with cleanup.policy=delete, or take what is left: [source] lost = "take"',
        )
    cuts = _Cuts(file, topic, known)
    found: dict[int, Reading] = {}
    gone: list[str] = []
    for slot in slots:
        reading = cuts.reading(slot)
        found[slot] = reading
        gone += cuts.losses(slot, reading)
    if gone and file.source.lost == "fail":
        more = f"; and {len(gone) - _NAMED_MAX} more" if len(gone) > _NAMED_MAX else ""
        raise InvalidInput(
            f"messages that archive {file.name} would read are gone: {'; '.join(gone[:_NAMED_MAX])}{more}. Nothing was "
            "changed",
            "leave these slots as they are, restore the topic, or take what is left, with the loss counted: "
            '[source] lost = "take"',
        )
    return found


def with_shortfall(file: ArchiveFile, slots: Sequence[SlotReceipt], batches: Batches) -> tuple[SlotReceipt, ...]:
    """Return the receipts of slots that were read again; messages missing since the first time count as lost."""
    short = {one.slot: _shortfall(one, batches) for one in slots}
    if file.source.lost == "fail" and any(short.values()):
        slot, rows = next((slot, rows) for slot, rows in short.items() if rows)
        raise InvalidInput(
            f"slot {file.axis.name(slot)} of archive {file.name} brought "
            f"{counted(batches[slot, ''].rows_in, 'message')} when it was read before, and {rows:,} fewer now, from "
            "the same offsets: the broker deleted them. Nothing was changed",
            'leave the slot as it is, or take what is left, with the loss counted: [source] lost = "take"',
        )
    return tuple(_with_lost(one, batches, short[one.slot]) for one in slots)


def _shortfall(one: SlotReceipt, batches: Batches) -> int:
    before = batches.get(one.key)
    return 0 if before is None or before.offsets is None else max(0, before.rows_in - one.rows_in)


def _with_lost(one: SlotReceipt, batches: Batches, short: int) -> SlotReceipt:
    before = batches.get(one.key)
    if one.offsets is None or before is None or before.offsets is None:
        return one
    return replace(one, offsets=replace(one.offsets, lost=max(one.offsets.lost, before.offsets.lost + short)))


class _Cuts:
    """The bounds of one archive's slots in a topic."""

    def __init__(self, file: ArchiveFile, topic: Topic, known: Mapping[int, SlotOffsets]) -> None:
        self.file, self.topic, self.known = file, topic, known

    def reading(self, slot: int) -> Reading:
        offsets = self.known.get(slot)
        if offsets is None or (not self._is_ours(offsets) and self.file.source.lost == "take"):
            offsets = self._cut(slot)
        there = dict(self._there(offsets)) if self._is_ours(offsets) else {}
        lost = sum(end - first for first, end in offsets.ranges.values())
        lost -= sum(end - first for first, end in there.values())
        return Reading(replace(offsets, lost=lost), there)

    def losses(self, slot: int, reading: Reading) -> Iterator[str]:
        """Yield, in words, the messages that a slot should read and cannot."""
        name, offsets = self.file.axis.name(slot), reading.offsets
        other = self._other_topic(slot)
        if other:
            yield f"slot {name} {other}"
        elif offsets.lost:
            missing = {n: one for n, one in offsets.ranges.items() if one[0] < one[1] and reading.there.get(n) != one}
            yield f"of slot {name} {counted(offsets.lost, 'offset')} of {ranges_text(missing)}"
        elif slot not in self.known and (unsure := sorted(self._may_lack(slot))):
            numbers = ", ".join(map(str, unsure[:_NAMED_MAX]))
            yield f"in partition {numbers} the topic begins within slot {name} or after it, and lacks what was before"

    def _other_topic(self, slot: int) -> str:
        """Return the fault if the slot, or the one before it, was read from another topic."""
        offsets = self.known.get(slot)
        if offsets is not None and not self._is_ours(offsets):
            if offsets.topic != self.topic.name:
                return f"was read from topic {offsets.topic}, not {self.topic.name}"
            return f"was read from a topic {offsets.topic} that was deleted and made anew since"
        before = self.known.get(slot - 1)
        if offsets is None and before is not None and before.topic == self.topic.name and not self._is_ours(before):
            return f"follows one that was read from a topic {before.topic} that was deleted and made anew since"
        return ""

    def _cut(self, slot: int) -> SlotOffsets:
        if waits := _waits_for(self.file, self.topic, slot, self._upper(slot)):
            raise Unavailable(f"{waits}. Nothing was changed", "wait until then, or set a shorter [source] lateness")
        ranges = {}
        for number in self.topic.partitions:
            first, end = self._lower_bound(slot, number), self._upper_bound(slot, number)
            ranges[number] = (min(first, end), end)
        offsets = SlotOffsets(self.topic.name, self.topic.topic_id, ranges)
        self._refuse_empty(slot, offsets)
        return offsets

    def _lower_bound(self, slot: int, number: int) -> int:
        before = self.known.get(slot - 1)
        if before is not None and self._is_ours(before):
            return before.end(number)
        if before is not None and before.topic == self.topic.name and slot not in self.known:
            return 0  # of a topic that was made anew, nothing has been read
        return _by_time(self.topic.partitions[number], self.file.axis.start_us(slot))

    def _upper_bound(self, slot: int, number: int) -> int:
        after = self._upper(slot)
        if after is not None:
            return after.first(number)
        return _by_time(self.topic.partitions[number], self.file.axis.end_us(slot))

    def _upper(self, slot: int) -> SlotOffsets | None:
        """Return the slot after this one, if its receipt says where this one ends."""
        after = self.known.get(slot + 1)
        return after if after is not None and self._is_ours(after) else None

    def _there(self, offsets: SlotOffsets) -> Iterator[tuple[int, OffsetRange]]:
        for number, own in offsets.ranges.items():
            partition = self.topic.partitions.get(number, Partition(0, 0, {}))
            first, end = max(own[0], partition.begin), min(own[1], partition.end)
            if first < end:
                yield number, (first, end)

    def _may_lack(self, slot: int) -> Iterator[int]:
        """Yield partitions whose oldest message is the slot's or later: earlier ones may have been deleted unseen."""
        start_us, topic = self.file.axis.start_us(slot), self.topic
        if slot - 1 in self.known or (topic.kept_us is not None and start_us >= topic.asked_us - topic.kept_us):
            return
        for number, partition in topic.partitions.items():
            if partition.begin > 0 and _by_time(partition, start_us) == partition.begin:
                yield number

    def _refuse_empty(self, slot: int, offsets: SlotOffsets) -> None:
        has_any = any(first < end for first, end in offsets.ranges.values())
        if not has_any and (lacking := _lacks_all(self.file, self.topic, slot)):
            raise InvalidInput(
                f"{lacking}. Nothing was changed",
                'wait for the data, correct [source] topic, or set [source] missing = "empty"',
                slot=slot,
            )

    def _is_ours(self, offsets: SlotOffsets) -> bool:
        return offsets.is_of(self.topic.name, self.topic.topic_id)


def _waits_for(file: ArchiveFile, topic: Topic, slot: int, after: SlotOffsets | None = None) -> str:
    """Return what a slot waits for; nothing once the lateness has passed, or all partitions have later messages."""
    end_us = file.axis.end_us(slot)
    until_us = end_us + file.source.lateness_us
    open_ones = [number for number, one in sorted(topic.partitions.items()) if not _is_passed(one, end_us)]
    if after is not None or not open_ones or topic.asked_us >= until_us:
        return ""
    numbers = ", ".join(map(str, open_ones[:_NAMED_MAX])) + (", ..." if len(open_ones) > _NAMED_MAX else "")
    return (
        f"slot {file.axis.name(slot)} of archive {file.name} may not be complete: topic {topic.name} has no message "
        f"from its end on in partition {numbers}, and its lateness lasts until {iso(until_us)}"
    )


def _lacks_all(file: ArchiveFile, topic: Topic, slot: int) -> str:
    """Return the fault of a slot without any message, as long as one may still come.

    Later messages in every partition show that none will.
    """
    start_us, end_us = file.axis.start_us(slot), file.axis.end_us(slot)
    partitions = topic.partitions.values()
    has_any = any(_by_time(one, start_us) < _by_time(one, end_us) for one in partitions)
    if has_any or all(_is_passed(one, end_us) for one in partitions) or file.source.missing == "empty":
        return ""
    return f"topic {topic.name} has no message for slot {file.axis.name(slot)} of archive {file.name}"


def _by_time(partition: Partition, at_us: int) -> int:
    """Return the offset of a bound that no receipt has."""
    return min(partition.first_at.get(at_us, partition.end), partition.end)


def _is_passed(partition: Partition, at_us: int) -> bool:
    """Tell whether there is a message stamped at or after a moment, and everything before it may be read."""
    return partition.first_at.get(at_us, partition.end + 1) <= partition.end
