"""Random histories of sources and of archives derived of them, each update and each read judged.

A source is updated, replayed, filled backwards, told late rows, forgotten from, expired, undone and migrated. Archives
are derived by either rule, at the newest versions or behind them, by two at once, and of each other. `bugs` names rules
that the world breaks on purpose (`derived_bugs.py`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from tests.support.models.derived_bugs import planted
from tests.support.models.derived_statements import random_statement
from tidewheel.queries.derivations.forms import Form, sources_of
from tidewheel.queries.derivations.judge import carried_out_to, complete_through, is_equal_between_updates, rows_at
from tidewheel.queries.derivations.maintenance import Change, Held, Kept, MadeOf, by_parts, keeps_parts, kept, whole
from tidewheel.queries.derivations.records import Axis, Batch, Record, Tombstone, Version

UNIT = 10
KEYS = 3
Versions = dict[str, Version]
Stones = dict[str, list[Tombstone]]


class Wrong(AssertionError):
    """What the judge found."""


@dataclass
class SourceModel:
    """An archive of records, with all of its versions."""

    axis: Axis
    versions: list[Version] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)
    floor: int = 0  # the version of the last forget: undo goes no further back
    attempts: int = 0

    def __post_init__(self) -> None:
        self.versions.append(Version(0, self.axis, {}, -1))

    @property
    def newest(self) -> Version:
        return self.versions[-1]

    def commit(self, batches: Mapping[int, Batch], watermark: int) -> None:
        self.versions.append(Version(len(self.versions), self.axis, batches, watermark))

    def put(self, slot: int, records: list[Record]) -> None:
        self.attempts += 1
        stored = tuple(record for record in records if not _covered(slot, record, self.tombstones))
        batches = {**self.newest.batches, slot: Batch(self.attempts, stored)}
        self.commit(batches, max(self.newest.watermark, slot))

    def forget(self, stones: list[Tombstone]) -> None:
        """Take what is covered; a batch from which something alive was taken says so."""
        self.tombstones += stones
        at = self.newest.end
        batches = {}
        for slot, batch in self.newest.batches.items():
            left = tuple(record for record in batch.records if not _covered(slot, record, stones))
            took_alive = any(record.until > at and record not in left for record in batch.records)
            batches[slot] = Batch(batch.attempt, left, batch.taken + took_alive)
        self.commit(batches, self.newest.watermark)
        self.floor = self.newest.number

    def undo(self, number: int) -> None:
        before = self.versions[number]
        self.commit(before.batches, before.watermark)


@dataclass
class DerivedModel:
    """An archive derived by a statement: what is stored, and the versions that its consumers see."""

    form: Form
    as_built: Form  # the statement as this world carries it out: with a planted bug, another one
    held: Held = field(default_factory=Held)
    stones: Stones = field(default_factory=dict)  # as the last update knew them
    versions: list[Version] = field(default_factory=list)
    made: list[Mapping[str, MadeOf]] = field(default_factory=list)  # beside each version, what it was made of
    cells: Counter[tuple[int, int]] = field(default_factory=Counter)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.publish(Version(0, Axis(UNIT), {}, -1))

    @property
    def newest(self) -> Version:
        return self.versions[-1]

    @property
    def names(self) -> set[str]:
        return {source.name for source in sources_of(self.form)}

    def publish(self, version: Version) -> None:
        self.versions.append(version)
        self.made.append(self.held.made_of)


class World:
    def __init__(self, seed: int, bugs: frozenset[str] = frozenset()) -> None:
        self.chance = random.Random(seed)
        self.bugs = bugs
        self.met: Counter[str] = Counter()
        self.records = 0
        names = ["a", "b", "c"][: self.chance.randint(1, 3)]
        self.sources = {name: SourceModel(Axis(UNIT, self.chance.choice((1, 1, 1, 3)))) for name in names}
        self.derived: dict[str, DerivedModel] = {}
        self._define("d", names)
        if self.chance.random() < 0.4:  # a chain, and a diamond where a root stands beside the archive derived of it
            self._define("e", ["d", self.chance.choice(names)] if self.chance.random() < 0.7 else ["d"])

    def _define(self, name: str, of: Sequence[str]) -> None:
        strict = [other for other, archive in self.derived.items() if not is_equal_between_updates(archive.form)]
        form = random_statement(self.chance, of, strict, legal="R5 strict anywhere" not in self.bugs)
        self.derived[name] = DerivedModel(form, planted(form, self.bugs))

    # Steps of sources.

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self._step()
        for name in self.derived:
            self._derive(name)

    def step_source(self) -> None:
        source = self.chance.choice(list(self.sources.values()))
        steps = (self._update, self._replay, self._fill, self._forget, self._expire, self._undo, self._migrate)
        self.chance.choices(steps, (8, 2, 2, 2, 1, 1, 1))[0](source)

    def _step(self) -> None:
        self.step_source()
        if self.chance.random() < 0.5:
            self._derive(self.chance.choice(list(self.derived)))
        if self.chance.random() < 0.3:
            self._read(self.chance.choice(list(self.derived.values())))

    def _batch(self, source: SourceModel, slot: int) -> list[Record]:
        end = source.axis.end(slot)
        return [self._record(end) for _ in range(self.chance.randint(0, 4))]

    def _record(self, end: int) -> Record:
        self.records += 1
        time = self.chance.choice((None, *range(end - 3 * UNIT, end + UNIT, 3)))  # late, ahead, or without
        values = (self.chance.randrange(KEYS), self.chance.randrange(3))
        return Record(values, time, end + self.chance.choice((1, 5, 12, 25, 40, 80)), self.records)

    def _update(self, source: SourceModel) -> None:
        slot = source.newest.watermark + self.chance.choice((1, 1, 1, 2))
        source.put(slot, self._batch(source, slot))

    def _replay(self, source: SourceModel) -> None:
        slots = [slot for slot in source.newest.batches if slot > source.newest.watermark - 6]
        if slots:
            slot = self.chance.choice(slots)
            source.put(slot, self._batch(source, slot))
            self.met["replay"] += 1

    def _fill(self, source: SourceModel) -> None:
        """Fill a gap, the newest first."""
        gaps = [slot for slot in range(source.newest.watermark) if slot not in source.newest.batches]
        if gaps:
            source.put(gaps[-1], self._batch(source, gaps[-1]))
            self.met["late slot"] += 1

    def _forget(self, source: SourceModel) -> None:
        watermark = source.newest.watermark
        alive = list(source.newest.alive(source.newest.end, ()))
        if alive and self.chance.random() < 0.4:
            _, record = self.chance.choice(alive)
            source.forget([Tombstone(watermark, row_hash=record.row_hash)])
        else:
            source.forget([Tombstone(watermark, key=self.chance.randrange(KEYS))])
        self.met["forget"] += 1

    def _expire(self, source: SourceModel) -> None:
        source.commit(source.newest.batches, source.newest.watermark + 1)

    def _undo(self, source: SourceModel) -> None:
        if source.newest.number > source.floor:
            source.undo(self.chance.randrange(max(source.floor, source.newest.number - 3), source.newest.number))
            self.met["undo"] += 1

    def _migrate(self, source: SourceModel) -> None:
        source.commit(source.newest.batches, source.newest.watermark)

    # Which versions an update reads.

    def _versions(self, name: str) -> list[Version]:
        return self.sources[name].versions if name in self.sources else self.derived[name].versions

    def _chosen(self, archive: DerivedModel) -> Versions:
        found = {name: self._versions(name)[-1] for name in archive.names}
        self._cut(found)
        if not is_equal_between_updates(archive.form) and "R3 no alignment" not in self.bugs:
            self._align(found)
        return found

    def _cut(self, found: Versions) -> None:
        """Read a root at the version that a derived source was made of; a derived one that knows more steps back."""
        if "R10 no cut" in self.bugs:
            return
        for name in set(found) & set(self.derived):
            number = found[name].number
            for root in set(found) & set(self.derived[name].made[-1]):
                while self._made(name, number, root) > found[root].number:
                    number -= 1
                found[root] = self.sources[root].versions[self._made(name, number, root)]
            found[name] = self.derived[name].versions[number]

    def _made(self, name: str, number: int, root: str) -> int:
        made_of = self.derived[name].made[number].get(root)
        return made_of.version if made_of else 0

    def _align(self, found: Versions) -> None:
        """Read no source beyond the slowest: each at its newest version that ends by then, again until all agree."""
        while any(version.end > complete_through(found) for version in found.values()):
            through = complete_through(found)
            for name, version in found.items():
                found[name] = next(
                    one for one in reversed(self._versions(name)[: version.number + 1]) if one.end <= through
                )
            self._cut(found)

    # Deriving.

    def _derive(self, name: str) -> None:
        archive = self.derived[name]
        versions = self._chosen(archive)
        if self.chance.random() < 0.1:  # another updater is faster
            self._carry_out(name, archive, versions)
            self._update(self.chance.choice(list(self.sources.values())))
            newer = self._chosen(archive)
            self._carry_out(name, archive, newer)
            self.met["two at once"] += 1
            if "R11 older after newer" not in self.bugs:
                versions = newer
        before = archive.held.made_of
        self._carry_out(name, archive, versions)
        if is_equal_between_updates(archive.form) and archive.names <= set(self.sources):
            self._judge_order(name, archive, before)

    def _carry_out(self, name: str, archive: DerivedModel, versions: Versions) -> None:
        stones = {} if "R9 no tombstones" in self.bugs else self._stones()
        change = self._change(archive, versions, stones)
        self._commit(archive, change, versions, stones)
        if "R24 not twice" in self.bugs and self.chance.random() < 0.3:
            self._commit(archive, change, versions, stones)
        self._judge(name, archive, versions)

    def _stones(self) -> Stones:
        return {name: list(source.tombstones) for name, source in self.sources.items()}

    def _change(self, archive: DerivedModel, versions: Versions, stones: Stones) -> Change:
        if keeps_parts(archive.form) and self.chance.random() < 0.8:
            self.met["parts"] += 1
            return by_parts(archive.as_built, self._held(archive, versions), versions, stones)
        change = whole(archive.as_built, archive.held, versions, stones)
        if "R1 nothing leaves" in self.bugs:
            expired = Counter({row: many for row, many in change.leave.items() if row[1] <= change.at})
            change = replace(change, leave=expired)
        return self._misplaced(change, versions)

    def _held(self, archive: DerivedModel, versions: Versions) -> Held:
        """Return what is stored, as a planted bug takes it."""
        held = archive.held
        if "R8 back by parts" in self.bugs:
            held = replace(held, at=min(held.at, carried_out_to(versions)))
        if "R9 attempts alone" in self.bugs:
            held = _without_forgets(held, versions)
        return held

    def _misplaced(self, change: Change, versions: Versions) -> Change:
        if "R14 slot of the update" in self.bugs:
            place = change.at // UNIT - 1
            return replace(change, come=_mapped(change.come, lambda row: (row[0], row[1], place, row[3])))
        if "R4 slots of another interval" in self.bugs:
            steps = max(version.axis.steps for version in versions.values())
            return replace(change, come=_mapped(change.come, lambda row: (row[0], row[1], row[2] // steps, row[3])))
        if "R3 earliest end" in self.bugs:
            return replace(change, at=complete_through(versions))
        return change

    def _commit(self, archive: DerivedModel, change: Change, versions: Versions, stones: Stones) -> None:
        self.met["left early"] += sum(many for row, many in change.leave.items() if row[1] > change.at)
        archive.held = archive.held.after(change, versions, stones)
        archive.stones = stones
        if "R16 short-lived" in self.bugs:
            self._keep_short_lived(archive, versions, change.at)
        for cell, many in change.cells().items():
            archive.cells[cell] += many
        if "R12 slots replaced" in self.bugs:
            _replace_slots(archive.cells, change)
        self._publish(archive, change)

    def _keep_short_lived(self, archive: DerivedModel, versions: Versions, at: int) -> None:
        extra = Counter(
            kept(row) for row in rows_at(archive.form, versions, archive.stones, at - UNIT) if row.until <= at
        )
        archive.held = replace(archive.held, rows=archive.held.rows + extra)

    def _publish(self, archive: DerivedModel, change: Change) -> None:
        """Show consumers a version: each slot in which a row came, or left before its end, has a new attempt."""
        early = {row[2] for row in change.leave if row[1] > change.at}
        touched = {row[2] for row in change.come} | (set() if "R12 consumers" in self.bugs else early)
        rows: dict[int, list[Record]] = {place: [] for place in (*archive.newest.batches, *touched)}
        for (values, until, place), many in sorted(_shown(archive.held.rows).items(), key=repr):
            rows[place] += [_published(values, until, place, copy) for copy in range(many)]
        attempts = {place: batch.attempt for place, batch in archive.newest.batches.items()}
        for place in touched:
            archive.attempts += 1
            attempts[place] = archive.attempts
        batches = {place: Batch(attempts[place], tuple(held)) for place, held in rows.items()}
        archive.publish(Version(len(archive.versions), Axis(UNIT), batches, change.at // UNIT - 1))

    # Judging.

    def _judge(self, name: str, archive: DerivedModel, versions: Versions) -> None:
        at = carried_out_to(versions)
        rows = _shown(Counter(kept(row) for row in rows_at(archive.form, versions, self._stones(), at)))
        stored = _shown(archive.held.rows)
        if stored != rows:
            raise Wrong(f"{name}: stored and not wanted {stored - rows}; wanted and not stored {rows - stored}")
        if archive.held.at != at:
            raise Wrong(f"{name}: says that expiry is carried out to {archive.held.at}, and it is to {at}")
        cells: Counter[tuple[int, int]] = Counter()
        for (_, until, place), many in stored.items():
            cells[place, until] += many
        if +archive.cells != cells or min(archive.cells.values(), default=0) < 0:
            raise Wrong(f"{name}: the ledger has other cells than are stored")
        published: Counter[Any] = Counter(
            (record.values, record.until, place) for place, record in archive.newest.alive(at, ())
        )
        if published != stored:
            raise Wrong(f"{name}: consumers see {published}, stored is {stored}")
        if not is_equal_between_updates(archive.form) and at > complete_through(versions):
            raise Wrong(
                f"{name}: absence is judged to {at}, and the data of all sources end at {complete_through(versions)}"
            )
        self._judge_cut(name, versions)

    def _judge_cut(self, name: str, versions: Versions) -> None:
        for other in set(versions) & set(self.derived):
            for root in set(versions) & set(self.derived[other].made[-1]):
                if self._made(other, versions[other].number, root) != versions[root].number:
                    raise Wrong(f"{name}: reads {root} at one version, and {other} was made of another")

    def _judge_order(self, name: str, archive: DerivedModel, before: Mapping[str, MadeOf]) -> None:
        for source, made_of in archive.held.made_of.items():
            if source in before and made_of.version < before[source].version:
                raise Wrong(f"{name}: made of version {made_of.version} of {source} after {before[source].version}")

    def _read(self, archive: DerivedModel) -> None:
        """Read what is stored at moments between updates: nothing is false, and a closed statement lacks nothing."""
        if archive.held.made_of:
            for later in (1, self.chance.randint(2, UNIT), self.chance.randint(UNIT, 3 * UNIT)):
                self._read_at(archive, archive.held.at + later)
            self.met["read"] += 1

    def _read_at(self, archive: DerivedModel, at: int) -> None:
        versions = {name: self._versions(name)[made_of.version] for name, made_of in archive.held.made_of.items()}
        truth = Counter(row.values for row in rows_at(archive.form, versions, archive.stones, at))
        stored: Counter[Any] = Counter()
        for (values, until, _, _), many in archive.held.rows.items():
            stored[values] += many if until > at else 0
        if +stored - truth:
            raise Wrong(f"a read at {at} shows {+stored - truth}, which is not so any more")
        if is_equal_between_updates(archive.form) and +stored != truth:
            raise Wrong(f"a read at {at} lacks {truth - stored}")


def _published(values: tuple[Any, ...], until: int, place: int, copy: int) -> Record:
    """Return a row as a record of its slot, with a hash that follows from it."""
    return Record(values, place * UNIT, until, crc32(repr((values, until, place, copy)).encode()))


def _covered(slot: int, record: Record, stones: Sequence[Tombstone]) -> bool:
    return any(stone.covers(slot, record) for stone in stones)


def _shown(rows: Counter[Kept]) -> Counter[tuple[tuple[Any, ...], int, int]]:
    shown: Counter[tuple[tuple[Any, ...], int, int]] = Counter()
    for (values, until, place, _), many in rows.items():
        shown[values, until, place] += many
    return shown


def _mapped(rows: Counter[Kept], change: Any) -> Counter[Kept]:
    found: Counter[Kept] = Counter()
    for row, many in rows.items():
        found[change(row)] += many
    return found


def _without_forgets(held: Held, versions: Versions) -> Held:
    """Believe of batches of the same attempt the newest entry, and that no tombstone is new."""
    made_of = {}
    for name, one in held.made_of.items():
        now = versions[name].entries()
        entries = {
            slot: now[slot] if slot in now and now[slot][0] == entry[0] else entry
            for slot, entry in one.entries.items()
        }
        made_of[name] = replace(one, entries=entries, stones=1 << 30)
    return replace(held, made_of=made_of)


def _replace_slots(cells: Counter[tuple[int, int]], change: Change) -> None:
    """Take the rows that came for all of their slots."""
    touched = {row[2] for row in change.come}
    for cell in [cell for cell in cells if cell[0] in touched]:
        cells[cell] = sum(many for row, many in change.come.items() if (row[2], row[1]) == cell)
