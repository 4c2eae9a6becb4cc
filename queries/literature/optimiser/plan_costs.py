"""The cost of a plan per unit of time, and the rows that it holds (equations 7, 11, 12 and 13).

C(p) is the sum of its operators' costs and must fit into the processor's time; M(p) the rows of the windows of all
joins: those of the streams, which no plan changes, and those of the intermediate results. Printed, both equations are
number 13. Queues before operators and the overhead of hash tables are left out, as in the source. A subtree of tables
alone costs nothing: its rate is 0. Each walk is linear in the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.join_prices import JoinPrice, join_price
from tidewheel.queries.literature.optimiser.plan_tree import Join, Leaf, Select, Tree
from tidewheel.queries.literature.optimiser.rates import Flow, joined, selected
from tidewheel.queries.literature.optimiser.window_query import Selection, WindowQuery
from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class Node:
    """An operator of a plan: what comes out of it, and what it and all below it cost for each stream's arrivals."""

    tree: Tree
    flow: Flow
    shares: Mapping[str, Number]  # stream → results a unit of time in which its tuple came last
    paid: Mapping[str, Number]  # stream → what its tuples cost so far
    below: tuple[Node, ...] = ()
    factor: Number = 1  # of the selection or join
    cost: Number = 0
    price: JoinPrice | None = None

    @property
    def memory(self) -> Number:
        return sum(one.flow.window for one in self.below) if self.price else 0


Known = dict[int, Node]  # by the identity of a tree that the caller holds


def annotated(tree: Tree, query: WindowQuery, known: Known | None = None) -> Node:
    """Return the plan with the flow and the cost of each operator; subtrees that are known are not computed again."""
    if known is not None and id(tree) in known:
        return known[id(tree)]
    if isinstance(tree, Leaf):
        stream = query.by_name[tree.stream]
        node = Node(tree, Flow(stream.rate, stream.window), {tree.stream: stream.rate}, {tree.stream: 0})
    elif isinstance(tree, Select):
        node = _selecting(tree, annotated(tree.below, query, known), query.selection_named[tree.selection])
    else:
        below = annotated(tree.left, query, known), annotated(tree.right, query, known)
        node = _joining(tree, *below, query)
    if known is not None:
        known[id(tree)] = node
    return node


def _selecting(tree: Select, below: Node, selection: Selection) -> Node:
    factor = selection.factor
    shares = {name: factor * share for name, share in below.shares.items()}
    paid = {name: cost + selection.price * below.shares[name] for name, cost in below.paid.items()}
    flow, cost = selected(below.flow, factor), selection.price * below.flow.rate
    return Node(tree, flow, shares, paid, (below,), factor, cost)


def _joining(tree: Join, left: Node, right: Node, query: WindowQuery) -> Node:
    factor = query.factor(tree.left.streams, tree.right.streams)
    price = join_price(left.flow, right.flow, query.methods, factor)
    shares, paid = {}, {}
    for own, other, ours, theirs in ((left, right, price.left, price.right), (right, left, price.right, price.left)):
        each = ours.insert + ours.invalidate + theirs.probe + theirs.grows(factor) * other.flow.window
        for name, share in own.shares.items():
            shares[name] = factor * other.flow.window * share
            paid[name] = own.paid[name] + each * share
    return Node(tree, joined(left.flow, right.flow, factor), shares, paid, (left, right), factor, price.cost, price)


def operators(node: Node) -> Iterator[Node]:
    """Give the selections and joins of a plan, each after its inputs."""
    for below in node.below:
        yield from operators(below)
    if node.below:
        yield node


def plan_cost(tree: Tree, query: WindowQuery) -> Number:
    """Return C(p): the time that the plan takes in a unit of time."""
    return sum(one.cost for one in operators(annotated(tree, query)))


def plan_memory(tree: Tree, query: WindowQuery) -> Number:
    """Return M(p): the rows that the plan's joins hold."""
    return sum(one.memory for one in operators(annotated(tree, query)))


def plan_flow(tree: Tree, query: WindowQuery) -> Flow:
    """Return the rate and the window of the plan's results."""
    return annotated(tree, query).flow


def cpu_shares(tree: Tree, query: WindowQuery) -> dict[str, float]:
    """Return each operator's share of the plan's time: the source's hint for a scheduler."""
    found = list(operators(annotated(tree, query)))
    total = sum(one.cost for one in found)
    return {str(one.tree): float(one.cost / total) if total else 0.0 for one in found}


def check_plan(tree: Tree, query: WindowQuery) -> None:
    """Raise if the plan does not read each stream once and apply each selection once, above its stream."""
    leaves, selections = [], []
    for one in _inside(tree):
        if isinstance(one, Leaf):
            leaves.append(one.stream)
        elif isinstance(one, Select):
            selections.append(one.selection)
            _check_selection(one, query)
    if sorted(leaves) != sorted(query.by_name) or sorted(selections) != sorted(query.selection_named):
        raise InvalidInput(
            f"the plan {tree} is none of this query",
            f"it must name once each: {', '.join((*query.names, *sorted(query.selection_named)))}",
        )


def _check_selection(one: Select, query: WindowQuery) -> None:
    known = query.selection_named.get(one.selection)
    if known is None or known.stream not in one.streams:
        raise InvalidInput(f"the plan applies {one.selection} where it cannot be applied", "put it above its stream")


def _inside(tree: Tree) -> Iterator[Tree]:
    yield tree
    if isinstance(tree, Select):
        yield from _inside(tree.below)
    elif isinstance(tree, Join):
        yield from _inside(tree.left)
        yield from _inside(tree.right)
