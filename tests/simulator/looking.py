"""What invariants look at: a version as somebody finds it, its records, what is new in it, how long it was needed."""

from __future__ import annotations

from tests.simulator.actors import Actor, Order
from tests.simulator.memory import MemorySnapshot
from tests.simulator.world import World
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged


def look(world: World, version: int) -> MemorySnapshot:
    """A version as somebody finds it who only looks."""
    return MemorySnapshot(Actor(world, Order("look")), version)


def stored(world: World, version: int) -> list[Record]:
    """Every record in the files of a version."""
    records: list[Record] = []
    for fact in world.states[version].files:
        if fact.path not in world.files:
            raise Damaged(f"{fact.path}")
        records += world.files[fact.path].records
    return records


def alive(world: World, record: Record) -> bool:
    return world.state.watermark is not None and record.expiration_slot > world.state.watermark


def new_facts(world: World) -> list[FileFact]:
    before = world.states.get(world.version - 1)
    known = {fact.path for fact in before.files} if before else set()
    return [fact for fact in world.state.files if fact.path not in known]


def slot_changed(world: World, version: int, slot: int) -> bool:
    now, then = world.truths[version], world.truths[version - 1]
    return now.batches.get(slot) != then.batches.get(slot) and (
        {r for r in now.content if r.slot == slot} != {r for r in then.content if r.slot == slot}
    )


def outlived(world: World, version: int) -> bool:
    """Whether a vacuum came by that saw the version replaced for longer than grace."""
    if version == world.version or any(claim.version == version and world.holds(claim) for claim in world.held):
        return False
    replaced_us = world.changed_us[version + 1]
    return any(newest > version and at_us >= replaced_us + world.grace_us for newest, at_us in world.vacuumed_us)
