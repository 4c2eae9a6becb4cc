"""The chapter's three examples as streams to play: rates, windows and domains of Tables 5.3, 5.5 and 5.6.

Table 5.5 prints a rate of 100 where 10 gives the costs of its text; 10 is played. Time is in turns of the generator,
Σλ of them a unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.generated_arrivals import generate, turns_per_unit
from tidewheel.queries.literature.trace import Played
from tidewheel.queries.statements.history import Arrival, History
from tidewheel.queries.statements.join_costs import Order, check_order, cost
from tidewheel.queries.statements.join_orders import ORDERINGS
from tidewheel.queries.statements.join_sizes import JoinInput, lost_share, result_rate, size
from tidewheel.queries.statements.plan import CountWindow, Join, Operator, Stream, TimeWindow

TABLES: dict[str, tuple[JoinInput, ...]] = {
    "Table 5.3": (JoinInput(10, 100, 500), JoinInput(1, 100, 50), JoinInput(1, 200, 40), JoinInput(3, 100, 5)),
    "Table 5.5": (JoinInput(10, 100, 40), JoinInput(1, 100, 100), JoinInput(1, 100, 8), JoinInput(1, 100, 5)),
    "Table 5.6": (JoinInput(11, 100, 200), JoinInput(10, 100, 100), JoinInput(1, 100, 65), JoinInput(1, 100, 20)),
}

_ROWS_MAX = 2_000_000


def order_of(name: str, inputs: tuple[JoinInput, ...]) -> Order:
    """Return an order by the name of its search, or as written: 2,1,3,4.

    >>> order_of("augmented", TABLES["Table 5.5"]), order_of("2,1,3,4", TABLES["Table 5.5"])
    ((1, 0, 2, 3), (1, 0, 2, 3))
    """
    if name in ORDERINGS:
        return ORDERINGS[name](inputs).order
    numbers = name.replace(",", " ").split()
    if not all(number.isdigit() for number in numbers):
        raise InvalidInput(f"no order is named {name}", f"there are {', '.join(ORDERINGS)}, or write 2,1,3,4")
    order = tuple(int(number) - 1 for number in numbers)
    check_order(order, len(inputs))
    return order


@dataclass(frozen=True)
class TableWindows:
    """The windows of a table's streams: of time, as printed, INTERNAL if so asked, or the newest `rows` tuples."""

    internal: bool = False
    rows: int | None = None

    def over(self, place: int, one: JoinInput, turns: int) -> Operator:
        stream = Stream(f"S{place + 1}", ("key", "turn"))
        if self.rows is not None:
            return CountWindow(stream, self.rows)
        return TimeWindow(stream, int(one.length * turns), self.internal)


AS_PRINTED = TableWindows()


def play_table(name: str, order: str, units: int, every: int, seed: int, windows: TableWindows = AS_PRINTED) -> Played:
    """Return a table's join and its stream for so many units of time, run every so many units.

    >>> play_table("Table 5.5", "augmented", units=1, every=1, seed=7).plan.title
    '⋈ S2.key = S4.key'
    """
    inputs = TABLES[name]
    turns = turns_per_unit(inputs)
    _check(inputs, units, every, windows)
    order_found = order_of(order, inputs)
    streams = [windows.over(place, inputs[place], turns) for place in order_found]
    arrivals = [
        Arrival(f"S{stream + 1}", int(record.ts), (record.values[0], int(record.ts)))
        for stream, record in generate(inputs, units, seed)
    ]
    expected = "" if windows.rows else _expected(order_found, inputs, every)
    plan = reduce(_joined, streams)
    return Played(plan, History(tuple(arrivals)), units * turns, every * turns, windows.internal, expected)


def _check(inputs: tuple[JoinInput, ...], units: int, every: int, windows: TableWindows) -> None:
    """Refuse what has no run, and what would keep more answers than memory holds."""
    if every > units:
        raise InvalidInput(f"a run every {every} units, of {units}", "run more often, or play more units")
    if windows.internal and windows.rows:
        raise InvalidInput("INTERNAL is of time windows, and --rows asks for count windows", "leave one of them away")
    rows = float(size(inputs)) * units / every
    if rows > _ROWS_MAX and not windows.rows:
        raise InvalidInput(
            f"the answers of {units // every:,} runs are about {rows:,.0f} rows, more than {_ROWS_MAX:,}",
            "run less often (--every), or play fewer units (--ticks)",
        )


def _expected(order: Order, inputs: tuple[JoinInput, ...], every: int) -> str:
    """Return what the cost model says of the order, and what runs would lose."""
    shortest = min(one.length for one in inputs)
    lost = f"{float(lost_share(inputs, every)):.1%} of the results" if every <= shortest else "nearly all results"
    return (
        f"expected with full windows, in the order {', '.join(str(one + 1) for one in order)}, per unit of "
        f"{turns_per_unit(inputs)} ticks: {float(cost(order, inputs)):,.0f} comparisons, "
        f"{float(result_rate(inputs)):,.0f} results; a run every {every} units without restore loses {lost}"
    )


def _joined(plan: Operator, one: Operator) -> Operator:
    return Join(plan, one, ((plan.columns[0], one.columns[0]),))
