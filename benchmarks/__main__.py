"""`python -m benchmarks PROFILE`: run what is not measured yet, then write ratios, plots and the page anew.

`python -m benchmarks queries [quick|standard|full]` is the race of standing queries, `python -m benchmarks sharing`
measures what sharing partials is worth and fits the constants of the plans' cost, `python -m benchmarks planning` how
long planning takes, `python -m benchmarks headlines` prints what published results are here, `python -m benchmarks
scale` how far an archive carries, on paper, `python -m benchmarks cold` where the time of a cold command goes.

Progress goes to standard error. It may be stopped at any moment: what is finished is kept, and run again only
with --fresh.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.harness.bench import Bench
from benchmarks.harness.profiles import profiles
from benchmarks.harness.report import adopt, write_report
from benchmarks.harness.store import RESULTS, Store
from tidewheel.cli import quiet_bridge
from tidewheel.output import INTERRUPTED

# What is measured beside the races, each by a program of its own.
_OTHERS = {
    "queries": "benchmarks.standing.__main__",
    "sharing": "benchmarks.standing.sharing",
    "planning": "benchmarks.literature.planning",
    "headlines": "benchmarks.literature.headlines",
    "cold": "benchmarks.process.cold",
    "scale": "benchmarks.scale.__main__",
}


def main(given: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a contender gave a wrong answer or failed."""
    quiet_bridge(debug=False)
    words = list(sys.argv[1:] if given is None else given)
    if words and words[0] in _OTHERS:
        return int(import_module(_OTHERS[words[0]]).main(words[1:]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "profile",
        choices=[*profiles(), "report", "adopt", *_OTHERS],
        help="what to run; report: only write it anew; adopt: and let the cost model have the measured constants; "
        f"{', '.join(_OTHERS)}: programs of their own, each with --help",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured already")
    parser.add_argument("--race", action="append", default=[], help="only this race (repeatable)")
    parser.add_argument("--only", action="append", default=[], help="only this contender (repeatable)")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tidewheel-bench")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(words)
    if arguments.profile in _OTHERS:
        parser.error(f"{arguments.profile} comes first, its own options behind it")
    failed = 0
    if arguments.profile == "adopt":
        adopt(arguments.results)
    elif arguments.profile != "report":
        profile = profiles()[arguments.profile]
        bench = Bench(profile, Store(profile.name, arguments.results), arguments.work, fresh=arguments.fresh)
        try:
            failed = bench.run(set(arguments.race), set(arguments.only))
        except KeyboardInterrupt:
            print("\ninterrupted; what is finished is kept: the same command without --fresh goes on", file=sys.stderr)
            return INTERRUPTED
    for line in write_report(arguments.results):
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
