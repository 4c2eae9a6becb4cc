"""What must hold of commits: who was told what, who may overwrite whom, who goes first."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulator.looking import slot_changed
from tests.simulator.world import World
from tidewheel.indexing.core.receipts import Deed

REPORTS_LOOKED_AT = 6


def superseded(world: World) -> Iterator[str]:
    """A batch that somebody replaced meanwhile never overwrites the newer one.

    In a derived archive it may: the next refresh compares what it was made of, and makes it again.
    """
    version, receipt = world.committed[-1]
    if world.definition.derived:
        return
    for at, other in world.committed[:-1]:
        if world.notes[version].started_version < at < version and other.attempt != receipt.attempt:
            for slot in {one.slot for one in receipt.slots}:
                by_update = other.operation is Deed.UPDATE and slot in {one.slot for one in other.slots}
                if by_update or (other.operation is Deed.UNDO and slot_changed(world, at, slot)):
                    yield f"slot {slot}: {receipt.attempt} over {other.attempt}"


def landed(world: World) -> Iterator[str]:
    """Whoever was told that it is done finds its receipt in the log, where it was told."""
    for version, attempt in world.reported[-REPORTS_LOOKED_AT:]:
        entry = world.entries.get(version)
        if entry is not None and entry.receipt.attempt != attempt:
            yield f"{attempt} at version {version} is gone, {entry.receipt.attempt} is there"


def once(world: World) -> Iterator[str]:
    """An attempt commits once."""
    attempt = world.committed[-1][1].attempt
    if sum(1 for _, receipt in world.committed if receipt.attempt == attempt) > 1:
        yield attempt


def watermark(world: World) -> Iterator[str]:
    """The watermark is the oracle's, and only an undo moves it back."""
    before, receipt = world.states.get(world.version - 1), world.committed[-1][1]
    if world.state.watermark != world.truths[world.version].watermark:
        yield f"{world.state.watermark}, not {world.truths[world.version].watermark}"
    if before and before.watermark is not None and receipt.operation is not Deed.UNDO:
        now = world.state.watermark
        if now is None or now < before.watermark:
            yield f"went from {before.watermark} to {now}"


def queue(world: World) -> Iterator[str]:
    """Nobody goes before a writer that waits already and renews its ticket, unless it has waited its time."""
    yield from world.overtakings
