"""The command `query plan`: what standing queries would share, what that costs, and how late answers would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tidewheel.commands.common import ARCHIVE, COUNT_MAX, command, opened
from tidewheel.output import Output


@command
@ARCHIVE
@click.option("--planner", default="Settle", show_default=True, metavar="P", help="Who chooses the trees.")
@click.option("--compare", is_flag=True, help="Show what every planner makes of these queries.")
@click.option(
    "--model",
    type=click.Choice(("measured", "published", "exact")),
    default="measured",
    show_default=True,
    help="Cost: seconds of work here; or operations, as the literature has them or as they are counted (an estimate "
    "for FlatFIT over more than 4,000 partials).",
)
@click.option(
    "--technique",
    default="Panes",
    show_default=True,
    metavar="T",
    help="With operations: of which technique of final aggregation.",
)
@click.option(
    "--rate",
    "rate_per_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Records a second, instead of those of the last slots.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1, max=COUNT_MAX),
    default=1,
    show_default=True,
    metavar="N",
    help="Place the trees on so many workers.",
)
@click.option(
    "--objective",
    type=click.Choice(("total", "balance")),
    default="total",
    show_default=True,
    help="Of several workers: the least work in all, or the least for the busiest.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the trees over time, as FILE.png or FILE.svg.",
)
@click.option("--schedule", is_flag=True, help="Show what every scheduler makes of these queries instead.")
@click.option(
    "--budget",
    "budget_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --schedule or --what-if: seconds of work per slot; by default all the time from one to the next.",
)
@click.option(
    "--what-if",
    "what_if",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Show what the queries of this file would come to beside those that are there.",
)
def plan(
    output: Output,
    archive: str,
    rate_per_s: float | None,
    schedule: bool,
    budget_s: float | None,
    what_if: Path | None,
    plot: Path | None,
    **asked: Any,
) -> None:
    """Show which standing queries would share partials, what that costs, and what it saves.

    The plan is made of the queries as they are and of the records that came lately; it changes nothing. With --schedule
    it tells how late answers would be if a refresh had only so much time; with --what-if whether new queries would be
    answered from what is kept, and how late all would be then.

    \b
    Examples:
      tidewheel plan netflow
      tidewheel plan netflow --compare
      tidewheel plan netflow --model published --planner "Weave Share" --rate 500
      tidewheel plan netflow --model exact --technique "SlickDeque (Inv)"
      tidewheel plan netflow --nodes 4 --objective balance --json
      tidewheel plan netflow --nodes 4 --compare
      tidewheel plan netflow --plot plan.svg
      tidewheel plan netflow --schedule --budget 0.5
      tidewheel plan netflow --what-if drafts/new.toml --budget 0.5
    """
    from tidewheel.plans import Asked

    if schedule or what_if:
        _look_ahead(output, archive, what_if, budget_s=budget_s, rate_per_s=rate_per_s)
        return
    with opened(output, archive, "planning") as opened_archive:
        plans = opened_archive.queries.plan(Asked(**asked), rate_per_s=rate_per_s)
    if plot:
        from tidewheel.figures.plan_figure import draw_plans

        draw_plans(plans, plot)

    from tidewheel.views.plans import plans_view

    output.show({"pools": [one.to_json() for one in plans]}, lambda: plans_view(plans))


def _look_ahead(output: Output, archive: str, what_if: Path | None, **how: Any) -> None:
    """Schedules, of the queries that are there or with those of a file."""
    from tidewheel.views.schedules import scheduled_view, what_if_view

    with opened(output, archive, "planning") as opened_archive:
        queries = opened_archive.queries
        if what_if is None:
            told = queries.schedule(**how)
            output.show({"schedule": told and told.to_json()}, lambda: scheduled_view(told))
        else:
            found = queries.what_if(what_if, **how)
            output.show(found.to_json(), lambda: what_if_view(found))
