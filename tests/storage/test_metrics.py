"""Metrics: text that a scraper reads, and counters that count every receipt once."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from deltalake import Field
from deltalake.schema import PrimitiveType
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

import tidewheel
from tests.support.archives.built_table import HOUR_US, BuiltTable
from tidewheel.commits.commit import commit
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.offsets import SlotOffsets
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt
from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.entry import NewFile
from tidewheel.storage.metrics import write_metrics_file

Parsed = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: str) -> Parsed:
    """The samples as Prometheus' own parser reads them; every one belongs to a family with a type and a meaning."""
    samples: Parsed = {}
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    for family in families:
        assert family.type in ("counter", "gauge"), family
        assert family.documentation
        for sample in family.samples:
            # The parser takes the ending off a counter's family.
            assert sample.name == family.name + ("_total" if family.type == "counter" else "")
            at = sample.name, frozenset(sample.labels.items())
            assert at not in samples
            assert math.isfinite(sample.value)
            assert sample.value >= 0
            samples[at] = sample.value
    assert len(samples) == sum(not line.startswith("#") for line in text.splitlines())
    return samples


def value_of(samples: Parsed, name: str, **labels: str) -> float:
    return samples[name, frozenset({"archive": "built", **labels}.items())]


@pytest.fixture
def table(tmp_path: Path) -> BuiltTable:
    return BuiltTable.create(tmp_path / "table", [Field("key", PrimitiveType("string"), nullable=True)], ["key"])


def bring(table: BuiltTable, slot: int, stored: int, late_rows: int = 0, offsets: SlotOffsets | None = None) -> None:
    """A commit that says it brought a batch in two files; counting looks at receipts, not at files."""
    snapshot = table.snapshot
    batch = SlotReceipt(slot, stored + 3, stored, 1, 1, 0, 1, {slot + 5: Cell(stored, 1)}, offsets=offsets)
    receipt = Receipt(
        Deed.UPDATE, f"run-{snapshot.version}", snapshot.head + 1, slot, 0, 60_000_000, (batch,),
        files_added=2, bytes_added=100, rows_rewritten=7, timings_ms={"session": 1500, "write": 250},
        late_rows=late_rows,
    )  # fmt: skip
    bounds = {"ins_slot": slot, "exp_slot": slot + 5}
    stats = json.dumps({"numRecords": 1, "minValues": bounds, "maxValues": bounds})
    facts = (FileFact(f"run/{slot}-{part}.parquet", 0, 0, 0, slot, slot, slot + 5, slot + 5, 1, 50) for part in (0, 1))
    commit(snapshot, receipt, [NewFile(fact, stats, 1) for fact in facts], [])


def test_every_receipt_is_counted_once(table: BuiltTable, tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    bring(table, 10, 100)
    bring(table, 11, 50)
    path = write_metrics_file(folder, table.snapshot, missing=2)
    assert path.name == "tidewheel_built.prom"
    first = parsed(path.read_text(encoding="utf-8"))
    assert value_of(first, "tidewheel_rows_total", fate="stored") == 150
    assert value_of(first, "tidewheel_rows_total", fate="quarantined") == 2
    assert value_of(first, "tidewheel_commits_total", operation="update") == 2
    assert value_of(first, "tidewheel_work_seconds_total", step="session") == 3
    assert value_of(first, "tidewheel_watermark_timestamp_seconds") == 12 * HOUR_US / 1e6
    assert value_of(first, "tidewheel_live_rows") == 150
    # Written again, nothing is counted twice; then only what is new.
    write_metrics_file(folder, table.snapshot, missing=2)
    assert parsed(path.read_text(encoding="utf-8")) == first
    bring(table, 14, 1)
    write_metrics_file(folder, table.snapshot, missing=2)
    later = parsed(path.read_text(encoding="utf-8"))
    assert value_of(later, "tidewheel_rows_total", fate="stored") == 151
    assert value_of(later, "tidewheel_missing_slots") == 2
    assert value_of(later, "tidewheel_version") == 3
    # A lost file is counted anew from the log.
    path.unlink()
    write_metrics_file(folder, table.snapshot, missing=2)
    assert parsed(path.read_text(encoding="utf-8")) == later
    assert [one.name for one in folder.iterdir()] == [path.name]


def test_an_archive_without_batches_has_metrics_too(table: BuiltTable, tmp_path: Path) -> None:
    samples = parsed(write_metrics_file(tmp_path, table.snapshot, missing=0).read_text(encoding="utf-8"))
    assert value_of(samples, "tidewheel_version") == 0
    assert value_of(samples, "tidewheel_commits_total", operation="init") == 1
    assert not any(name == "tidewheel_watermark_timestamp_seconds" for name, _ in samples)


def test_openmetrics_tells_what_a_look_finds_and_the_same_counts(table: BuiltTable, tmp_path: Path) -> None:
    bring(table, 10, 100)
    before = openmetrics_of(table)
    assert value_of(before, "tidewheel_commits_total", operation="update") == 1
    assert ("tidewheel_audit_findings", BUILT) not in before
    archive = tidewheel.open(table.location.uri)
    archive.vacuum()
    report = archive.audit(deep=False)
    assert report.findings, "the batch's files were never written"
    after = openmetrics_of(table)
    assert value_of(after, "tidewheel_audit_findings") == len(report.findings)
    assert value_of(after, "tidewheel_vacuum_timestamp_seconds") <= value_of(after, "tidewheel_audit_timestamp_seconds")
    assert value_of(after, "tidewheel_awaiting_bytes") == 0
    assert value_of(after, "tidewheel_deadline_timestamp_seconds") > 0
    # What the files in a folder tell is the same, with what was missing by the schedule.
    path = write_metrics_file(tmp_path / "metrics", table.snapshot, 0, archive.gauges(archive.status()))
    assert parsed(path.read_text()).keys() == after.keys()
    assert archive.status().to_json()["audited"]["findings"] == len(report.findings)


def test_of_a_topic_what_came_late_and_what_was_lost_is_told(table: BuiltTable) -> None:
    bring(table, 10, 100)
    assert ("tidewheel_lost_messages", BUILT) not in openmetrics_of(table)
    bring(table, 11, 100, late_rows=4, offsets=SlotOffsets("t", "", {0: (0, 105)}, lost=2))
    bring(table, 12, 100, late_rows=3, offsets=SlotOffsets("t", "", {0: (105, 209)}, lost=1))
    told = openmetrics_of(table)
    assert value_of(told, "tidewheel_late_rows_total") == 7
    assert value_of(told, "tidewheel_lost_messages") == 3


def test_what_was_noted_badly_is_as_good_as_nothing(table: BuiltTable) -> None:
    archive = tidewheel.open(table.location.uri)
    archive.vacuum()
    for text in (b"", b"[]", b'{"at_us": "x"}', b"{}"):
        table.path("_tidewheel/care/vacuum.json").write_bytes(text)
        assert archive.status().vacuumed is None


BUILT = frozenset({("archive", "built")})


def openmetrics_of(table: BuiltTable) -> Parsed:
    """As a scraper of OpenMetrics reads it: the ending of a counter is no part of its family's name."""
    text = tidewheel.open(table.location.uri).metrics()
    assert text.endswith("\n# EOF\n")
    families = list(openmetrics_families(text))
    assert not [family.name for family in families if family.name.endswith("_total")]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for one in families for sample in one.samples}
