"""The receipt of a task: small enough for an XCom and for an asset event, and the archive's metrics beside it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import TimeAxis, iso

if TYPE_CHECKING:
    from tidewheel.archive import Archive

METRICS_VARIABLE = "TIDEWHEEL_METRICS"
_SUMS = ("rows_in", "stored", "short_lived", "dead_on_arrival", "forgotten", "quarantined")
_COUNTED = (
    "files_added", "bytes_added", "files_removed", "bytes_removed", "files_dropped", "bytes_dropped", "rows_read",
    "rows_rewritten", "late_rows",
)  # fmt: skip
_COPIED = ("attempt", "head", *_COUNTED)


def small_receipt(version: int | None, receipt: Receipt, axis: TimeAxis) -> dict[str, Any]:
    """Return the receipt without its cells: the same size for one slot and for a thousand."""
    slots = [one.slot for one in receipt.slots]
    return {
        "operation": receipt.operation.value,
        "version": version,
        "slots": len(slots),
        "from": iso(axis.start_us(min(slots))) if slots else None,
        "to": iso(axis.end_us(max(slots))) if slots else None,
        "watermark": None if receipt.watermark is None else axis.name(receipt.watermark),
        "valid_through": None if receipt.watermark is None else iso(axis.end_us(receipt.watermark)),
        "committed": iso(receipt.committed_us),
        **{name: sum(getattr(one, name) for one in receipt.slots) for name in _SUMS},
        **{name: getattr(receipt, name) for name in _COPIED},
        "lost": sum(one.offsets.lost for one in receipt.slots if one.offsets is not None),
        "timings_ms": dict(receipt.timings_ms),
    }


def receipts_together(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The small receipts of several commits as one: the newest, with the slots, rows, files and bytes of all."""
    return {
        **documents[-1],
        **{name: sum(one[name] for one in documents) for name in (*_SUMS, *_COUNTED, "slots")},
        "from": min(one["from"] for one in documents),
        "to": max(one["to"] for one in documents),
        "timings_ms": dict(sum((Counter(one["timings_ms"]) for one in documents), Counter())),
    }


def write_metrics(archive: Archive, log: Any) -> None:
    """Bring the archive's file in $TIDEWHEEL_METRICS up to date; what was committed does not fail for it."""
    folder = os.environ.get(METRICS_VARIABLE)
    if not folder:
        return
    from tidewheel.storage.metrics import write_metrics_file

    try:
        status = archive.status()
        write_metrics_file(folder, archive.snapshot(), status.slots_missing, archive.gauges(status))
    except Exception as error:
        log.warning("the metrics of this archive could not be written to %s: %s", folder, error)
