"""A plan as a frozen value: operators over streams, windows and relations, each with its inputs and its columns.

Equal plans are equal values, so a search may keep them in a set. A column is named ALIAS.FIELD everywhere; who
reads a stream twice gives it two aliases. Nothing here knows how an operator is carried out: labels, legality and
rewrites are functions over these values, and so are the engines. All operators are named from here.
"""

from __future__ import annotations

from tidewheel.queries.statements.algebra import Distinct, Fold, GroupBy, Join, Negation, Union
from tidewheel.queries.statements.operators import Binary, Operator, Pairs, Stream, Unary, operators
from tidewheel.queries.statements.relations import Relation, RelationJoin
from tidewheel.queries.statements.selections import Project, Select
from tidewheel.queries.statements.windows import (
    CountWindow,
    PredicateWindow,
    TimeWindow,
    Window,
    unbounded,
    window,
    windows,
)

__all__ = [
    "Binary",
    "CountWindow",
    "Distinct",
    "Fold",
    "GroupBy",
    "Join",
    "Negation",
    "Operator",
    "Pairs",
    "PredicateWindow",
    "Project",
    "Relation",
    "RelationJoin",
    "Select",
    "Stream",
    "TimeWindow",
    "Unary",
    "Union",
    "Window",
    "operators",
    "unbounded",
    "window",
    "windows",
]
