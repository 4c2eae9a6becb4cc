"""What must be in the store, and what must not: after commits, after vacuums, and for readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.simulator.looking import look, new_facts, outlived, stored
from tests.simulator.side_tables import IN_MEMORY
from tests.simulator.world import World
from tests.support.models.model_table import cells_of
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.indexing.core.batches import batches_at
from tidewheel.indexing.core.receipts import Deed
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.rules.audit import FileContent, content_findings
from tidewheel.indexing.rules.audit_receipts import ledger_findings, receipt_findings
from tidewheel.storage.floor import FLOORS
from tidewheel.storage.ledger_store import all_receipts, ledger_of


def side_tables(world: World) -> Iterator[str]:
    """Every record that a receipt counts beside the table is there, once, until its retention ends."""
    receipts = dict(world.committed)
    batches = batches_at(receipts, world.version)
    for side in IN_MEMORY:
        there = Counter((one.slot, one.attempt) for one in world.beside[side.name])
        counted = {
            (one.slot, receipt.attempt): side.counted(one) for receipt in receipts.values() for one in receipt.slots
        }
        for slot, attempt in batches.items():
            expected, found = counted[slot, attempt], there[slot, attempt]
            if found != expected and not (found == 0 and _is_past(world, attempt, side)):
                yield f"{side.name}, slot {slot} of {attempt}: {found}, not {expected}"


def _is_past(world: World, attempt: str, side: SideTable) -> bool:
    """Whether a vacuum has seen the attempt's batch older than such records are kept."""
    notes = (world.notes[at] for at, receipt in world.committed if receipt.attempt == attempt)
    ends_us = max(note.stored_us.get(side.name, 0) for note in notes) + side.kept_us(world.definition)
    return any(at_us >= ends_us for _, at_us in world.vacuumed_us)


def named_files(world: World) -> Iterator[str]:
    """Every file that the newest version names is there."""
    for fact in world.state.files:
        if fact.path not in world.files:
            yield fact.path


def brought(world: World) -> Iterator[str]:
    """No commit brings a file that vacuum has deleted meanwhile."""
    for fact in new_facts(world):
        if fact.path not in world.files:
            yield fact.path


def restored(world: World) -> Iterator[str]:
    """What an undo brought back is not deleted by a vacuum that decided before."""
    for fact in world.state.files:
        if fact.path in world.removed and fact.path not in world.files:
            yield fact.path


def deadline(world: World) -> Iterator[str]:
    """After vacuum, what a commit took out is gone, grace after that commit, unless a reader holds it."""
    now_us = world.vacuumed_us[-1][1]
    current = {fact.path for fact in world.state.files}
    held = [claim.version for claim in world.claims if now_us < world.ends_us(claim, at_the_latest=True)]
    oldest = min(held, default=world.version)
    for path in world.files:
        gone = world.removed.get(path)
        if gone and path not in current and gone.at_us <= now_us - world.grace_us and gone.version <= oldest:
            yield path


def orphans(world: World) -> Iterator[str]:
    """After vacuum, what no commit ever named is gone, grace after it was written."""
    since_us = world.vacuumed_us[-1][1] - world.grace_us
    current = {fact.path for fact in world.state.files}
    for path, file in world.files.items():
        if path in world.listed and path not in current and path not in world.removed and file.written_us <= since_us:
            yield path


def log(world: World) -> Iterator[str]:
    """Every version that is within grace can be opened from the log, and its ledger too."""
    for version, state in world.states.items():
        if outlived(world, version):
            continue
        if not world.has_log_of(version):
            yield f"version {version} cannot be opened"
            continue
        try:
            again = ledger_of(look(world, version))
        except Damaged as damaged:
            yield f"the ledger of version {version}: {damaged.message}"
        else:
            if (again.cells(), again.batches) != (state.ledger.cells(), state.ledger.batches):
                yield f"the ledger of version {version} is another one"


def audit(world: World) -> Iterator[str]:
    """The rules of `tidewheel audit` find nothing."""
    state = world.state
    contents = [FileContent(fact, cells_of(world.files[fact.path].records)) for fact in state.files]
    done = [receipt.operation for _, receipt in world.committed if receipt.operation is not Deed.FENCE]
    settled = done[-1] in (Deed.UPDATE, Deed.EXPIRE)
    findings = content_findings(state, contents, (), settled=settled)
    receipts = list(all_receipts(look(world, world.version)))
    findings += receipt_findings(receipts, version=state.version, head=state.head, watermark=state.watermark)
    findings += ledger_findings(state.ledger, receipts, state.definition.span)
    yield from (finding.message for finding in findings)


def pinned_reader(world: World, version: int) -> Iterator[str]:
    """A reader within grace finds every file of its version, and in them what the oracle said then."""
    try:
        records = stored(world, version)
    except Damaged as missing:
        if not outlived(world, version):
            yield f"version {version} of {world.version}: {missing.message} is gone"
        return
    mark = world.states[version].watermark
    seen = Counter(record for record in records if mark is not None and record.expiration_slot > mark)
    if seen != Counter(world.truths[version].content):
        yield f"version {version} reads other records than it did"


def held_readers(world: World) -> Iterator[str]:
    """Whoever holds a version reads it, beyond grace."""
    for claim in world.held:
        if world.holds(claim):
            yield from pinned_reader(world, claim.version)


def only_the_archive(world: World) -> Iterator[str]:
    """When everybody has ended, and time has passed, nothing but the archive is left, and the floor of vacuums."""
    current = {fact.path for fact in world.state.files}
    yield from sorted(world.files.keys() - current)
    yield from sorted(path for path in world.marks if not path.startswith(FLOORS))
