"""The Grafana dashboard asks for what is there: each name in its queries is that of a metric, each label one of its."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tidewheel.storage.metrics import COUNTERS, GAUGES

DASHBOARD = Path(__file__).parent.parent.parent / "examples" / "grafana" / "tidewheel.json"
LABELS = {
    "tidewheel_rows_total": {"fate"},
    "tidewheel_commits_total": {"operation"},
    "tidewheel_work_seconds_total": {"step"},
    "tidewheel_quarantined_rows": {"rule"},
}
ASKED = re.compile(r"(tidewheel_\w+)(\{[^}]*\})?")


def dashboard() -> dict[str, Any]:
    said: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return said


def targets() -> list[dict[str, str]]:
    return [target for panel in dashboard()["panels"] for target in panel["targets"]]


def test_every_query_names_metrics_and_their_labels() -> None:
    kinds = {family.name: family.kind for family in (*GAUGES, *COUNTERS)}
    for target in targets():
        found = ASKED.findall(target["expr"])
        assert found, target
        for name, labels in found:
            assert name in kinds, target
            assert labels == '{archive=~"$archive"}', target
            counted = f"increase({name}{labels}[$__rate_interval])" in target["expr"]
            assert counted == (kinds[name] == "counter"), target
            known = {"archive"} | LABELS.get(name, set())
            said = {*re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])}
            said |= {one.strip() for by in re.findall(r"by \(([^)]*)\)", target["expr"]) for one in by.split(",")}
            assert said <= known, target


def test_what_an_operator_must_see_is_asked() -> None:
    asked = {name for target in targets() for name, _ in ASKED.findall(target["expr"])}
    wanted = "live_rows dead_rows awaiting_bytes missing_slots audit_findings quarantined_rows"
    moments = "watermark deadline vacuum audit"
    assert asked >= {f"tidewheel_{name}" for name in wanted.split()}
    assert asked >= {f"tidewheel_{name}_timestamp_seconds" for name in moments.split()}


def test_panels_have_names_of_their_own_and_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    squares = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(squares) == len(set(squares))
    assert max(x for x, _ in squares) < 24
    (variable,) = [one for one in dashboard()["templating"]["list"] if one["name"] == "archive"]
    assert ASKED.findall(variable["query"]["query"])[0][0] == "tidewheel_version"
