"""Play a stream through the literature's engines: their answers, operations, state, and what was lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tidewheel.commands.common import command
from tidewheel.commands.stream_plan import plan
from tidewheel.indexing.errors import InvalidInput
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.queries.literature.trace import Played, Trace


@click.group(short_help="Plan a join of streams, or play a stream through the literature's engines.")
def derive() -> None:
    """Plan a join of streams, or play a stream through the literature's engines.

    \b
    Examples:
      tidewheel derive plan --streams streams.toml
      tidewheel derive trace --stream Q1 --compare
    """


@command
@click.option(
    "--stream",
    required=True,
    metavar="QUERY",
    help="A generated one: Q1, Q1 telnet, Q2, Q2 pairs, Q3, Q4; Table 5.3, Table 5.5, Table 5.6.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME",
    help="NT, DIRECT, UPA(10), ...; of joins eager, eager_lazyexp, lazy_naive, lazy, lazyR, and lazy(10): with 10"
    " hash buckets.  [default: UPA(10); of a table lazyR]",
)
@click.option("--compare", is_flag=True, help="All engines side by side.")
@click.option("--window", default=50, show_default=True, type=click.IntRange(1, 10_000), help="In ticks.")
@click.option("--sources", default=20, show_default=True, type=click.IntRange(1), help="Different source IPs.")
@click.option("--ftp", default=0.3, show_default=True, type=click.FloatRange(0, 1), help="The share of ftp.")
@click.option(
    "--ticks", type=click.IntRange(1, 100_000), metavar="N", help="[default: 4 windows; of a table 150 units of time]"
)
@click.option(
    "--every",
    type=click.IntRange(1),
    metavar="N",
    help="Ticks from one run to the next.  [default: 1; of a table 10 units of time]",
)
@click.option(
    "--order",
    default="augmented",
    show_default=True,
    metavar="ORDER",
    help="Of a table's join: by size, initial, augmented, exhaustive, or 2,1,3,4.",
)
@click.option("--rows", type=click.IntRange(1), metavar="N", help="Of a table: count windows of N rows, not of time.")
@click.option("--simplify", is_flag=True, help="Play the simplest plan of those that rewrites reach: R1 to R9.")
@click.option("--internal", is_flag=True, help="INTERNAL windows: results stay when their tuples leave.")
@click.option(
    "--judge/--no-judge",
    default=None,
    help="Compare each answer with one from scratch (slow).  [default: judge; of a table not]",
)
@click.option("--seed", default=1, show_default=True, type=int, help="Of the generated stream.")
def trace(
    output: Output,
    stream: str,
    engines: tuple[str, ...],
    compare: bool,
    window: int,
    sources: int,
    ftp: float,
    ticks: int | None,
    every: int | None,
    order: str,
    rows: int | None,
    simplify: bool,
    internal: bool,
    judge: bool | None,
    seed: int,
) -> None:
    """Play the queries of the literature's experiments through its engines, and count.

    Q1 joins two links on the source IP (ftp; `Q1 telnet` has ten times the results), Q2 asks for distinct sources,
    Q3 for those of the first link that the second has not, Q4 joins that with a third link (`Q4 join up`: with the
    negation below the join). NT tells of every end by a negative tuple, DIRECT looks at each record's end, UPA(n)
    chooses by the update pattern of each edge, with calendar queues of n days.

    The tables are joins of four windows by one attribute. eager joins each tuple as it comes, lazy joins at each run
    and loses results that came and went in between, lazyR reports those late.

    \b
    Examples:
      tidewheel derive trace --stream Q1 --engine 'UPA(10)'
      tidewheel derive trace --stream Q3 --compare --every 10
      tidewheel derive trace --stream 'Q1 telnet' --engine NT --every 5 --json
      tidewheel derive trace --stream 'Table 5.5' --engine eager --engine 'lazy(10)' --engine 'lazyR(10)'
    """  # fmt: skip
    from tidewheel.queries.literature.engines import NAMES
    from tidewheel.queries.literature.joins.tables import TABLES, TableWindows, play_table
    from tidewheel.queries.literature.patterns.generated_streams import Links
    from tidewheel.queries.literature.patterns.playing import play_links
    from tidewheel.queries.literature.trace import judged
    from tidewheel.queries.statements.rewrites.search import simplified

    is_table = stream in TABLES
    chosen = NAMES if compare else engines or _default_engines(is_table)
    if is_table:
        played = play_table(stream, order, ticks or 150, every or 10, seed, TableWindows(internal, rows))
    else:
        links = Links(window, sources, ftp, seed)
        played = play_links(stream, links, ticks or 4 * window, every or 1, internal=internal)
    if simplify:
        played = replace(played, plan=simplified(played.plan))
    with output.working("playing"):
        truth = judged(played) if (not is_table if judge is None else judge) else None
        found = _traces(played, chosen, is_compared=compare or len(chosen) > 1)

    from tidewheel.views.tracing import trace_json, traces_view

    output.show(trace_json(played, found, truth), lambda: traces_view(played, found, truth))


def _default_engines(is_table: bool) -> tuple[str, ...]:
    return ("lazyR",) if is_table else ("UPA(10)",)


def _traces(played: Played, names: tuple[str, ...], *, is_compared: bool) -> dict[str, Trace | InvalidInput]:
    """Return each engine's trace; among several, one that refuses the plan is a line as well."""
    from tidewheel.queries.literature.engines import trace

    found: dict[str, Trace | InvalidInput] = {}
    for name in names:
        try:
            found[name] = trace(name, played)
        except InvalidInput as refused:
            if not is_compared:
                raise
            found[name] = refused
    return found


for _leaf in (plan, trace):
    derive.add_command(_leaf)
