"""`python -m benchmarks cold`: where the time of a cold update goes, with and without what makes Spark start quickly
(`TIDEWHEEL_QUICK_START=off`), and what `status` and `probe` take; writes the page of benchmarks anew.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.archives.stream import Stream
from benchmarks.harness.report import write_report
from benchmarks.harness.store import RESULTS, Store
from benchmarks.process.cold_commands import COMMANDS, EXPERIMENT, cold_commands

TIMES = 2
STREAM = Stream(rows=14_000)


def main(given: Sequence[str] | None = None) -> int:
    """Medians, in seconds; of an update what its receipt tells, and of the rest the interpreter and its imports."""
    argparse.ArgumentParser(prog="python -m benchmarks cold", description=__doc__).parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        found = cold_commands(Path(folder), TIMES, STREAM)
    print("with a class archive" if found["class_archive"] else "without a class archive: tidewheel-setup classes")
    for name in COMMANDS:
        told = "  ".join(f"{part} {median(one[part] for one in found[name]):.2f}" for part in found[name][0])
        print(f"{name:22} {told}")
    Store("standard").put_experiment(EXPERIMENT, found)
    for _ in write_report(RESULTS):
        pass
    return 0
