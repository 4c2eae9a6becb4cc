"""Drop boxes anywhere in a plan, and why those on the sources suffice (Observation 3).

A plan of n streams has 2n - 1 places for a box (the source prints 2n + 1, against its own figure): on each stream and
behind each join. A box behind a join does as much below it: with windows of survivors on both inputs, with windows of
arrivals on either one. Output and windows above stay as they were, and what comes into the join becomes less.
So a box moves down until it sits on the sources. Linear in the plan.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidewheel.queries.literature.optimiser.drops.plan_drops import ARRIVALS
from tidewheel.queries.literature.optimiser.join_prices import join_price
from tidewheel.queries.literature.optimiser.plan_tree import Leaf, Select, Tree
from tidewheel.queries.literature.optimiser.rates import Flow, joined, selected
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number


def places(tree: Tree) -> list[str]:
    """Return where a box can be: the texts of the streams and joins.

    >>> from tidewheel.queries.literature.optimiser.plan_tree import Join, Leaf
    >>> places(Join(Leaf("A"), Leaf("B")))
    ['A', 'B', '(A B)']
    """
    if isinstance(tree, Select):
        return places(tree.below)
    return [str(tree)] if isinstance(tree, Leaf) else [*places(tree.left), *places(tree.right), str(tree)]


def boxed(tree: Tree, query: WindowQuery, boxes: Mapping[str, Number], window_of: str) -> tuple[Flow, Number]:
    """Return what comes out of a plan with boxes, and what it costs."""
    if isinstance(tree, Select):
        flow, cost = boxed(tree.below, query, boxes, window_of)
        selection = query.selection_named[tree.selection]
        return selected(flow, selection.factor), cost + selection.price * flow.rate
    if isinstance(tree, Leaf):
        stream = query.by_name[tree.stream]
        return _dropped(Flow(stream.rate, stream.window), boxes.get(str(tree), 1), window_of), 0
    (left, one), (right, other) = (boxed(below, query, boxes, window_of) for below in (tree.left, tree.right))
    factor = query.factor(tree.left.streams, tree.right.streams)
    cost = one + other + join_price(left, right, query.methods, factor).cost
    return _dropped(joined(left, right, factor), boxes.get(str(tree), 1), window_of), cost


def _dropped(flow: Flow, keep: Number, window_of: str) -> Flow:
    return Flow(flow.rate * keep, flow.window * (keep if window_of == ARRIVALS else 1))


def moved_to_sources(tree: Tree, boxes: Mapping[str, Number], window_of: str) -> dict[str, Number]:
    """Return boxes on the sources alone that leave the output as it was.

    >>> from tidewheel.queries.literature.optimiser.plan_tree import Join, Leaf
    >>> moved_to_sources(Join(Leaf("A"), Leaf("B")), {"(A B)": 0.5}, "survivors")
    {'A': 0.5, 'B': 0.5}
    """
    return _moved(tree, boxes, window_of, 1)


def _moved(tree: Tree, boxes: Mapping[str, Number], window_of: str, above: Number) -> dict[str, Number]:
    if isinstance(tree, Select):
        return _moved(tree.below, boxes, window_of, above)
    keep = above * boxes.get(str(tree), 1)
    if isinstance(tree, Leaf):
        return {tree.stream: keep}
    other = 1 if window_of == ARRIVALS else keep
    return _moved(tree.left, boxes, window_of, keep) | _moved(tree.right, boxes, window_of, other)
