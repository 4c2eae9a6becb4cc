"""The runs of a sub-index to join when there are more than `runs_max`: young ones, as few as keep the bound.

A run is left alone while it is larger than all younger ones together. So runs come to lie like the terraces of a
log-structured merge tree, old and large before young and small: with equal batches and `runs_max` = 8, nine become
one, the next eight a second, the next seven a third. A record is rewritten once in the first 44 batches, where
joining everything each time would rewrite it up to five times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidewheel.indexing.core.state import FileFact


@dataclass(frozen=True)
class _Run:
    name: str
    ins_min: int
    ins_max: int
    bytes: int


def joined_runs(files: Sequence[FileFact], runs_max: int, receives: bool) -> frozenset[str]:
    """Return the runs of a sub-index to join, with the batch if it receives one; none while the bound holds.

    Runs that hold the same insertion slots stay together: what a join must hold can then be told from the ledger.
    """
    if len(files) + receives <= runs_max:
        return frozenset()  # a run has a file at least
    runs = _youngest_first(files)
    count = join_count([run.bytes for run in runs], runs_max, receives)
    while 0 < count < len(runs) and runs[count].ins_max >= min(run.ins_min for run in runs[:count]):
        count += 1
    return frozenset(run.name for run in runs[:count])


def join_count(youngest_first: Sequence[float], runs_max: int, receives: bool) -> int:
    """Return how many of the youngest runs to join, given the runs' sizes.

    >>> join_count([1, 1, 1], runs_max=3, receives=False)
    0
    >>> join_count([1, 1, 1, 9, 8], runs_max=5, receives=True)
    3
    """
    runs = len(youngest_first)
    if runs + receives <= runs_max:
        return 0
    count = runs - runs_max + 1
    total = sum(youngest_first[:count])
    while count < runs and youngest_first[count] <= total:
        total += youngest_first[count]
        count += 1
    return count


def _youngest_first(files: Sequence[FileFact]) -> list[_Run]:
    by_run: dict[str, list[FileFact]] = {}
    for file in files:
        by_run.setdefault(file.run, []).append(file)
    runs = [_run(name, own) for name, own in by_run.items()]
    return sorted(runs, key=lambda run: (run.ins_max, run.ins_min, run.name), reverse=True)


def _run(name: str, files: Sequence[FileFact]) -> _Run:
    return _Run(
        name,
        min(file.ins_min for file in files),
        max(file.ins_max for file in files),
        sum(file.bytes for file in files),
    )
