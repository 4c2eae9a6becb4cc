"""The cheapest plan by dynamic programming over sets of streams and of selections that were applied to them.

Ayad and Naughton 2004, section 4, only say that it applies; the steps are ours. It applies because the rate and the
window of a set of streams do not depend on the plan below (Observation 1), so the best plan of a set is made of best
plans of its parts. A selection may lie anywhere: an expensive one above a join that lets little through can win. The
same recursion finds the dearest plan, and the one that holds the fewest rows.

Costs 3^n bushy, n·2^n left-deep, times 2^q for q selections. Above ten selections each is applied at its stream, by
rank. Of plans that cost the same (to 1e-12) the one with the smaller text is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.filter_order import by_rank
from tidewheel.queries.literature.optimiser.join_prices import join_price
from tidewheel.queries.literature.optimiser.plan_tree import Join, Leaf, Select, Tree
from tidewheel.queries.literature.optimiser.rates import Flow
from tidewheel.queries.literature.optimiser.window_query import Selection, WindowQuery, components
from tidewheel.queries.statements.join_sizes import Number

BUSHY_MAX = 14
SELECTIONS_MAX = 10
SAME = 1e-12  # costs that differ by less are equal


@dataclass(frozen=True)
class Found:
    """A plan and its cost or memory, whichever was looked for."""

    value: Number
    tree: Tree


class _Best:
    """The best plan of a set so far, its text, and between which values another one is as good."""

    def __init__(self, value: Number, text: str, tree: Tree) -> None:
        self.value, self.text, self.tree = value, text, tree
        self.entering = value  # with what it adds where it is joined
        room = SAME * abs(float(value))
        self.low, self.high = value - room, value + room


def best_plan(
    query: WindowQuery,
    metric: str = "cpu",
    *,
    left_deep: bool = False,
    cartesian: bool = True,
    worst: bool = False,
) -> Found:
    """Return the cheapest plan, by "cpu" or "memory"; with `worst`, the dearest."""
    if metric not in ("cpu", "memory"):
        raise InvalidInput(f"no plan by '{metric}'", "look for one by cpu or memory")
    if len(query.streams) > BUSHY_MAX and not left_deep:
        raise InvalidInput(
            f"the best of all plans of {len(query.streams)} streams takes too long",
            f"look for the best left-deep one above {BUSHY_MAX} streams",
        )
    if not cartesian and len(components(query)) > 1:
        apart = "; ".join(", ".join(part) for part in components(query))
        raise InvalidInput(
            f"no predicate connects these streams: {apart}", "allow Cartesian products, or name a predicate"
        )
    return _Search(query, metric, left_deep, cartesian, worst).found()


class _Search:
    """Sets of streams are bits of a number, as are the selections that were applied to them."""

    def __init__(self, query: WindowQuery, metric: str, left_deep: bool, cartesian: bool, worst: bool) -> None:
        self.query, self.left_deep, self.cartesian = query, left_deep, cartesian
        self.names = query.names
        self.is_cpu = metric == "cpu"
        self.sign = -1 if worst else 1
        self.free = [one for _, one in sorted(query.selection_named.items())]
        self.pushed: list[Selection] = []
        if len(self.free) > SELECTIONS_MAX:
            self.free, self.pushed = [], by_rank(self.free)
        self.best: dict[tuple[int, int], _Best] = {}
        self.on = [sum(1 << place for place, one in enumerate(self.free) if one.stream == name) for name in self.names]
        self.factors = [[query.factors.get(frozenset((one, other)), 1) for other in self.names] for one in self.names]
        self.linked = [
            sum(1 << place for place, other in enumerate(self.names) if frozenset((one, other)) in query.factors)
            for one in self.names
        ]
        self.apart = self._apart()
        self.here = self._selections_on()

    def _apart(self) -> Callable[[Flow], Number] | None:
        """Return what each input of a join adds by itself; None where the price depends on both."""
        if not self.is_cpu:
            return lambda flow: flow.window
        first = self.query.methods[0]
        if len(self.query.methods) > 1 or first.per_row or first.per_match:
            return None
        return lambda flow: flow.rate * first.tau

    def _together(self, one: int, other: int, applied: int) -> Number:
        """Return what a join costs whose price depends on both inputs."""
        left, right = (self._flow(part, applied & self.here[part]) for part in (one, other))
        return self.sign * join_price(left, right, self.query.methods, self._between(one, other)).cost

    def _between(self, one: int, other: int) -> Number:
        found: Number = 1
        for here in _bits(one):
            for there in _bits(other & self.linked[here]):
                found = found * self.factors[here][there]
        return found

    def _selections_on(self) -> list[int]:
        """Return, for each set of streams, the selections on them."""
        found = [0]
        for streams in range(1, 1 << len(self.names)):
            found.append(self.on[_lowest(streams)] | found[streams & (streams - 1)])
        return found

    def found(self) -> Found:
        everything = (1 << len(self.names)) - 1
        self._flows(everything)
        for streams in range(1, everything + 1):
            if self._is_reached(streams):
                self._solve(streams)
        best = self.best[everything, (1 << len(self.free)) - 1]
        return Found(best.value * self.sign, best.tree)

    def _flows(self, everything: int) -> None:
        """Compute the rate and window of every set, and the share that each set of selections keeps."""
        self.flows = {0: Flow(0, 1)}
        for streams in range(1, everything + 1):
            place = _lowest(streams)
            rest = streams & (streams - 1)
            factor = self._between(1 << place, rest)
            own, below = self._leaf_flow(place), self.flows[rest]
            rate = factor * (own.rate * below.window + own.window * below.rate)
            self.flows[streams] = Flow(rate, factor * own.window * below.window)
        self.kept: list[Number] = [1]
        for applied in range(1, 1 << len(self.free)):
            self.kept.append(self.free[_lowest(applied)].factor * self.kept[applied & (applied - 1)])

    def _leaf_flow(self, place: int) -> Flow:
        stream = self.query.by_name[self.names[place]]
        rate, window = stream.rate, stream.window
        for one in self._pushed_on(place):
            rate, window = rate * one.factor, window * one.factor
        return Flow(rate, window)

    def _pushed_on(self, place: int) -> list[Selection]:
        return [one for one in self.pushed if one.stream == self.names[place]]

    def _is_reached(self, streams: int) -> bool:
        """Return whether the set may be a part of a plan: all are, unless products are left out."""
        if self.cartesian:
            return True
        reached, grown = 0, streams & -streams
        while grown != reached:
            reached = grown
            for place in _bits(reached):
                grown |= self.linked[place] & streams
        return reached == streams

    def _solve(self, streams: int) -> None:
        for applied in _within(self.here[streams]):
            best = self._leaf(streams) if not applied and not streams & (streams - 1) else None
            best = self._selected(streams, applied, best)
            best = self._joined(streams, applied, best)
            assert best is not None
            best.entering = best.value
            if self.apart is not None:
                best.entering = best.value + self.sign * self.apart(self._flow(streams, applied))
            self.best[streams, applied] = best

    def _flow(self, streams: int, applied: int) -> Flow:
        flow = self.flows[streams]
        return Flow(flow.rate * self.kept[applied], flow.window * self.kept[applied]) if applied else flow

    def _leaf(self, streams: int) -> _Best:
        place = _lowest(streams)
        tree: Tree = Leaf(self.names[place])
        value: Number = 0
        rate = self.query.by_name[self.names[place]].rate
        for one in self._pushed_on(place):
            value, rate, tree = value + self.is_cpu * one.price * rate, rate * one.factor, Select(one.name, tree)
        return _Best(value * self.sign, str(tree), tree)

    def _selected(self, streams: int, applied: int, best: _Best | None) -> _Best | None:
        for place in _bits(applied):
            one, before = self.free[place], applied & ~(1 << place)
            below = self.best[streams, before]
            price = one.price * self._flow(streams, before).rate if self.is_cpu else 0
            value = below.value + self.sign * price
            if best is None or value <= best.high:
                text = f"{one.name}[{below.text}]"
                if _is_better(value, text, best):
                    best = _Best(value, text, Select(one.name, below.tree))
        return best

    def _joined(self, streams: int, applied: int, best: _Best | None) -> _Best | None:
        chosen: tuple[_Best, _Best] | None = None
        for one in self._firsts(streams):
            other = streams ^ one
            left = self.best.get((one, applied & self.here[one]))
            right = self.best.get((other, applied & self.here[other]))
            if left is None or right is None:
                continue
            value = left.entering + right.entering
            if self.apart is None:
                value = value + self._together(one, other, applied)
            if best is None or value <= best.high:
                text = f"({left.text} {right.text})"
                if _is_better(value, text, best):
                    best, chosen = _Best(value, text, left.tree), (left, right)
        if best is not None and chosen is not None:
            best.tree = Join(chosen[0].tree, chosen[1].tree)
        return best

    def _firsts(self, streams: int) -> list[int]:
        """Return the parts of a set with its first stream, each of which is one way to split it in two."""
        first = streams & -streams
        rest = streams ^ first
        if self.left_deep:
            others = [streams ^ (1 << place) for place in _bits(rest)]
            return [first, *others] if rest & (rest - 1) else [first] * bool(rest)
        found = []
        part = rest
        while part:
            part = (part - 1) & rest
            found.append(first | part)
        return found


def _is_better(value: Number, text: str, best: _Best | None) -> bool:
    """Return if a plan is cheaper than the best so far, or as cheap with a smaller text."""
    if best is None or value < best.low:
        return True
    return value <= best.high and text < best.text


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> Iterator[int]:
    while bits:
        yield _lowest(bits)
        bits &= bits - 1


def _within(bits: int) -> Iterator[int]:
    """Give every part of a set of bits, each after its own parts."""
    part = 0
    while True:
        yield part
        if part == bits:
            return
        part = (part - bits) & bits
