"""An archive's metrics in Prometheus' text format: one file per archive in a folder, for a textfile collector.

Counters add up every receipt of the archive's log, each once: the file says through which version it has counted, and
what came later is added. So it does not matter who writes it or how often, and a lost file is counted anew from the
ledger. Gauges are read from the version itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import MICROS_PER_SECOND
from tidewheel.indexing.core.state import TableState
from tidewheel.storage.ledger_store import all_receipts, receipts_after, state_of
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot

_FATES = ("stored", "short_lived", "dead_on_arrival", "forgotten", "quarantined")
_CHANGES = ("added", "removed", "dropped")
_COUNTED_THROUGH = "tidewheel_version"


@dataclass(frozen=True)
class Family:
    """A metric's name and what it means."""

    name: str
    kind: str
    help: str


GAUGES = (
    Family(_COUNTED_THROUGH, "gauge", "Newest version of the table."),
    Family("tidewheel_watermark_timestamp_seconds", "gauge", "Moment through which expiry was carried out."),
    Family("tidewheel_applied_timestamp_seconds", "gauge", "End of the newest slot that was applied."),
    Family("tidewheel_committed_timestamp_seconds", "gauge", "Moment of the newest commit."),
    Family("tidewheel_missing_slots", "gauge", "Slots that should have been applied by now and were not."),
    Family("tidewheel_live_rows", "gauge", "Records that are alive at the watermark."),
    Family("tidewheel_stored_files", "gauge", "Data files of the newest version."),
    Family("tidewheel_stored_bytes", "gauge", "Bytes of these files."),
)
COUNTERS = (
    Family("tidewheel_commits_total", "counter", "Commits by operation."),
    Family("tidewheel_rows_total", "counter", "Records that batches brought, by what became of them."),
    Family("tidewheel_rows_rewritten_total", "counter", "Stored records that were written again."),
    Family(
        "tidewheel_files_total", "counter", "Data files that commits added, removed, or removed without reading them."
    ),
    Family("tidewheel_bytes_total", "counter", "Bytes of these files."),
    Family("tidewheel_work_seconds_total", "counter", "Time before the commits, by step."),
)
Samples = Mapping[tuple[str, str], float]  # by sample name and labels, without the archive's


def write_metrics_file(folder: str | Path, snapshot: Snapshot, missing: int) -> Path:
    """Bring the archive's file up to the snapshot's version. Cost: the receipts since the file was written.

    How many slots are missing is for the schedule to say.
    """
    name = snapshot.definition.name
    location = Location.of(folder)
    path = Path(location.uri) / f"tidewheel_{name}.prom"
    known = _read(path)
    through = int(known.get((_COUNTED_THROUGH, ""), -1))
    if through < 0 or through > snapshot.version:
        receipts = list(all_receipts(snapshot))
        known = {}
    else:
        receipts = receipts_after(snapshot, through)
    counters = _added_up(known, (receipt for _, receipt in receipts))
    committed = max((receipt.committed_us for _, receipt in receipts), default=None)
    gauges = _gauges(state_of(snapshot), missing, committed, known)
    location.write_bytes(str(path), metrics_text(name, {**gauges, **counters}).encode())
    return path


def metrics_text(archive: str, samples: Samples) -> str:
    """The samples as text; a family's name is that of its samples, unlike in OpenMetrics."""
    lines = []
    for family in (*GAUGES, *COUNTERS):
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
        for (name, labels), value in sorted(samples.items()):
            if name == family.name:
                said = f'archive="{archive}"' + (f",{labels}" if labels else "")
                lines.append(f"{name}{{{said}}} {value:.15g}")
    return "\n".join([*lines, ""])


def _gauges(state: TableState, missing: int, committed_us: int | None, known: Samples) -> dict[tuple[str, str], float]:
    axis, watermark = state.definition.axis, state.watermark
    gauges: dict[str, float] = {
        _COUNTED_THROUGH: state.version,
        "tidewheel_live_rows": sum(cell.rows for cell in state.ledger.cells().values()),
        "tidewheel_stored_files": len(state.files),
        "tidewheel_stored_bytes": sum(file.bytes for file in state.files),
        "tidewheel_missing_slots": missing,
    }
    if watermark is not None:
        gauges["tidewheel_watermark_timestamp_seconds"] = axis.end_us(watermark) / MICROS_PER_SECOND
    if state.ledger.applied:
        newest = max(last for _, last in state.ledger.applied)
        gauges["tidewheel_applied_timestamp_seconds"] = axis.end_us(newest) / MICROS_PER_SECOND
    committed = ("tidewheel_committed_timestamp_seconds", "")
    if committed_us is not None:
        gauges[committed[0]] = committed_us / MICROS_PER_SECOND
    elif committed in known:
        gauges[committed[0]] = known[committed]
    return {(name, ""): value for name, value in gauges.items()}


def _added_up(known: Samples, receipts: Iterable[Receipt]) -> dict[tuple[str, str], float]:
    counters = defaultdict(float, {key: value for key, value in known.items() if key[0].endswith("_total")})
    for receipt in receipts:
        for key, value in _counted(receipt):
            counters[key] += value
    return counters


def _counted(receipt: Receipt) -> Iterable[tuple[tuple[str, str], float]]:
    yield ("tidewheel_commits_total", f'operation="{receipt.operation.value}"'), 1
    for fate in _FATES:
        yield ("tidewheel_rows_total", f'fate="{fate}"'), sum(getattr(one, fate) for one in receipt.slots)
    yield ("tidewheel_rows_rewritten_total", ""), receipt.rows_rewritten
    for change in _CHANGES:
        yield ("tidewheel_files_total", f'change="{change}"'), getattr(receipt, f"files_{change}")
        yield ("tidewheel_bytes_total", f'change="{change}"'), getattr(receipt, f"bytes_{change}")
    for step, spent_ms in receipt.timings_ms.items():
        yield ("tidewheel_work_seconds_total", f'step="{step}"'), spent_ms / 1000


_SAMPLE = re.compile(r'([a-z_]+)\{archive="[^"]*"(?:,(.*))?\} (\S+)')


def _read(path: Path) -> dict[tuple[str, str], float]:
    """The samples of a file that was written here; none if there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    matches = (_SAMPLE.fullmatch(line) for line in lines if not line.startswith("#"))
    return {(match[1], match[2] or ""): float(match[3]) for match in matches if match}
