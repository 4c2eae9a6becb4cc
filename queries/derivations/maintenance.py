"""How a derived archive follows its sources: what leaves and what comes, by one of two rules that give the same.

    whole    the statement over all; only rows that differ are written. Right for every form
    parts    σ π ⋈ ∪all: each row keeps the slots of its parts. Rows with a part in a changed batch leave; joins of
             changed batches with the rest come: for source i the unchanged batches of those before it, and all
             batches of those after it

A batch changed if its entry did: the attempt that brought it, or the number of forgets that took something alive from
it. Where τ goes back, because a source was undone, the update is whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidewheel.queries.derivations.form_rows import Part, Row
from tidewheel.queries.derivations.forms import (
    Form,
    Join,
    Map,
    Source,
    UnionAll,
    Where,
    forms_of,
    sources_of,
)
from tidewheel.queries.derivations.judge import carried_out_to, rows_at
from tidewheel.queries.derivations.records import Tombstone, Version
from tidewheel.queries.derivations.windows import Seen

Kept = tuple[tuple[Any, ...], int, int, tuple[Part, ...]]  # values, end, slot, parts
Tombstones = Mapping[str, Sequence[Tombstone]]  # by source, in the order in which they came


@dataclass(frozen=True)
class MadeOf:
    """The state of one source that an update read: version, batch entries, and the number of known tombstones."""

    version: int
    entries: Mapping[int, tuple[int, int]]
    stones: int = 0


UNREAD = MadeOf(-1, {})


@dataclass(frozen=True)
class Change:
    """Rows that leave and rows that come, and up to when expiry is carried out then."""

    leave: Counter[Kept]
    come: Counter[Kept]
    at: int
    rule: str

    def cells(self) -> dict[tuple[int, int], int]:
        """Return the signed number of rows by slot and end: receipts tell these, so that no slot is replaced."""
        cells: Counter[tuple[int, int]] = Counter()
        for (_, until, place, _), many in self.come.items():
            cells[place, until] += many
        for (_, until, place, _), many in self.leave.items():
            cells[place, until] -= many
        return {cell: many for cell, many in cells.items() if many}


@dataclass(frozen=True)
class Held:
    """A derived archive as it is stored."""

    rows: Counter[Kept] = field(default_factory=Counter)
    made_of: Mapping[str, MadeOf] = field(default_factory=dict)
    at: int = -1

    def after(self, change: Change, versions: Mapping[str, Version], tombstones: Tombstones) -> Held:
        made_of = {
            name: MadeOf(version.number, version.entries(), len(tombstones.get(name, ())))
            for name, version in versions.items()
        }
        return Held(self.rows - change.leave + change.come, made_of, change.at)


def kept(row: Row) -> Kept:
    return row.values, row.until, row.place, tuple(sorted(row.parts))


def keeps_parts(form: Form) -> bool:
    """Tell whether the rule by parts is right for a statement."""
    return all(isinstance(one, Source | Where | Map | Join | UnionAll) for one in forms_of(form)) and not any(
        source.window.is_strict for source in sources_of(form)
    )


def whole(form: Form, held: Held, versions: Mapping[str, Version], tombstones: Tombstones) -> Change:
    at = carried_out_to(versions)
    wanted = Counter(kept(row) for row in rows_at(form, versions, tombstones, at))
    return Change(held.rows - wanted, wanted - held.rows, at, "whole")


def changed_slots(read: MadeOf, version: Version, tombstones: Sequence[Tombstone]) -> set[int]:
    """Return the slots of a source whose batches are not those that were read.

    A version from before a forget still has the records, and entries that do not tell of it: there the new tombstones
    are asked.
    """
    now = version.entries()
    new = tombstones[read.stones :]
    return {slot for slot in {*read.entries, *now} if read.entries.get(slot) != now.get(slot)} | {
        slot
        for slot, batch in version.batches.items()
        if any(stone.covers(slot, record) for record in batch.records for stone in new)
    }


def by_parts(form: Form, held: Held, versions: Mapping[str, Version], tombstones: Tombstones) -> Change:
    """Bring a statement that keeps parts up to date, from its changed batches alone."""
    at = carried_out_to(versions)
    if at < held.at:
        return whole(form, held, versions, tombstones)
    changed = {}
    for name, version in versions.items():
        slots = changed_slots(held.made_of.get(name, UNREAD), version, tombstones.get(name, ()))
        changed[name] = {version.axis.place(slot) for slot in slots}
    stale = {(source.alias, place) for source in sources_of(form) for place in changed[source.name]}
    leave = Counter({row: many for row, many in held.rows.items() if row[1] <= at or not stale.isdisjoint(row[3])})
    come: Counter[Kept] = Counter()
    for number in range(len(sources_of(form))):
        come += _term(form, number, changed, versions, tombstones, at)
    return Change(leave - come, come - leave, at, "parts")


def _term(
    form: Form,
    number: int,
    changed: Mapping[str, Collection[int]],
    versions: Mapping[str, Version],
    tombstones: Tombstones,
    at: int,
) -> Counter[Kept]:
    """Join the changed batches of one source with the unchanged ones of those before it and all of those after it."""
    order = [source.alias for source in sources_of(form)]
    alias = order[number]

    def seen(source: Source) -> list[Seen]:
        version = versions[source.name]
        alive = list(version.alive(at, tombstones.get(source.name, ())))
        rows = source.window.seen(alive, version.axis, at)
        if source.alias == alias:
            return [one for one in rows if one.place in changed[source.name]]
        if order.index(source.alias) < number:
            return [one for one in rows if one.place not in changed[source.name]]
        return rows

    rows = form.rows(seen, at)
    return Counter(kept(row) for row in rows if row.until > at and any(part[0] == alias for part in row.parts))
