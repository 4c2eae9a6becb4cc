"""Plan a join of streams that a file describes: order, cost, memory, and what to drop where nothing fits."""

from __future__ import annotations

from pathlib import Path

import click

from tidewheel.commands.common import command
from tidewheel.output import Output


@command
@click.option(
    "--streams",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML or JSON file with rates, windows, selectivities and prices.",
)
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="TIME",
    help="Time of work per unit of time.  [default: the file's, or 1]",
)
@click.option("--drop", is_flag=True, help="Drop random records where no plan fits, so that the most results are kept.")
@click.option(
    "--window-of",
    type=click.Choice(["arrivals", "survivors"]),
    default="arrivals",
    show_default=True,
    help="A window of rows holds the last that came, or the last that were kept: these make results that are not true.",
)
@click.option("--fewest-rows", is_flag=True, help="Of the plans that fit, the one that holds the fewest rows.")
@click.option(
    "--rows-max", type=click.FloatRange(0, min_open=True), metavar="N", help="The rows that there is room for."
)
@click.option(
    "--what-if", is_flag=True, help="Also every plan of up to four streams, and what other budgets would keep."
)
@click.option(
    "--simulate",
    type=click.FloatRange(0, 100_000, min_open=True),
    metavar="TIME",
    help="Play random arrivals for so many units of time, and show what was counted beside what is predicted.",
)
@click.option("--seed", default=1, show_default=True, type=int, help="Of the simulated arrivals and drops.")
def plan(
    output: Output,
    path: Path,
    budget: float | None,
    drop: bool,
    window_of: str,
    fewest_rows: bool,
    rows_max: float | None,
    what_if: bool,
    simulate: float | None,
    seed: int,
) -> None:
    """Choose the plan of a window join, and tell whether it fits its budget and what it would have to drop.

    Rates are records per unit of time, prices are times. The regime is abundant if every plan fits, tight if some
    do, insufficient if none does: then --drop tells how much of each stream to keep so that the most results stay.

    \b
    streams.toml, for example:
      budget = 1.0
      join_price = 0.005       # for each record that comes into a join
      [[stream]]
      name = "clicks"
      rate = 70
      rows = 10                # the window; or length = 0.5, in units of time
      [[stream]]
      name = "orders"
      rate = 20
      rows = 10
      keep_at_least = 0.2      # of drops; weight with --window-of survivors
      [[join]]
      on = ["clicks", "orders"]
      selectivity = 0.2        # or distinct = [5, 4]
      [[selection]]
      name = "paid"
      on = "orders"
      selectivity = 0.5
      price = 0.001

    There are also [[table]] with name and rows; [[method]] with name, probe, insert, invalidate, per_row and
    per_match in place of join_price; headroom and drop_price beside budget.

    \b
    Examples:
      tidewheel derive plan --streams streams.toml
      tidewheel derive plan --streams streams.toml --budget 0.3 --drop --what-if
      tidewheel derive plan --streams streams.toml --budget 0.3 --drop --simulate 20 --json
    """  # fmt: skip
    from tidewheel.queries.literature.optimiser.advice import advice, budgets_beside, plans_beside
    from tidewheel.queries.literature.optimiser.drops.plan_drops import Bounds
    from tidewheel.queries.literature.optimiser.regimes import optimise, refused
    from tidewheel.queries.literature.optimiser.simulation import simulated
    from tidewheel.stream_file import read_stream_file

    told = read_stream_file(path)
    bounds = Bounds(window_of, told.least, told.weights)
    time = told.time(budget)
    with output.working("planning"):
        choice = optimise(told.query, time, "memory" if fewest_rows or rows_max else "cpu", rows_max)
        found = advice(told.query, choice, bounds)
        plans = plans_beside(told.query, time, bounds) if what_if else []
        budgets = budgets_beside(told.query, bounds) if what_if else []
    shown = found if drop else found.without_drops()
    with output.working("simulating"):
        keep = shown.drops.keep if shown.drops else None
        played = simulated(shown.tree, told.query, simulate, seed, keep, window_of) if simulate else None

    from tidewheel.views.stream_plans import stream_plan_json, stream_plan_view

    output.show(
        stream_plan_json(shown, plans, budgets, played), lambda: stream_plan_view(shown, plans, budgets, played)
    )
    if found.drops and not drop:
        raise refused(choice, found.drops.kept_share)
