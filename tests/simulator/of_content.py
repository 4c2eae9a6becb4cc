"""What must hold of an archive's content, its ledger and its batch map at each version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.simulator.looking import alive, new_facts, stored
from tests.simulator.world import World, edition_of, part_of
from tests.support.models.model_table import cells_of
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.batches import source_of
from tidewheel.indexing.core.layouts import Strategy
from tidewheel.indexing.core.ledger import part_cells


def content(world: World) -> Iterator[str]:
    """What a reader sees is what the oracle says: nothing lost, nothing doubled, nothing else."""
    seen = Counter(record for record in stored(world, world.version) if alive(world, record))
    if seen != Counter(world.truths[world.version].content):
        missing = Counter(world.truths[world.version].content) - seen
        yield f"lost {list(missing)[:3]}, too many {list(seen - Counter(world.truths[world.version].content))[:3]}"


def placement(world: World) -> Iterator[str]:
    """Every record of a new file lies in its sub-index."""
    state = world.state
    for fact in new_facts(world):
        layout = state.definition.generation(fact.generation).layout
        for record in world.files[fact.path].records if fact.path in world.files else ():
            if (layout.row_of(record.slot), layout.column_of(record.expiration_slot)) != (fact.g, fact.e):
                yield f"{record} in {fact.subindex}"


def bounds(world: World) -> Iterator[str]:
    """What the log says of a file's slots and rows is what the file has."""
    for fact in new_facts(world):
        records = world.files[fact.path].records if fact.path in world.files else ()
        slots, ends = [r.slot for r in records], [r.expiration_slot for r in records]
        if records and (fact.ins_min, fact.ins_max, fact.exp_min, fact.exp_max, fact.rows) != (
            min(slots),
            max(slots),
            min(ends),
            max(ends),
            len(records),
        ):
            yield fact.path


def ledger(world: World) -> Iterator[str]:
    """The ledger's cells are the content's, by count and by hash."""
    if world.state.ledger.cells() != cells_of(world.truths[world.version].content):
        yield f"at version {world.version}"


def counts(world: World) -> Iterator[str]:
    """No record of a batch vanishes without a count."""
    receipt = world.committed[-1][1]
    for one in receipt.slots:
        if not one.balanced or one.rows_in != world.notes[world.version].rows_read[one.key]:
            yield f"slot {one.slot}: {one}"


def overdue(world: World) -> Iterator[str]:
    """No file is wholly expired, and only no_rebuild keeps expired rows beside live ones."""
    for fact in world.state.files:
        keeps = world.state.definition.generation(fact.generation).strategy is Strategy.NO_REBUILD
        if world.state.watermark is not None and (fact.exp_min if not keeps else fact.exp_max) <= world.state.watermark:
            yield fact.path


def forgotten(world: World) -> Iterator[str]:
    """What was forgotten is in no file of the table, alive or dead."""
    for matches, bound in world.oracle.forgotten:
        for record in stored(world, world.version):
            if record.slot <= bound and matches(record):
                yield str(record)


def batches(world: World) -> Iterator[str]:
    """The batch map tells which batch of every recent slot counts, and of no slot another one."""
    told, known = world.state.ledger.batches, world.truths[world.version].counting
    for key, attempt in known.items():
        if key not in told and _is_recent(world, key):
            yield f"{key} of {attempt} is not in the map"
    for key, batch in told.items():
        if batch.attempt != known.get(key) and not (batch.attempt == "" and key in known):
            yield f"{key} is of {known.get(key)}, the map says {batch.attempt}"


def _is_recent(world: World, key: BatchKey) -> bool:
    """A whole slot is told of as long as it may live, a part of a derived archive as long as it is compared."""
    mark, horizon = world.state.watermark, world.state.ledger.horizon
    return mark is None or key[0] > mark - (horizon if key[1] else max(world.definition.span, horizon))


def names(world: World) -> Iterator[str]:
    """Whoever derives compares batches by name: one that was replaced, or met by a forget, has another name."""
    oracle = world.oracle
    for key, batch in world.state.ledger.batches.items():
        records = [record for record in oracle.batches.get(key[0], ()) if not key[1] or part_of(record) == key[1]]
        content = frozenset(
            one for one in records if not any(one.slot <= bound and hit(one) for hit, bound in oracle.forgotten)
        )
        if world.told.setdefault((key, source_of(batch)), content) != content:
            yield f"{key} is {source_of(batch)} as before, and another batch"


def lineages(world: World) -> Iterator[str]:
    """Of a derived archive, the map says what each part that counts was made of, and its cells that are alive."""
    ledger, mark = world.state.ledger, world.state.watermark
    for key, batch in ledger.batches.items():
        records = world.parts.get(key, ())
        editions = {f"edition {edition_of(record)}" for record in records}
        if key[1] and (not batch.lineage or not editions <= set(batch.lineage)):
            yield f"{key} is made of {editions}, the map says {batch.lineage}"
        living = cells_of(record for record in records if mark is None or record.expiration_slot > mark)
        if key[1] and part_cells(ledger, key) != {end: cell for (_, end), cell in living.items()}:
            yield f"the cells of {key} are others"
