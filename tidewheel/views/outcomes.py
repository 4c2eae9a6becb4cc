"""The views of operations, done or planned: receipts and plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidewheel.indexing.core.plan import FileChange, Plan
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.printable import counted
from tidewheel.views.definitions import generation_text
from tidewheel.views.figures import count, seconds, short_iso, size, slot_name, slots_name, through_name
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    from tidewheel.commits.attempt import Outcome
    from tidewheel.commits.operations.forget import Forgotten
    from tidewheel.commits.operations.undo import Undone

_SLOTS_SHOWN = 12


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """For machines: the receipt of what was done, or the plan of what was not."""
    swept = {"quarantined_forgotten": outcome.quarantined_forgotten} if outcome.quarantined_forgotten else {}
    if outcome.receipt is None:
        return {"version": None, "plan": outcome.plan.to_json(), **swept}
    return {"version": outcome.version, "tries": outcome.tries, "receipt": outcome.receipt.to_json(), **swept}


def forgotten_document(forgotten: Forgotten) -> dict[str, Any]:
    """For machines: a forget, with how many records it found, alive or dead."""
    return {**outcome_document(forgotten), "rows_found": forgotten.rows_found}


def outcome_view(outcome: Outcome, axis: TimeAxis) -> RenderableType:
    if outcome.receipt is None:
        return plan_view(outcome.plan, axis)
    return receipt_view(outcome.version, outcome.receipt, axis)


def forgotten_view(outcome: Outcome, axis: TimeAxis, *, dry_run: bool) -> RenderableType:
    """The same of a forget, with what it took from beside the archive, which no receipt counts."""
    swept = f"{counted(outcome.quarantined_forgotten, 'record')} beside the archive (quarantined, or not stored)"
    if not outcome.quarantined_forgotten:
        return outcome_view(outcome, axis)
    if dry_run:
        return Group(outcome_view(outcome, axis), f"{swept} would be forgotten as well")
    shown = "nothing that is stored matched" if outcome.receipt is None else outcome_view(outcome, axis)
    return Group(shown, f"{swept} forgotten as well")


def undone_view(undone: Undone, axis: TimeAxis) -> RenderableType:
    """An undo: what comes back, and the receipt or the plan of it."""
    back = sum(file.bytes for file in undone.restored)
    files = counted(len(undone.restored), "file")
    would = "would come" if undone.receipt is None else "came"
    return Group(
        f"back to version {undone.to_version}: {files} of {size(back)} {would} back", outcome_view(undone, axis)
    )


def receipt_view(version: int | None, receipt: Receipt, axis: TimeAxis) -> RenderableType:
    """A receipt, whole."""
    slots = tuple(one.slot for one in receipt.slots)
    title = Text.assemble(
        (f"{receipt.operation.value}", "bold"),
        f" of {slots_name(axis, slots)}" if slots else "",
        f": version {version}, applied through {through_name(axis, receipt.watermark)}",
    )
    parts: list[RenderableType] = [title]
    if receipt.slots:
        parts += ["", _slots_table(receipt.slots, axis)]
    if topic := _topic_text(receipt):
        parts.append(topic)
    if receipt.forgotten:
        rows = sum(cell.rows for _, cells in receipt.forgotten for cell in cells.values())
        kept_out = counted(len(receipt.tombstones), "tombstone")
        parts.append(f"{counted(rows, 'record')} forgotten; {kept_out} against their return")
    if receipt.files_added or receipt.files_removed:
        parts += ["", _files_table(receipt), ""]
    if receipt.note:
        parts.append(receipt.note)
    parts.append(f"{counted(len(receipt.subindices_touched), 'sub-index', 'sub-indices')} touched, {_timings(receipt)}")
    return Group(*parts)


def plan_view(plan: Plan, axis: TimeAxis) -> RenderableType:
    """A plan, with the reasons; nothing of it has been done."""
    slots = f", {slots_name(axis, plan.slots)}" if plan.slots else ""
    before, after = through_name(axis, plan.watermark_before), through_name(axis, plan.watermark)
    moves = f"applied through {before}, as it is" if before == after else f"applied through {before} -> {after}"
    title = Text.assemble((f"plan of {plan.operation.value}", "bold"), f"{slots}: nothing was changed\n{moves}")
    if plan.operation is Deed.MIGRATE:
        title.append(f"\nlayout {plan.generation.number} takes new batches: {generation_text(plan.generation)}")
    if not plan.dropped and not plan.rewritten:
        return Group(title, "no file that is stored would change")
    table = plain_table("sub-index", "files", "rows", "bytes", "what", "why", left=(0, 4, 5))
    for what, changes in (("drop unread", plan.dropped), ("rewrite", plan.rewritten)):
        for (subindex, reason), files in _grouped(changes).items():
            rows, total = sum(one.file.rows for one in files), sum(one.file.bytes for one in files)
            table.add_row(_subindex(subindex), count(len(files)), count(rows), size(total), what, reason)
    return Group(title, table)


def backfill_view(outcomes: Sequence[Outcome], axis: TimeAxis) -> RenderableType:
    """One line for each commit."""
    if not outcomes:
        return "nothing is missing"
    table = plain_table("version", "slots", "in", "stored", "set aside", "added", "rewritten", left=(1,))
    for outcome in outcomes:
        receipt = outcome.receipt
        if receipt is not None:
            table.add_row(
                str(outcome.version),
                slots_name(axis, outcome.plan.slots),
                count(sum(one.rows_in for one in receipt.slots)),
                count(sum(one.stored for one in receipt.slots)),
                count(sum(one.quarantined for one in receipt.slots)),
                size(receipt.bytes_added),
                f"{count(receipt.rows_rewritten)} rows",
            )
    return table


def history_view(receipts: Iterable[tuple[int, Receipt]], axis: TimeAxis) -> RenderableType:
    """One line for each version."""
    table = plain_table("version", "committed", "what", "stored", "files", "bytes", "attempt", left=(1, 2, 6))
    for version, receipt in receipts:
        table.add_row(
            str(version),
            short_iso(receipt.committed_us - receipt.committed_us % 60_000_000),
            deed_text(receipt, axis),
            count(sum(one.stored for one in receipt.slots)) if receipt.slots else "",
            f"+{receipt.files_added} -{receipt.files_removed}",
            f"+{size(receipt.bytes_added)} -{size(receipt.bytes_removed)}",
            receipt.attempt,
        )
    return table


def deed_text(receipt: Receipt, axis: TimeAxis) -> str:
    """Describe a version in a few words."""
    name, slots = receipt.operation.value, sorted({one.slot for one in receipt.slots})
    if len(slots) > 1:
        return f"{name} of {len(slots)} slots from {slot_name(axis, slots[0])}"
    if slots:
        return f"{name} of {slot_name(axis, slots[0])}"
    if receipt.operation is Deed.EXPIRE:
        return f"{name} through {slot_name(axis, receipt.watermark)}"
    return f"{name} to layout {receipt.generation}" if receipt.operation is Deed.MIGRATE else name


def _slots_table(slots: Sequence[SlotReceipt], axis: TimeAxis) -> Table:
    table = plain_table("slot", "in", "stored", "short-lived", "dead on arrival", "forgotten", "quarantined", left=(0,))
    shown = slots if len(slots) <= _SLOTS_SHOWN else slots[: _SLOTS_SHOWN - 2]
    for one in shown:
        table.add_row(slot_name(axis, one.slot), *map(count, _fates(one)))
    if len(shown) < len(slots):
        rest = [sum(column) for column in zip(*(_fates(one) for one in slots[len(shown) :]), strict=True)]
        table.add_row(f"and {len(slots) - len(shown)} more", *map(count, rest))
    if len(slots) > 1:
        total = [sum(column) for column in zip(*(_fates(one) for one in slots), strict=True)]
        table.add_row("together", *map(count, total), style="bold")
    return table


def _topic_text(receipt: Receipt) -> Text | None:
    """Describe what was read of a topic; late and lost messages stand out."""
    read = [one.offsets for one in receipt.slots if one.offsets is not None]
    if not read:
        return None
    offsets = sum(end - first for one in read for first, end in one.ranges.values())
    numbers = {number for one in read for number in one.ranges}
    text = Text(
        f"read from topic {read[0].topic}: {counted(offsets, 'offset')} of {counted(len(numbers), 'partition')}"
    )
    if receipt.late_rows:
        text.append(f"; {count(receipt.late_rows)} stored that came late")
    if lost := sum(one.lost for one in read):
        text.append(f"; {count(lost)} lost", style="bold red")
    return text


def _fates(one: SlotReceipt) -> tuple[int, ...]:
    return (one.rows_in, one.stored, one.short_lived, one.dead_on_arrival, one.forgotten, one.quarantined)


def _files_table(receipt: Receipt) -> Table:
    table = plain_table("files", "number", "bytes", "rows", left=(0,))
    rewritten = receipt.files_removed - receipt.files_dropped
    table.add_row("added", count(receipt.files_added), size(receipt.bytes_added), "")
    table.add_row("dropped unread", count(receipt.files_dropped), size(receipt.bytes_dropped), "")
    bytes_rewritten = receipt.bytes_removed - receipt.bytes_dropped
    table.add_row("rewritten", count(rewritten), size(bytes_rewritten), count(receipt.rows_rewritten))
    return table


def _timings(receipt: Receipt) -> str:
    """The whole time, and where it went."""
    steps = ", ".join(f"{name.replace('_', ' ')} {ms} ms" for name, ms in receipt.timings_ms.items() if ms)
    total = seconds(sum(receipt.timings_ms.values()) / 1000)
    return f"{total} before the commit ({steps})" if steps else total


def _grouped(changes: Iterable[FileChange]) -> dict[tuple[tuple[int, int, int], str], list[FileChange]]:
    groups: dict[tuple[tuple[int, int, int], str], list[FileChange]] = {}
    for change in changes:
        groups.setdefault((change.file.subindex, change.reason), []).append(change)
    return dict(sorted(groups.items()))


def _subindex(subindex: tuple[int, int, int]) -> str:
    generation, g, e = subindex
    return f"g{g} e{e}" if generation == 0 else f"layout {generation} g{g} e{e}"
