"""The worth of a played schedule: how many answers, how many of these were wanted, and how late they were.

An answer that comes earlier than asked for counts as the share of the period that had passed: many early answers are
no more useful than a few in time, and a mere count rewards them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from tidewheel.queries.scheduling.playing import Turn
from tidewheel.queries.scheduling.run_costs import Periodic


@dataclass(frozen=True)
class Worth:
    answers: float  # per update
    useful: float  # per update
    latency: float  # updates beyond the period, per answer, averaged over queries


def worth(runs: Iterable[Turn], queries: Iterable[Periodic], after: int, updates: int) -> Worth:
    """Measure the versions (after, updates]; gaps begin with the last run before, or with the beginning."""
    ran: dict[str, list[int]] = {}
    for run in runs:
        for query in run.queries:
            ran.setdefault(query.name, []).append(run.version)
    answers, useful, latencies = 0, 0.0, []
    for query in queries:
        versions = ran.get(query.name, [])
        gaps = [(at - before) for before, at in zip([0, *versions], versions, strict=False) if at > after]
        answers += len(gaps)
        useful += sum(min(1.0, gap / query.period) for gap in gaps)
        latencies.append(fmean(max(0, gap - query.period) for gap in gaps) if gaps else float(updates - after))
    return Worth(answers / (updates - after), useful / (updates - after), fmean(latencies) if latencies else 0.0)
