"""A plan as a tree of text, with the class of each edge."""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.statements.labels import Labelled, labelled
from tidewheel.queries.statements.plan import Operator


def plan_text(plan: Operator) -> str:
    """Return the plan, one operator a line, each with its label and what carries its deletions.

    >>> from tidewheel.queries.statements.plan import Join, window
    >>> print(plan_text(Join(window("A", 6, "k"), window("B", 6, "k"), (("A.k", "B.k"),))))
    ⋈ A.k = B.k  WK by EXP: variable lifetime
    ├ window 6  WKS(6) by EXP: fixed lifetime
    │ └ stream A  MON by APPEND: append-only
    └ window 6  WKS(6) by EXP: fixed lifetime
      └ stream B  MON by APPEND: append-only
    """
    return "\n".join(_lines(labelled(plan)))


def _lines(one: Labelled) -> Iterator[str]:
    label = one.label
    yield f"{one.operator.title}  {label.pattern.name + _constant(one)} by {label.carrier}: {_words(one)}"
    for place, below in enumerate(one.inputs):
        last = place == len(one.inputs) - 1
        first, *others = _lines(below)
        yield f"{'└' if last else '├'} {first}"
        yield from (f"{' ' if last else '│'} {line}" for line in others)


def _constant(one: Labelled) -> str:
    return "" if one.label.lifetime is None else f"({one.label.lifetime})"


def _words(one: Labelled) -> str:
    raised = one.label.raised_by
    inherited = "" if raised is one.operator or not one.label.pattern else f", because of {raised.title}"
    return one.label.pattern.words + inherited
