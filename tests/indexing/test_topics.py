"""Which messages are a slot's: each in exactly one, whatever comes late, however slots are read and replayed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.offsets import SlotOffsets, is_unbroken
from tidewheel.indexing.core.receipts import SlotReceipt
from tidewheel.indexing.core.topics import (
    Partition,
    Reading,
    Topic,
    known_offsets,
    moments_of,
    readings,
    unready,
    with_shortfall,
)
from tidewheel.indexing.errors import InvalidInput, Unavailable

MINUTE_US = 60_000_000
FILE = """
[archive]
name = "flows"
path = "/nowhere/flows"
key = ["id"]
expires_at = "until"
[time]
interval = "1m"
max_lifetime = "1h"
[source]
topic = "flows"
schema = "id string, until timestamp"
lateness = "10s"
{more}
[source.options]
"bootstrap.servers" = "broker:9092"
"""


def file_of(more: str = "") -> ArchiveFile:
    return parse_archive_file(FILE.format(more=more), "flows.toml")


@dataclass
class Log:
    """A topic in memory: of each partition the stamps of its messages, and how many of the first are gone."""

    stamps: dict[int, list[int]]
    gone: dict[int, int] = field(default_factory=dict)
    topic_id: str = "one"
    kept_us: int | None = None
    is_compacted: bool = False

    def topic(self, file: ArchiveFile, slots: Sequence[int], now_us: int) -> Topic:
        moments = moments_of(file, slots)
        partitions = {number: self._partition(number, moments) for number in self.stamps}
        return Topic("flows", self.topic_id, partitions, now_us, self.is_compacted, self.kept_us)

    def _partition(self, number: int, moments: Sequence[int]) -> Partition:
        stamps, begin = self.stamps[number], self.gone.get(number, 0)
        first_at: dict[int, int] = {}
        for at in moments:
            later = [offset for offset, stamp in enumerate(stamps) if offset >= begin and stamp >= at]
            first_at |= {at: later[0]} if later else {}
        return Partition(begin, len(stamps), first_at)

    def read(
        self, file: ArchiveFile, slots: Sequence[int], known: Mapping[int, SlotOffsets], now_us: int = 1 << 60
    ) -> dict[int, Reading]:
        return readings(file, self.topic(file, slots, now_us), slots, known)


def at(minute: float) -> int:
    return round(minute * MINUTE_US)


def shares(found: Mapping[int, Reading]) -> dict[int, Mapping[int, tuple[int, int]]]:
    return {slot: one.offsets.ranges for slot, one in found.items()}


def test_a_slot_is_what_lies_between_the_first_messages_at_its_bounds() -> None:
    log = Log({0: [at(0.1), at(0.9), at(1), at(2.5)], 1: [at(1.2), at(0.5), at(3)]})
    found = log.read(file_of(), [0, 1, 2], {})
    assert shares(found) == {0: {0: (0, 2), 1: (0, 0)}, 1: {0: (2, 3), 1: (0, 2)}, 2: {0: (3, 4), 1: (2, 2)}}


def test_a_slot_waits_for_every_partition_until_its_lateness_has_passed() -> None:
    log, file = Log({0: [at(0.5), at(1)], 1: [at(0.5)]}), file_of()
    with pytest.raises(
        Unavailable, match=r"slot 1970-01-01T00:00:00Z .* in partition 1, .* until 1970-01-01T00:01:10Z"
    ):
        log.read(file, [0], {}, now_us=at(1) + 9_999_999)
    assert len(unready(file, log.topic(file, [0], at(1)), [0])) == 1
    assert shares(log.read(file, [0], {}, now_us=at(1) + 10_000_000)) == {0: {0: (0, 1), 1: (0, 1)}}
    log.stamps[1].append(at(1.01))
    assert unready(file, log.topic(file, [0], at(1)), [0]) == []


def test_an_open_transaction_is_waited_for_and_then_left_to_the_next_slot() -> None:
    file = file_of()
    hidden = Topic("flows", "one", {0: Partition(0, 5, {at(0): 0, at(1): 8})}, asked_us=at(1))
    assert "partition 0" in unready(file, hidden, [0])[0]
    later = replace(hidden, asked_us=at(2))
    assert shares(readings(file, later, [0], {})) == {0: {0: (0, 5)}}


def test_a_slot_with_offsets_is_read_by_them_whatever_came_since() -> None:
    file, known = file_of(), {0: SlotOffsets("flows", "one", {0: (3, 7)})}
    log = Log({0: [at(0.5)] * 20, 1: [at(0.5)] * 4})
    assert shares(log.read(file, [0], known)) == {0: {0: (3, 7)}}


def test_neighbours_in_the_ledger_say_where_a_slot_begins_and_ends() -> None:
    file = file_of('missing = "empty"')
    log = Log({0: [at(0.5)] * 4 + [at(2.5)] * 4, 1: [at(1.5)] * 2})
    known = {0: SlotOffsets("flows", "one", {0: (0, 2)}), 2: SlotOffsets("flows", "one", {0: (3, 8), 1: (2, 2)})}
    assert shares(log.read(file, [1], known)) == {1: {0: (2, 3), 1: (0, 2)}}, "a new partition is read from 0"
    assert shares(log.read(file, [3], known)) == {3: {0: (8, 8), 1: (2, 2)}}
    assert shares(log.read(file, [-1], known, now_us=0)) == {-1: {0: (0, 0), 1: (0, 0)}}, "its end is known: no waiting"


def test_an_empty_slot_is_refused_unless_later_messages_show_that_it_is_empty() -> None:
    file, empty = file_of(), file_of('missing = "empty"')
    quiet = Log({0: [at(0.5)], 1: []})
    with pytest.raises(InvalidInput, match="topic flows has no message for slot 1970-01-01T00:01:00Z"):
        quiet.read(file, [1], {})
    assert unready(file, quiet.topic(file, [1], at(9)), [1]) != []
    assert shares(quiet.read(empty, [1], {})) == {1: {0: (1, 1), 1: (0, 0)}}
    passed = Log({0: [at(0.5), at(2)], 1: [at(3)]})
    assert shares(passed.read(file, [1], {})) == {1: {0: (1, 1), 1: (0, 0)}}


def test_what_retention_took_is_refused_or_counted() -> None:
    log = Log({0: [at(0.5)] * 10 + [at(1.5)] * 10 + [at(2)]}, gone={0: 12})
    known = {0: SlotOffsets("flows", "one", {0: (0, 10)})}
    with pytest.raises(
        InvalidInput, match=r"10 offsets of partition 0 \[0, 10\).*; .*2 offsets of partition 0 \[10, 20\)"
    ):
        log.read(file_of(), [0, 1], known)
    found = log.read(file_of('lost = "take"'), [0, 1], known)
    assert [(one.there, one.offsets.lost) for one in found.values()] == [({}, 10), ({0: (12, 20)}, 2)]
    assert found[1].offsets.ranges == {0: (10, 20)}, "the receipt keeps what the slot's share was"


def test_a_topic_that_begins_within_a_slot_may_lack_messages_of_it() -> None:
    file = file_of()
    log = Log({0: [at(0.5)] * 10 + [at(1.5)] * 10 + [at(2)]}, gone={0: 12})
    with pytest.raises(
        InvalidInput, match=r"in partition 0 the topic begins within slot 1970-01-01T00:01:00Z or after"
    ):
        log.read(file, [1], {})
    assert shares(log.read(file_of('lost = "take"'), [1], {})) == {1: {0: (12, 20)}}
    assert shares(replace(log, kept_us=1 << 61).read(file, [1], {})) == {1: {0: (12, 20)}}, (
        "nothing of it is old enough"
    )


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one() -> None:
    known = {0: SlotOffsets("flows", "one", {0: (0, 3)})}
    anew = Log({0: [at(0.2), at(0.5), at(1.5), at(1.6), at(2)]}, topic_id="two")
    with pytest.raises(InvalidInput, match=r"was read from a topic flows that was deleted and made anew since"):
        anew.read(file_of(), [0], known)
    with pytest.raises(InvalidInput, match=r"slot 1970-01-01T00:01:00Z follows one that was read from a topic"):
        anew.read(file_of(), [1], known)
    take = file_of('lost = "take"')
    assert shares(anew.read(take, [1], known)) == {1: {0: (0, 4)}}, "all that nobody has read"
    assert shares(anew.read(take, [0], known)) == {0: {0: (0, 2)}}, "what bears the slot's time"


def test_another_topic_in_the_archive_file_is_not_read_by_the_offsets_of_the_first() -> None:
    known = {0: SlotOffsets("before", "zero", {0: (0, 30)})}
    log = Log({0: [at(0.2), at(0.5), at(1.5), at(2)]})
    with pytest.raises(InvalidInput, match="slot 1970-01-01T00:00:00Z was read from topic before, not flows"):
        log.read(file_of(), [0], known)
    assert shares(log.read(file_of(), [1], known)) == {1: {0: (2, 3)}}, "new slots are cut by time"
    assert shares(log.read(file_of('lost = "take"'), [0], known)) == {0: {0: (0, 2)}}


def test_a_cut_off_topic_is_told_by_its_end() -> None:
    log = Log({0: [at(0.5)] * 3})
    with pytest.raises(InvalidInput, match=r"4 offsets of partition 0 \[0, 7\)"):
        log.read(file_of(), [0], {0: SlotOffsets("flows", "one", {0: (0, 7)})})


def test_a_compacted_topic_is_refused_unless_what_is_left_will_do() -> None:
    log = Log({0: [at(0.5), at(1)]}, is_compacted=True)
    with pytest.raises(InvalidInput, match="topic flows is compacted"):
        log.read(file_of(), [0], {})
    assert shares(log.read(file_of('lost = "take"'), [0], {})) == {0: {0: (0, 1)}}


def receipt_of(slot: int, rows: int, offsets: SlotOffsets) -> SlotReceipt:
    return SlotReceipt(slot, rows, rows, 0, 0, 0, 0, {}, offsets=offsets)


def test_a_replay_that_brings_fewer_messages_is_refused_or_counted() -> None:
    offsets = SlotOffsets("flows", "one", {0: (0, 10)})
    batches = {(0, ""): Batch("first", 10, offsets=replace(offsets, lost=1))}
    again = (receipt_of(0, 7, offsets),)
    with pytest.raises(InvalidInput, match="brought 10 messages when it was read before, and 3 fewer now"):
        with_shortfall(file_of(), again, batches)
    (counted,) = with_shortfall(file_of('lost = "take"'), again, batches)
    assert counted.offsets is not None
    assert counted.offsets.lost == 4
    assert with_shortfall(file_of(), (receipt_of(0, 10, offsets),), batches)[0].offsets == replace(offsets, lost=1)


def test_offsets_survive_receipts_and_the_ledger() -> None:
    for offsets in (SlotOffsets("flows", "id", {3: (5, 9), 0: (0, 0)}), SlotOffsets("flows", "", {}, lost=2)):
        one = receipt_of(4, 2, offsets)
        assert SlotReceipt.from_json(one.to_json()) == one
        batch = Batch("attempt", 2, offsets=offsets)
        assert Batch.from_json(batch.to_json()) == batch
    assert len(Batch("attempt", 2).to_json()) == 5, "as programs before wrote it"


def test_slots_that_were_read_side_by_side_must_meet() -> None:
    lower, upper = SlotOffsets("t", "a", {0: (0, 5)}), SlotOffsets("t", "a", {0: (5, 9), 1: (0, 3)})
    assert is_unbroken({1: lower, 2: upper}, {})
    assert is_unbroken({2: upper}, {1: lower})
    assert not is_unbroken({2: upper}, {1: SlotOffsets("t", "a", {0: (0, 4)})})
    assert not is_unbroken({1: lower}, {2: SlotOffsets("t", "a", {0: (6, 9)})})
    assert not is_unbroken({1: SlotOffsets("t", "a", {0: (0, 5), 1: (0, 2)})}, {2: SlotOffsets("t", "a", {0: (5, 9)})})
    assert is_unbroken({2: upper}, {1: SlotOffsets("t", "b", {0: (0, 4)})}), "another topic has other offsets"


@pytest.mark.parametrize("seed", range(200))
def test_every_message_is_in_exactly_one_slot(seed: int) -> None:
    """Slots as they end, gaps, backfills, replays, idle partitions, late messages and new partitions, at random."""
    chance, file = random.Random(seed), file_of('missing = "empty"')
    log = Log({number: [] for number in range(chance.randint(1, 3))})
    known: dict[int, SlotOffsets] = {}
    slots, gaps = 12, []
    for slot in range(slots):
        produce(log, chance, slot)
        if chance.random() < 0.15:
            log.stamps[len(log.stamps)] = []
        if chance.random() < 0.3:
            gaps.append(slot)
        else:
            bring(log, file, known, [slot], at(slot + 1) + 10_000_000)
        if known and chance.random() < 0.3:
            again = chance.choice(sorted(known))
            assert log.read(file, [again], known)[again].offsets == known[again]
    for number in log.stamps:
        log.stamps[number].append(at(slots))
    chance.shuffle(gaps)
    while gaps:
        some = sorted(gaps.pop() for _ in range(min(len(gaps), chance.randint(1, 3))))
        bring(log, file, known, some, at(slots + 1))
    bring(log, file, known, [slots], at(slots + 2))
    assert is_unbroken(known, {})
    for number, stamps in log.stamps.items():
        read = sorted((one.first(number), one.end(number), slot) for slot, one in known.items())
        covered = [offset for first, end, _ in read for offset in range(first, end)]
        assert covered == list(range(len(stamps)))
        for first, end, slot in read:
            assert all(stamp < at(slot + 1) for stamp in stamps[first:end]), "nothing of the future"


def produce(log: Log, chance: random.Random, slot: int) -> None:
    """Messages of a slot, some late, and sometimes one after its end."""
    for number, stamps in log.stamps.items():
        if chance.random() < 0.3:
            continue  # idle
        late = [2 if chance.random() < 0.1 else 0 for _ in range(chance.randint(0, 6))]
        stamps += [at(max(0, slot + chance.random() - one)) for one in late]
        if number == 0 and chance.random() < 0.5:
            stamps.append(at(slot + 1))


def bring(log: Log, file: ArchiveFile, known: dict[int, SlotOffsets], slots: Sequence[int], now_us: int) -> None:
    known |= {slot: one.offsets for slot, one in log.read(file, slots, known, now_us).items()}
    batches = {(slot, ""): Batch("attempt", 0, offsets=one) for slot, one in known.items()}
    assert known_offsets(batches) == known
