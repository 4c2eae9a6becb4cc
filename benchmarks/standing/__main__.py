"""`python -m benchmarks queries [quick|standard]`: the race of standing queries, then the page anew."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import said, write_report
from benchmarks.results import Results
from benchmarks.standing.goals import EXPERIMENT, standing_goals
from benchmarks.standing.race import Race
from benchmarks.standing.section import lines_of
from benchmarks.standing.stream import Size
from benchmarks.store import RESULTS, Store

SIZES = {
    "quick": Size("quick", rows=2_800, slots=360, measured=6, many_groups=20_000),
    "standard": Size("standard", rows=10_000, slots=2_000),
}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks queries", description=__doc__)
    parser.add_argument("size", nargs="?", choices=SIZES, default="quick")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tidewheel-bench-queries")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    found = Race(SIZES[arguments.size], arguments.work).run()
    shutil.rmtree(arguments.work)
    Store(arguments.size, arguments.results).put_experiment(EXPERIMENT, found)
    for line in lines_of(found):
        print(line)
    for _ in write_report(arguments.results):
        pass
    for goal in standing_goals(Results(arguments.results)):
        print(said(goal))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
