"""Isolation of reads under updates, as the literature tells it: classify a history, compare schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tidewheel.commands.common import archive_argument, command, opened
from tidewheel.indexing.durations import MICROS_PER_UNIT, parse_duration
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.isolation_measures import Measured

SHOWN = ("serial", "ws", "ws_single_copy", "lws", "ttu")


@click.group(short_help="Tell which isolation level a history keeps, and compare schedulers.")
def isolation() -> None:
    """Tell which isolation level a history of reads and slides keeps, and compare schedulers.

    \b
    Examples:
      tidewheel isolation classify 'r0 w5[0] c5 r1 r2 r3 r4 c'
      tidewheel isolation compare --columns 20
    """


@command
@click.argument("history")
@click.option("--columns", type=click.IntRange(min=1), metavar="N", help="Sub-windows.  [default: all that are named]")
@click.option("--first", type=int, metavar="M", help="The last slide before the history.  [default: follows from it]")
def classify(output: Output, history: str, columns: int | None, first: int | None) -> None:
    """Tell of each query in a history whether its answer is one true window, and which one.

    r0 is a read of sub-window 0 (r_Q1[0] by query Q1), w5[0] slide 5 writing sub-window 0, c5 its commit, c (c_Q1) a
    query's. WS: one true state of the window; SSI: one at least as new as the query's start; LWS: the newest at its
    commit; CPS: conflicts in the order of commits.

    \b
    Examples:
      tidewheel isolation classify 'r0 w5[0] c5 r1 w6[1] c6 r2 r3 r4 c'
      tidewheel isolation classify 'r_Q1[0] w5[0] r_Q2[0] r_Q2[1] w6[1] r_Q1[1]' --columns 5
    """  # fmt: skip
    from tidewheel.queries.literature.isolation.histories import read_history
    from tidewheel.queries.literature.isolation.levels import classify

    found = classify(read_history(history, columns, first))

    from tidewheel.views.isolation import classified_view

    output.show(found.to_json(), lambda: classified_view(found))


@command
@archive_argument(required=False)
@click.option("--columns", default=20, show_default=True, type=click.IntRange(1, 500), help="How many sub-windows.")
@click.option("--slide", default="1s", show_default=True, metavar="DURATION", help="Time from one slide to the next.")
@click.option("--groups", default=8, show_default=True, type=click.IntRange(1, 500), help="Groups of periodic queries.")
@click.option(
    "--one-time", default=0.0, show_default=True, type=click.FloatRange(0, 100), help="One-time queries a second."
)
@click.option(
    "--statement",
    default="select count(*) from (select distinct * from live)",
    show_default=True,
    metavar="SQL",
    help="For an archive: what is timed.",
)
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(1, 100), help="Runs to average.")
def compare(
    output: Output,
    archive: str | None,
    columns: int,
    slide: str,
    groups: int,
    one_time: float,
    statement: str,
    seeds: int,
) -> None:
    """Play queries under slides by each scheduler, and print staleness, aborts and response.

    The published experiment: one processor, periodic groups that take turns without a pause, one-time queries that
    go first; serial lets slides wait, ws reads the state of its start, lws and ttu the newest.

    With an archive its own times are played: a statement, read column by column of expiration, beside updates that
    take as long, and come as often, as its newest ones did. It says which level the archive can afford.

    \b
    Examples:
      tidewheel isolation compare netflow
      tidewheel isolation compare --columns 50 --slide 1s
      tidewheel isolation compare --columns 20 --slide 5s --groups 20 --one-time 1
    """  # fmt: skip
    from tidewheel.queries.literature.isolation.read_schedulers import scheduler_named
    from tidewheel.queries.literature.isolation.read_simulation import Setting, experiment

    times = _times(output, archive, statement) if archive else None
    setting = Setting(columns, parse_duration(slide) / MICROS_PER_UNIT["s"], groups, one_time)
    setting = times.setting if times else setting
    with output.working("playing"):
        figures = {name: experiment(setting, scheduler_named(name), range(700, 700 + seeds)) for name in SHOWN}

    from tidewheel.views.isolation import compared_view

    document = {"schedulers": figures} | ({"archive": times.to_json()} if times else {})
    output.show(document, lambda: compared_view(figures, times))


def _times(output: Output, archive: str, statement: str) -> Measured:
    from tidewheel.isolation_measures import measured

    with opened(output, archive, "timing the statement") as opened_archive:
        return measured(opened_archive, statement)


for _leaf in (classify, compare):
    isolation.add_command(_leaf)
