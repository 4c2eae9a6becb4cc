"""`python -m benchmarks headlines`: what the literature is known for, beside what the same algorithms do here; writes
docs/headlines.md anew. What is known already is kept, if only some parts are run.

Published figures are of C++ and Java on other machines. Here an operation is a call in CPython, so throughputs are
compared within one run, and operations beside them, which do not depend on a machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.store import RESULTS, machine, now, write_json
from benchmarks.literature.costs import new_costs
from benchmarks.literature.edges import edges, plan_generation
from benchmarks.literature.headline import Headline
from benchmarks.literature.placements import placements
from benchmarks.literature.schedules import scheduling
from benchmarks.literature.states import latencies, memory
from benchmarks.literature.techniques import techniques
from benchmarks.literature.update_patterns import update_patterns
from benchmarks.literature.weaving import weaving
from benchmarks.literature.window_joins import window_joins

PAGE = Path(__file__).parents[2] / "docs" / "headlines.md"
COLUMNS = ("what", "published", "counted", "timed", "why")
_HEAD = """# What the literature is known for, here

Written by `python -m benchmarks headlines`; do not edit. Timed on {cores} cores of {processor}.

The published figures are of C++ and Java on other machines. Here the same algorithms run in CPython, where an operation
is a call. *Counted* is what any machine finds: operations, costs, values held. Tests compute every such figure again,
and once more with a rival in the place of what the row is about, which must give another one. *Timed* is what a clock
says: compare it within a row only. Costs of plans and schedules are the published ones, operations a second.

[The catalogue](../queries/README.md#which-published-results-hold-here) has what was looked at closer; [the
benchmarks](benchmarks.md#standing-queries) have what standing queries take in seconds."""

# Weaving plans sets of 2,000 queries over and over, and takes as long as all others together.
PARTS: Mapping[str, Callable[[], Iterator[Headline]]] = {
    "Techniques": techniques,
    "Latency": latencies,
    "Memory": memory,
    "Edges": edges,
    "Plan generation": plan_generation,
    "Weave Share": weaving,
    "New cost estimation": new_costs,
    "Several nodes": placements,
    "Scheduling": scheduling,
    "Window joins": window_joins,
    "Update patterns": update_patterns,
}


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks headlines", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, default=[], help="only this part (repeatable)")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    path = arguments.results / "headlines.json"
    values: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    for name in arguments.only or PARTS:
        rows = []
        for headline in PARTS[name]():
            row = found(headline)
            rows.append(row)
            print(
                "\n    ".join([row["what"], *(f"{key:9}  {row[key]}" for key in COLUMNS[1:4] if row[key])]), flush=True
            )
        values["parts"][name] = {"rows": rows, "measured_at": now()}
        values["machine"] = machine()
        write_json(path, values)
    if arguments.results == RESULTS:
        PAGE.write_text(page_of(values), encoding="utf-8")
    return 0


def found(headline: Headline) -> dict[str, str]:
    return {
        "what": headline.what,
        "published": headline.published,
        "counted": headline.counted() if headline.counted else "",
        "timed": headline.timed() if headline.timed else "",
        "why": headline.why,
    }


def page_of(values: Mapping[str, Any]) -> str:
    parts = [(name, values["parts"][name]["rows"]) for name in PARTS if name in values["parts"]]
    return "\n\n".join([_HEAD.format(**values["machine"]), *(_section(name, rows) for name, rows in parts)]) + "\n"


def _section(name: str, rows: Sequence[Mapping[str, str]]) -> str:
    lines = [f"| {' | '.join(one[key] for key in COLUMNS)} |" for one in rows]
    heading = "| what | published | counted here | timed here | why it differs |\n|---|---|---|---|---|"
    return "\n".join([f"## {name}\n", heading, *lines])
