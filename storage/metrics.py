"""An archive's metrics in Prometheus' text format: one file per archive in a folder, for a textfile collector.

Counters add up every receipt of the archive's log, each once. The file says through which version it has counted, and
later receipts are added. So it does not matter who writes it or how often, and a lost file is counted again from the
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
from tidewheel.indexing.rules.health import LOOKED_AT as WORDS
from tidewheel.indexing.rules.status import Status
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
    Family("tidewheel_dead_rows", "gauge", "Records in these files that are not alive any more."),
    Family("tidewheel_dead_bytes", "gauge", "Their share of the bytes."),
    Family("tidewheel_awaiting_files", "gauge", "Files that left the archive and wait for vacuum."),
    Family("tidewheel_awaiting_bytes", "gauge", "Bytes of these files."),
    Family("tidewheel_watermark_lag_seconds", "gauge", "How far expiry is behind the present."),
    Family("tidewheel_batch_age_max_seconds", "gauge", "How old the newest batch may get before the archive is late."),
    Family("tidewheel_health", "gauge", "1 for the word that says how the archive is, 0 for the others."),
    Family("tidewheel_deadline_timestamp_seconds", "gauge", "Moment by which the bytes of what expires now are gone."),
    Family("tidewheel_quarantined_rows", "gauge", "Records that are set aside, by the rule they broke."),
    Family("tidewheel_vacuum_timestamp_seconds", "gauge", "Moment of the last vacuum."),
    Family("tidewheel_audit_timestamp_seconds", "gauge", "Moment of the last audit."),
    Family("tidewheel_audit_findings", "gauge", "What the last audit found; none is clean."),
    Family("tidewheel_lost_messages", "gauge", "Messages that were gone from the topic when their slots were read."),
)
COUNTERS = (
    Family("tidewheel_commits_total", "counter", "Commits by operation."),
    Family("tidewheel_rows_total", "counter", "Records that batches brought, by what became of them."),
    Family("tidewheel_late_rows_total", "counter", "Records of a topic that were stored and came after their slot."),
    Family("tidewheel_rows_rewritten_total", "counter", "Stored records that were written again."),
    Family(
        "tidewheel_files_total", "counter", "Data files that commits added, removed, or removed without reading them."
    ),
    Family("tidewheel_bytes_total", "counter", "Bytes of these files."),
    Family("tidewheel_work_seconds_total", "counter", "Time before the commits, by step."),
)
Samples = Mapping[tuple[str, str], float]  # by sample name and labels, without the archive's


def write_metrics_file(folder: str | Path, snapshot: Snapshot, missing: int, looked: Samples | None = None) -> Path:
    """Bring the archive's file up to the snapshot's version. Cost: the receipts since the file was written.

    The schedule says how many slots are missing; `looked` are the gauges of a look at the archive (`looked_at`).
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
    samples = {**gauges, **(looked or {}), **counters}
    location.write_bytes(str(path), metrics_text(name, samples).encode())
    return path


def openmetrics(snapshot: Snapshot, missing: int, looked: Samples) -> str:
    """Return all samples at once, as OpenMetrics. Cost: all receipts."""
    receipts = [receipt for _, receipt in all_receipts(snapshot)]
    committed = max((receipt.committed_us for receipt in receipts), default=None)
    gauges = _gauges(state_of(snapshot), missing, committed, {})
    samples = {**gauges, **looked, **_added_up({}, receipts)}
    return metrics_text(snapshot.definition.name, samples, ending="_total") + "# EOF\n"


def looked_at(status: Status, quarantined: Mapping[str, int]) -> Samples:
    """Return the gauges that a look at the archive adds to its newest version: `quarantined` counts records by rule."""
    gauges: dict[str, float] = {
        "tidewheel_dead_rows": status.rows_dead,
        "tidewheel_dead_bytes": status.bytes_stored - status.bytes_live,
        "tidewheel_deadline_timestamp_seconds": _seconds(status.deadline.gone_us),
    }
    if (lag_us := status.expiry_lag_us) is not None:
        gauges["tidewheel_watermark_lag_seconds"] = _seconds(max(0, lag_us))
    if (bound_us := status.freshness.bound_us) is not None:
        gauges["tidewheel_batch_age_max_seconds"] = _seconds(bound_us)
    if (awaiting := status.awaiting) is not None:
        gauges["tidewheel_awaiting_files"], gauges["tidewheel_awaiting_bytes"] = awaiting.files, awaiting.bytes
    if (vacuumed := status.vacuumed) is not None:
        gauges["tidewheel_vacuum_timestamp_seconds"] = _seconds(vacuumed.at_us)
    if (audited := status.audited) is not None:
        gauges["tidewheel_audit_timestamp_seconds"] = _seconds(audited.at_us)
        gauges["tidewheel_audit_findings"] = audited.findings
    if status.lost:
        gauges["tidewheel_lost_messages"] = sum(messages for _, messages in status.lost)
    by_rule = {("tidewheel_quarantined_rows", f'rule="{rule}"'): rows for rule, rows in quarantined.items()}
    words = {("tidewheel_health", f'word="{word}"'): word == status.health.word for word in WORDS}
    return {(name, ""): value for name, value in gauges.items()} | by_rule | words


def metrics_text(archive: str, samples: Samples, *, ending: str = "") -> str:
    """Return the samples as text; a family has its samples' name, without an ending that OpenMetrics leaves out."""
    lines = []
    for family in (*GAUGES, *COUNTERS):
        said_name = family.name.removesuffix(ending) if ending else family.name
        lines += [f"# HELP {said_name} {family.help}", f"# TYPE {said_name} {family.kind}"]
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


def _seconds(micros: int) -> float:
    return micros / MICROS_PER_SECOND


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
    if receipt.late_rows:
        yield ("tidewheel_late_rows_total", ""), receipt.late_rows
    yield ("tidewheel_rows_rewritten_total", ""), receipt.rows_rewritten
    for change in _CHANGES:
        yield ("tidewheel_files_total", f'change="{change}"'), getattr(receipt, f"files_{change}")
        yield ("tidewheel_bytes_total", f'change="{change}"'), getattr(receipt, f"bytes_{change}")
    for step, spent_ms in receipt.timings_ms.items():
        yield ("tidewheel_work_seconds_total", f'step="{step}"'), spent_ms / 1000


_SAMPLE = re.compile(r'([a-z_]+)\{archive="[^"]*"(?:,(.*))?\} (\S+)')


def _read(path: Path) -> dict[tuple[str, str], float]:
    """Return the samples of a file that was written here; none if there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    matches = (_SAMPLE.fullmatch(line) for line in lines if not line.startswith("#"))
    return {(match[1], match[2] or ""): float(match[3]) for match in matches if match}
