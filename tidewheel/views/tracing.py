"""The view of a plan's play through the literature's engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.trace import Answer, Played, Trace
from tidewheel.queries.statements.plan_text import plan_text
from tidewheel.views.tables import plain_table

Found = Mapping[str, Trace | InvalidInput]
SHOWN = 5  # rows of the newest answer
NAMED = 4  # engines whose operations are told by kind
Truth = Sequence[Answer] | None


def _agreement(trace: Trace, truth: Truth) -> str:
    if truth is None:
        return "not judged"
    runs = sum(one != two for one, two in zip(trace.answers, truth, strict=True))
    return f"differs in {runs} runs" if runs else "yes"


def traces_view(played: Played, found: Found, truth: Truth) -> RenderableType:
    table = plain_table(
        "engine", "operations", "per 1,000 tuples", "held at most", "results", "lost", "late", "as the judge", left=(0,)
    )
    tuples = len(played.history.arrivals)
    refused = []
    for name, one in found.items():
        if isinstance(one, InvalidInput):
            refused.append(f"{name}: {one.message}")
            continue
        per_thousand = f"{1000 * one.operations_sum / tuples:,.0f}"
        held, lost = f"{one.held_most:,}", f"{one.lost:,} ({one.lost / max(1, one.results):.1%})"
        table.add_row(
            name,
            f"{one.operations_sum:,}",
            per_thousand,
            held,
            f"{one.results:,}",
            lost,
            f"{one.restored:,}",
            _agreement(one, truth),
        )
    said = f"{tuples:,} tuples in {played.until:,} ticks, a run every {played.every}"
    last = [_last_answer(played, one) for one in found.values() if isinstance(one, Trace)][: len(found) == 1]
    expected = [Text(played.expected)] if played.expected else []
    return Group(Text(plan_text(played.plan)), Text(said), *expected, table, *_kinds(found), *map(Text, refused), *last)


def _kinds(found: Found) -> list[Text]:
    """Return the operations by kind, where engines are few enough to be read one by one."""
    if len(found) > NAMED:
        return []
    traces = {name: one for name, one in found.items() if isinstance(one, Trace)}
    return [
        Text(f"{name}: {', '.join(f'{count:,} {kind}' for kind, count in one.operations.items())}")
        for name, one in traces.items()
    ]


def _last_answer(played: Played, trace: Trace) -> Text:
    """Return some rows of the newest answer."""
    rows = sorted(trace.answers[-1].elements(), key=repr)
    more = f", and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    shown = "; ".join(" ".join(map(str, row)) for row in rows[:SHOWN])
    return Text(f"the answer at {played.runs[-1]}: {shown or 'no rows'}{more}")


def trace_json(played: Played, found: Found, truth: Truth) -> dict[str, Any]:
    return {
        "plan": plan_text(played.plan).splitlines(),
        "tuples": len(played.history.arrivals),
        "ticks": played.until,
        "every": played.every,
        "expected": played.expected,
        "engines": {name: _engine_json(played, one, truth) for name, one in found.items()},
    }


def _engine_json(played: Played, one: Trace | InvalidInput, truth: Truth) -> dict[str, Any]:
    if isinstance(one, InvalidInput):
        return {"refused": one.message}
    answers = [
        {"at": at, "rows": sorted(map(list, answer.elements()), key=repr)}
        for at, answer in zip(played.runs, one.answers, strict=True)
    ]
    return {
        "operations": dict(one.operations),
        "held_most": one.held_most,
        "results": one.results,
        "lost": one.lost,
        "restored": one.restored,
        "as_the_judge": None if truth is None else list(one.answers) == list(truth),
        "answers": answers,
    }
