"""`python -m benchmarks scale [quick] [--work FOLDER]`: how far an archive carries; writes docs/scale.md anew.

What is measured already is kept; --fresh measures it again, `report` only writes the page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.store import RESULTS, machine, now, write_json
from benchmarks.scale.life import live
from benchmarks.scale.paper import Paper, make
from benchmarks.scale.report import write_report
from benchmarks.scale.steps import REPEATED, STEPS
from benchmarks.scale.view import viewed
from tidewheel.storage.location import ListedFile
from tidewheel.storage.receipt_files import FOLDER

PAPERS = (
    Paper("10^4", slots=1_000, files_a_slot=10),
    Paper("10^5", slots=10_000, files_a_slot=10),
    Paper("10^6", slots=100_000, files_a_slot=10),
    Paper("10^6 in large slots", slots=1_000, files_a_slot=1_000),
)
QUICK = PAPERS[:1]
COMMITS = 2_000
TIMES = 3


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("all", "quick", "report"), default="all")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured already")
    parser.add_argument("--only", action="append", default=[], help="only this archive, or `life`, or `view`")
    parser.add_argument("--commits", type=int, default=COMMITS, help="how many commits one archive gets")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tidewheel-scale")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    path = arguments.results / "scale.json"
    values: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    papers = {"all": PAPERS, "quick": QUICK, "report": ()}[arguments.what]
    for paper in papers:
        if _wanted(paper.name, values.get("papers", {}), arguments):
            values.setdefault("papers", {})[paper.name] = measured(paper, arguments.work)
            _save(path, values)
    if arguments.what == "all" and _wanted("life", values, arguments):
        values["life"] = live(arguments.work / "life", arguments.commits)
        _save(path, values)
    if arguments.what == "all" and _wanted("view", values, arguments):
        values["view"] = viewed(arguments.work / "view")
        _save(path, values)
    if arguments.results == RESULTS:
        write_report(values)
    return 0


def measured(paper: Paper, work: Path) -> dict[str, Any]:
    """Every step on a new archive, each in a process of its own."""
    print(f"{paper.name}: {paper.files} files in {paper.slots} slots", file=sys.stderr)
    folder = work / "paper"
    location = make(paper, folder)
    try:
        steps = {step: _carried_out(step, folder, TIMES if step in REPEATED else 1) for step in STEPS}
        checkpoints = [one for one in location.files_below("_delta_log") if ".checkpoint." in one.path]
        sizes = {"checkpoint_bytes": _newest(checkpoints), "ledger_bytes": _newest(location.files_below(FOLDER))}
        return {"files": paper.files, "slots": paper.slots, **sizes, **steps, "measured_at": now()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _carried_out(step: str, folder: Path, times: int) -> dict[str, Any]:
    """The quickest of some runs: what else the machine does only makes them slower."""
    runs = [_run(step, folder) for _ in range(times)]
    print(f"  {step}: {json.dumps(runs)}", file=sys.stderr)
    return min(runs, key=lambda run: sum(one["seconds"] for one in run.values() if isinstance(one, dict)))


def _run(step: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale.steps", step, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    if done.returncode:
        raise RuntimeError(f"{step} failed: {done.stderr[-2000:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _newest(files: Iterable[ListedFile]) -> int:
    return max(files, key=lambda one: one.path).size


def _wanted(name: str, known: dict[str, Any], arguments: argparse.Namespace) -> bool:
    if arguments.only and name not in arguments.only:
        return False
    return arguments.fresh or bool(arguments.only) or name not in known


def _save(path: Path, values: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    values["machine"] = machine()
    write_json(path, values)
