"""Audit rules for receipts: every version has one, heads count up by one, and every receipt balances.

The watermark is the receipts', and the ledger is their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidewheel.indexing.core.folding import fold_all
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.slots import ranges_of
from tidewheel.indexing.rules.findings import Finding, Flaw


def receipt_findings(
    receipts: Sequence[tuple[int, Receipt]], *, version: int, head: int, watermark: int | None
) -> list[Finding]:
    """Yield the faults of rule 5: the chain of receipts has no gap from the first version to this one."""
    findings = []
    there = {at for at, _ in receipts}
    for first, last in ranges_of(at for at in range(version + 1) if at not in there):
        named = f"version {first}" if first == last else f"versions {first} to {last}"
        findings.append(
            Finding(Flaw.FOREIGN, f"no receipt of {named}: something else committed it, or it was lost", found=named)
        )
    before: Receipt | None = None
    for at, receipt in receipts:
        findings += [Finding(Flaw.DAMAGED_LEDGER, f"version {at}: {fault}") for fault in _faults(before, receipt)]
        before = receipt
    if before is not None and before.head != head:
        message = f"the table's head is {head}, that of its last receipt {before.head}"
        findings.append(Finding(Flaw.DAMAGED_LEDGER, message, expected=before.head, found=head))
    if before is not None and before.watermark != watermark:
        message = f"the table's watermark is slot {watermark}, that of its last receipt {before.watermark}"
        findings.append(Finding(Flaw.DAMAGED_LEDGER, message, expected=before.watermark, found=watermark))
    return findings


def ledger_findings(ledger: Ledger, receipts: Iterable[tuple[int, Receipt]], span: int) -> list[Finding]:
    """Yield the differences between the ledger and the sum of its receipts."""
    again = fold_all(Ledger(), receipts, span)
    pairs = {
        "watermark": (again.watermark, ledger.watermark),
        "applied slots": (again.applied, ledger.applied),
        "records": (dict(again.records), dict(ledger.records)),
        "tombstones": (set(again.tombstones), set(ledger.tombstones)),
    }
    return [
        Finding(Flaw.DAMAGED_LEDGER, f"the ledger's {name} are not what its receipts add up to")
        for name, (folded, stored) in pairs.items()
        if folded != stored
    ]


def _faults(before: Receipt | None, receipt: Receipt) -> Iterator[str]:
    for one in receipt.slots:
        if not one.balanced:
            yield f"the counts of slot {one.slot} do not add up"
    if receipt.slots and receipt.watermark is not None and receipt.watermark < max(s.slot for s in receipt.slots):
        yield f"the watermark {receipt.watermark} is behind the batch that was committed with it"
    if before is None:
        if receipt.operation is not Deed.INIT:
            yield f"the first receipt is of {receipt.operation.value}, not of init"
    else:
        yield from _faults_between(before, receipt)


def _faults_between(before: Receipt, receipt: Receipt) -> Iterator[str]:
    if receipt.head != before.head + 1:
        yield f"head {receipt.head} follows head {before.head}"
    if before.watermark is None or receipt.operation is Deed.UNDO:
        return
    if receipt.watermark is None or receipt.watermark < before.watermark:
        yield f"the watermark went back from {before.watermark} to {receipt.watermark}"
