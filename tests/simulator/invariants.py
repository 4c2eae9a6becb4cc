"""What must hold: after every commit, after every whole vacuum, and whenever somebody reads.

Each invariant is a function of the world that yields what is wrong, under the name that faults.py plants a bug for.
They look at the store and at the oracle; none asks the plan, the ledger or the log why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tests.simulator.actors import Actor, Order
from tests.simulator.memory import MemorySnapshot
from tests.simulator.world import World
from tests.support.model_table import cells_of
from tidewheel.indexing.core.batches import batches_at
from tidewheel.indexing.core.layouts import Strategy
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Operation
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.rules.audit import FileContent, content_findings, ledger_findings, receipt_findings
from tidewheel.storage.ledger_store import all_receipts, ledger_of

Check = Callable[[World], Iterator[str]]
REPORTS_LOOKED_AT = 6


class Violation(AssertionError):
    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant


def content(world: World) -> Iterator[str]:
    """What a reader sees is what the oracle says: nothing lost, nothing doubled, nothing else."""
    seen = Counter(record for record in stored(world, world.version) if _alive(world, record))
    if seen != Counter(world.truths[world.version].content):
        missing = Counter(world.truths[world.version].content) - seen
        yield f"lost {list(missing)[:3]}, too many {list(seen - Counter(world.truths[world.version].content))[:3]}"


def placement(world: World) -> Iterator[str]:
    """Every record of a new file lies in its sub-index."""
    state = world.state
    for fact in _new_facts(world):
        layout = state.definition.generation(fact.generation).layout
        for record in world.files[fact.path].records if fact.path in world.files else ():
            if (layout.row_of(record.slot), layout.column_of(record.expiration_slot)) != (fact.g, fact.e):
                yield f"{record} in {fact.subindex}"


def bounds(world: World) -> Iterator[str]:
    """What the log says of a file's slots and rows is what the file has."""
    for fact in _new_facts(world):
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
        if not one.balanced or one.rows_in != world.notes[world.version].rows_read[one.slot]:
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


def superseded(world: World) -> Iterator[str]:
    """A batch that somebody replaced meanwhile never overwrites the newer one."""
    version, receipt = world.committed[-1]
    for at, other in world.committed[:-1]:
        if world.notes[version].started_version < at < version and other.attempt != receipt.attempt:
            for slot in {one.slot for one in receipt.slots}:
                by_update = other.operation is Operation.UPDATE and slot in {one.slot for one in other.slots}
                if by_update or (other.operation is Operation.UNDO and _slot_changed(world, at, slot)):
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
    if before and before.watermark is not None and receipt.operation is not Operation.UNDO:
        now = world.state.watermark
        if now is None or now < before.watermark:
            yield f"went from {before.watermark} to {now}"


def quarantine(world: World) -> Iterator[str]:
    """Every quarantined record that a receipt counts is beside the table, once, until its retention ends."""
    there = Counter((one.slot, one.attempt) for one in world.quarantine)
    receipts = dict(world.committed)
    counted = {(one.slot, receipt.attempt): one.quarantined for receipt in receipts.values() for one in receipt.slots}
    for slot, attempt in batches_at(receipts, world.version).items():
        expected, found = counted[slot, attempt], there[slot, attempt]
        if found != expected and not (found == 0 and _past_retention(world, attempt)):
            yield f"slot {slot} of {attempt}: {found}, not {expected}"


def named_files(world: World) -> Iterator[str]:
    """Every file that the newest version names is there."""
    for fact in world.state.files:
        if fact.path not in world.files:
            yield fact.path


def brought(world: World) -> Iterator[str]:
    """No commit brings a file that vacuum has deleted meanwhile."""
    for fact in _new_facts(world):
        if fact.path not in world.files:
            yield fact.path


def restored(world: World) -> Iterator[str]:
    """What an undo brought back is not deleted by a vacuum that decided before."""
    for fact in world.state.files:
        if fact.path in world.removed_us and fact.path not in world.files:
            yield fact.path


def deadline(world: World) -> Iterator[str]:
    """After vacuum, what a commit took out is gone, grace after that commit."""
    since_us = world.vacuumed_us[-1][1] - world.grace_us
    current = {fact.path for fact in world.state.files}
    for path in world.files:
        if path not in current and path in world.removed_us and world.removed_us[path] <= since_us:
            yield path


def orphans(world: World) -> Iterator[str]:
    """After vacuum, what no commit ever named is gone, grace after it was written."""
    since_us = world.vacuumed_us[-1][1] - world.grace_us
    current = {fact.path for fact in world.state.files}
    for path, file in world.files.items():
        if (
            path in world.listed
            and path not in current
            and path not in world.removed_us
            and file.written_us <= since_us
        ):
            yield path


def log(world: World) -> Iterator[str]:
    """Every version that is within grace can be opened from the log, and its ledger too."""
    for version, state in world.states.items():
        if _outlived(world, version):
            continue
        if not world.has_log_of(version):
            yield f"version {version} cannot be opened"
            continue
        try:
            again = ledger_of(look(world, version))
        except Damaged as damaged:
            yield f"the ledger of version {version}: {damaged.message}"
        else:
            if again.cells() != state.ledger.cells():
                yield f"the ledger of version {version} is another one"


def audit(world: World) -> Iterator[str]:
    """The rules of `tidewheel audit` find nothing."""
    state = world.state
    contents = [FileContent(fact, cells_of(world.files[fact.path].records)) for fact in state.files]
    done = [receipt.operation for _, receipt in world.committed if receipt.operation is not Operation.FENCE]
    settled = done[-1] in (Operation.UPDATE, Operation.EXPIRE)
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
        if not _outlived(world, version):
            yield f"version {version} of {world.version}: {missing.message} is gone"
        return
    mark = world.states[version].watermark
    seen = Counter(record for record in records if mark is not None and record.expiration_slot > mark)
    if seen != Counter(world.truths[version].content):
        yield f"version {version} reads other records than it did"


AFTER_COMMIT: dict[str, Check] = {
    "named files": named_files,
    "brought": brought,
    "restored": restored,
    "landed": landed,
    "once": once,
    "superseded": superseded,
    "watermark": watermark,
    "counts": counts,
    "quarantine": quarantine,
    "bounds": bounds,
    "placement": placement,
    "forgotten": forgotten,
    "overdue": overdue,
    "content": content,
    "ledger": ledger,
}
AFTER_VACUUM: dict[str, Check] = {
    "named files": named_files,
    "restored": restored,
    "deadline": deadline,
    "orphans": orphans,
    "log": log,
    "quarantine": quarantine,
    "audit": audit,
}


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


def _alive(world: World, record: Record) -> bool:
    return world.state.watermark is not None and record.expiration_slot > world.state.watermark


def _new_facts(world: World) -> list[FileFact]:
    before = world.states.get(world.version - 1)
    known = {fact.path for fact in before.files} if before else set()
    return [fact for fact in world.state.files if fact.path not in known]


def _slot_changed(world: World, version: int, slot: int) -> bool:
    now, then = world.truths[version], world.truths[version - 1]
    return now.batches.get(slot) != then.batches.get(slot) and (
        {r for r in now.content if r.slot == slot} != {r for r in then.content if r.slot == slot}
    )


def _past_retention(world: World, attempt: str) -> bool:
    """Whether a vacuum has seen the attempt's batch older than the quarantine's retention."""
    stored_us = max(world.notes[at].stored_us for at, receipt in world.committed if receipt.attempt == attempt)
    retention_us = world.definition.retention.quarantine_us
    return any(at_us >= stored_us + retention_us for _, at_us in world.vacuumed_us)


def _outlived(world: World, version: int) -> bool:
    """Whether a vacuum came by that saw the version replaced for longer than grace."""
    if version == world.version:
        return False
    replaced_us = world.committed[version + 1][1].committed_us
    return any(newest > version and at_us >= replaced_us + world.grace_us for newest, at_us in world.vacuumed_us)
