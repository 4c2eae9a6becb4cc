"""`python -m benchmarks queries [quick|standard|full]`: the race of standing queries, then the page anew.

It may be stopped at any moment: what is finished is kept, and the same command goes on from there. `--fresh` measures
anew. Contenders that need more than the lock: `uv pip install --group rivals`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness.report import said, write_report
from benchmarks.harness.results import Results
from benchmarks.harness.store import RESULTS, Store
from benchmarks.standing.goals import EXPERIMENT, UNFINISHED, standing_goals
from benchmarks.standing.race import Race, wrong_answers
from benchmarks.standing.section import lines_of
from benchmarks.standing.stream import Size
from tidewheel.output import INTERRUPTED

SIZES = {
    "quick": Size(
        "quick", rows=2_800, slots=640, measured=6, many_groups=20_000, growth=(10, 1000),
        kernel_rows=400_000, kernel_sizes=(1 << 4, 1 << 10, 1 << 16),
    ),
    "standard": Size(
        "standard", rows=10_000, slots=2_000, many_queries=500, growth=(10, 1000), windows_hours=(1, 24),
        kernel_sizes=(1 << 4, 1 << 10, 1 << 16),
    ),
    "full": Size(
        "full", rows=10_000, slots=2_000, many_queries=500, measured=24, growth=(10, 100, 500, 1000, 2000),
        windows_hours=(1, 6, 24, 168), history=2_000,
    ),
}  # fmt: skip


def main(given: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a contender gave a wrong answer."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks queries", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("size", nargs="?", choices=SIZES, default="quick")
    parser.add_argument("--fresh", action="store_true", help="measure again what an interrupted run has measured")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tidewheel-bench-queries")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    store = Store(arguments.size, arguments.results)
    known = {} if arguments.fresh else store.experiment(UNFINISHED)
    race = Race(SIZES[arguments.size], arguments.work, known, partial(store.put_experiment, UNFINISHED))
    try:
        found = race.run()
    except KeyboardInterrupt:
        print("\ninterrupted; what is finished is kept: the same command goes on", file=sys.stderr)
        return INTERRUPTED
    finally:
        shutil.rmtree(arguments.work, ignore_errors=True)
    store.finish_experiment(UNFINISHED, EXPERIMENT, found)
    for line in lines_of(found):
        print(line)
    for _ in write_report(arguments.results):
        pass
    for goal in standing_goals(Results(arguments.results)):
        print(said(goal))
    for wrong in wrong_answers(found):
        print(f"wrong: {wrong}", file=sys.stderr)
    return 1 if wrong_answers(found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
