"""Assembles operators at work for a plan: each with its structures and the way in which its edges tell of ends.

An edge's way follows from the approach and from where strict operators are (section 3.5). An input whose ends
need not be told, beside one whose ends are, is materialised: it then tells of them as well. A time window gives its
tuples their end where they enter; only negative tuples need it stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import ge, le
from typing import Any

from tidewheel.queries.literature.patterns.approach import Approach, Way
from tidewheel.queries.literature.patterns.nodes import Node
from tidewheel.queries.literature.patterns.operators.anti_join import AntiJoin
from tidewheel.queries.literature.patterns.operators.bag_difference import BagDifference
from tidewheel.queries.literature.patterns.operators.counted_distinct import CountedDistinct
from tidewheel.queries.literature.patterns.operators.delta_star import DeltaStar
from tidewheel.queries.literature.patterns.operators.group_by import GroupBy
from tidewheel.queries.literature.patterns.operators.join import Join
from tidewheel.queries.literature.patterns.operators.naive_distinct import NaiveDistinct
from tidewheel.queries.literature.patterns.operators.operator import Edge, Values, Working, columns_of
from tidewheel.queries.literature.patterns.operators.pruned_extreme import PrunedExtreme
from tidewheel.queries.literature.patterns.operators.relations import NonRetroactiveJoin, RetroactiveJoin, Table
from tidewheel.queries.literature.patterns.operators.stateless import Stateless
from tidewheel.queries.literature.patterns.operators.windows import CountWindow, Materialised, PredicateWindow
from tidewheel.queries.literature.patterns.stores import direct_store, longest_life, store_for
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.store import Store
from tidewheel.queries.statements import plan as plans
from tidewheel.queries.statements.conditions import COMPARE, Comparison
from tidewheel.queries.statements.labels import Labelled, Pattern, labelled


class Assembler:
    """`tells_all`: every edge tells of every end, by NT or because a window has no other way."""

    def __init__(self, plan: plans.Operator, approach: Approach, steps: Steps) -> None:
        counted = any(isinstance(one, plans.CountWindow | plans.PredicateWindow) for one in plans.operators(plan))
        self.approach, self.steps = approach, steps
        self.tells_all = approach.way is Way.NT or (approach.way is Way.UPA and counted)
        self._root = plan

    def node(self) -> Node:
        """Return the plan at work."""
        return self._node(labelled(self._root), None)

    def _node(self, one: Labelled, window: plans.TimeWindow | None) -> Node:
        operator, year = one.operator, longest_life(one.operator)
        if isinstance(operator, plans.Stream):
            return _leaf(operator, window, one.label.pattern, year)
        if isinstance(operator, plans.TimeWindow):
            below = self._node(one.inputs[0], operator)
            below.pattern, below.year = one.label.pattern, year
            return self._told(below) if self.tells_all else below
        inputs = self._alike([self._node(below, window) for below in one.inputs])
        node = Node(None, self._edge(one.label.pattern, inputs), one.label.pattern, year, inputs)
        if isinstance(operator, plans.RelationJoin):
            node.relation = operator.relation.name
        node.working = self._working(operator, node)
        return node

    def _alike(self, inputs: list[Node]) -> tuple[Node, ...]:
        """Return the inputs, of which all tell of every end if one does."""
        if all(below.edge is not Edge.NEGATIVE for below in inputs):
            return tuple(inputs)
        return tuple(below if below.edge is Edge.NEGATIVE else self._told(below) for below in inputs)

    def _edge(self, pattern: Pattern, inputs: tuple[Node, ...]) -> Edge:
        if self.tells_all or any(below.edge is Edge.NEGATIVE for below in inputs):
            return Edge.NEGATIVE
        if pattern is Pattern.STR and self.approach.way is not Way.DIRECT:
            return Edge.EARLY if self.approach.early else Edge.NEGATIVE
        return Edge.EXP

    def _told(self, below: Node) -> Node:
        """Return a node that stores what leaves another one and tells of its ends."""
        if below.pattern is Pattern.MON:
            return replace(below, edge=Edge.NEGATIVE)
        store = store_for(self._aware, self.steps, below.edge, below.pattern, below.year)
        return Node(Materialised(store), Edge.NEGATIVE, below.pattern, below.year, (below,))

    @property
    def _aware(self) -> Approach:
        return replace(self.approach, way=Way.UPA)

    def store(self, below: Node) -> Store:
        """Return an empty structure for what leaves a node."""
        return store_for(self.approach, self.steps, below.edge, below.pattern, below.year)

    def _working(self, operator: plans.Operator, node: Node) -> Working:
        ways: dict[type[plans.Operator], Callable[[Any, Node], Working]] = {
            plans.CountWindow: self._count_window,
            plans.PredicateWindow: self._predicate_window,
            plans.Select: self._select,
            plans.Project: self._project,
            plans.Union: self._union,
            plans.Join: self._join,
            plans.RelationJoin: self._relation_join,
            plans.Distinct: self._distinct,
            plans.Negation: self._negation,
            plans.GroupBy: self._group_by,
        }
        return ways[type(operator)](operator, node)

    def _count_window(self, one: plans.CountWindow, node: Node) -> Working:
        return CountWindow(self.steps, one.rows, columns_of(one.columns, one.per))

    def _predicate_window(self, one: plans.PredicateWindow, node: Node) -> Working:
        return PredicateWindow(self.steps, columns_of(one.columns, one.key), all_hold(one.columns, one.conditions))

    def _select(self, one: plans.Select, node: Node) -> Working:
        holds = all_hold(one.columns, one.conditions)
        return Stateless(lambda record: record if holds(record) else None)

    def _project(self, one: plans.Project, node: Node) -> Working:
        kept = columns_of(one.input.columns, one.kept)
        return Stateless(lambda record: record._replace(values=kept(record)))

    def _union(self, one: plans.Union, node: Node) -> Working:
        return Stateless(lambda record: record)

    def _join(self, one: plans.Join, node: Node) -> Working:
        left, right = node.inputs
        return Join(self.steps, (self.store(left), self.store(right)), _keys(one, one.on), left.edge)

    def _relation_join(self, one: plans.RelationJoin, node: Node) -> Working:
        places = [one.relation.columns.index(column) for _, column in one.on]
        key = columns_of(one.input.columns, [column for column, _ in one.on])
        table = Table(one.relation.name, places, once=not one.relation.retroactive)
        if not one.relation.retroactive:
            return NonRetroactiveJoin(self.steps, table, key)
        return RetroactiveJoin(self.steps, self.store(node.inputs[0]), table, key, (node.inputs[0].edge, node.edge))

    def _distinct(self, one: plans.Distinct, node: Node) -> Working:
        (below,) = node.inputs
        values = columns_of(one.input.columns, one.values)
        by_counters = one.counters or (below.pattern is Pattern.STR and self.approach.way is Way.UPA)
        if by_counters:
            return CountedDistinct(self.steps, self._unless_told(below), values)
        out = self._results(node)
        if self.approach.way is Way.UPA and not self.tells_all:
            return DeltaStar(self.steps, out, values, node.edge)
        in_order = below.pattern in (Pattern.MON, Pattern.WKS)
        return NaiveDistinct(self.steps, self.store(below), out, values, node.edge, in_order=in_order)

    def _results(self, node: Node) -> Store:
        """Return an empty structure for an operator's own results, which it asks for their ends."""
        (below,) = node.inputs
        if below.edge is Edge.NEGATIVE or below.pattern is Pattern.MON:
            return store_for(self.approach, self.steps, Edge.NEGATIVE, node.pattern, node.year)
        return direct_store(self.approach, self.steps, Edge.EXP, node.year)

    def _unless_told(self, below: Node) -> Store | None:
        return None if below.edge is Edge.NEGATIVE else self.store(below)

    def _negation(self, one: plans.Negation, node: Node) -> Working:
        stores = (self.store(node.inputs[0]), self.store(node.inputs[1]))
        keys = _keys(one, one.on)
        if one.bag:
            return BagDifference(self.steps, stores, keys, node.edge, self.approach.policy)
        return AntiJoin(self.steps, stores, keys, (node.inputs[0].edge, node.edge))

    def _group_by(self, one: plans.GroupBy, node: Node) -> Working:
        (below,) = node.inputs
        by = columns_of(one.input.columns, one.by)
        folds = [
            (fold.function, columns_of(one.input.columns, [fold.column]) if fold.column else None) for fold in one.folds
        ]
        replaces, is_one = one is self._root, not one.by
        (function, value), *more = folds
        is_direct = below.edge is Edge.EXP and self.approach.way is Way.UPA
        if is_direct and value is not None and function in ("max", "min") and not more:
            kept = direct_store(self.approach, self.steps, Edge.EARLY, below.year)
            is_better = ge if function == "max" else le
            return PrunedExtreme(self.steps, kept, by, value, is_better, replaces=replaces, is_one=is_one)
        return GroupBy(self.steps, self._unless_told(below), by, folds, replaces=replaces, is_one=is_one)


def _leaf(stream: plans.Stream, window: plans.TimeWindow | None, pattern: Pattern, year: int) -> Node:
    node = Node(None, Edge.EXP, pattern, year, stream=stream.name)
    if window is not None:
        node.lifetime, node.is_internal = window.length, window.internal
    return node


def all_hold(columns: tuple[str, ...], conditions: tuple[Comparison, ...]) -> Callable[[Record], bool]:
    """Return the test of a record for all conditions, its columns found beforehand; NULL fulfils none."""
    tests = [_test(columns, one) for one in conditions]
    return lambda record: all(test(record.values) for test in tests)


def _test(columns: tuple[str, ...], one: Comparison) -> Callable[[tuple[Any, ...]], bool]:
    compare, left = COMPARE[one.sign], columns.index(one.column)
    if one.with_column:
        right = columns.index(one.value)
        return lambda row: row[left] is not None and row[right] is not None and bool(compare(row[left], row[right]))
    return lambda row: row[left] is not None and bool(compare(row[left], one.value))


def _keys(one: plans.Binary, on: plans.Pairs) -> tuple[Values, Values]:
    ours, theirs = zip(*on, strict=True)
    return columns_of(one.left.columns, ours), columns_of(one.right.columns, theirs)
