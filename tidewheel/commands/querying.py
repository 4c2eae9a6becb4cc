"""Standing queries: write, check and list them, refresh their answers, ask for these."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from tidewheel.commands.common import ARCHIVE, DRY_RUN, MOMENT, NODE, command, opened
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.standing import StandingQueries


@click.group(short_help="Write, check, test and explain standing queries.")
def query() -> None:
    """Write, check, test and explain standing queries: the files in archives/queries.

    \b
    Examples:
      tidewheel query check netflow
      tidewheel query list netflow
    """


@command
@ARCHIVE
def check(output: Output, archive: str) -> None:
    """Read the query files and tell all that is wrong with them, or how they are understood.

    \b
    Examples:
      tidewheel query check netflow
    """
    with opened(output, archive, "reading the queries") as opened_archive:
        queries = opened_archive.queries.check()

    from tidewheel.views.queries import queries_view

    output.show({"queries": [one.to_json() for one in queries]}, lambda: queries_view(queries))


@command
@ARCHIVE
def listing(output: Output, archive: str) -> None:
    """List the standing queries of an archive with their newest answers.

    \b
    Examples:
      tidewheel query list netflow
      tidewheel query list netflow --json
    """
    with opened(output, archive, "reading the queries") as opened_archive:
        queries = opened_archive.queries
        told = queries.standing()

    from tidewheel.views.queries import standing_view

    output.show({"queries": [one.to_json() for one in told]}, lambda: standing_view(told))
    _tell_wrong(output, queries, archive)


@command
@ARCHIVE
@click.argument("name")
def show(output: Output, archive: str, name: str) -> None:
    """Show what a query means, as plain SQL for its newest report, and where its answers are stored.

    The SQL runs as it is printed: tidewheel sql netflow "$(tidewheel query show netflow top_talkers)". The columns are
    those of the table NAME.answers, for readers without views.

    \b
    Examples:
      tidewheel query show netflow top_talkers
    """
    with opened(output, archive, "reading the query") as opened_archive:
        queries = opened_archive.queries
        sql, part, columns = queries.as_sql(name), queries.query(name).part, queries.stored_columns(name)

    from tidewheel.views.queries import shown_view

    output.show({"query": name, "sql": sql, "part": part, "columns": columns}, lambda: shown_view(sql, part, columns))


@command
@ARCHIVE
@click.argument("name")
@click.option("--technique", default="", metavar="T", help="What this one would cost; refused if it would be wrong.")
@click.option("--shared", is_flag=True, help="Cost of one state for all windows of the query's tree.")
def explain(output: Output, archive: str, name: str, technique: str, shared: bool) -> None:
    """Explain a query: its tree and fragments, what is covered, why it would be redone, what each technique would cost.

    Costs are the operations of a technique for each fragment, of which a slide has one or two, and each group.

    \b
    Examples:
      tidewheel query explain netflow top_talkers
      tidewheel query explain netflow top_talkers --technique FlatFIT
      tidewheel query explain netflow top_talkers --shared --json
    """
    with opened(output, archive, "comparing") as opened_archive:
        queries = opened_archive.queries
        told = queries.explain(name, technique=technique, shared=shared)

    from tidewheel.views.queries import explained_view

    output.show(told.to_json(), lambda: explained_view(told))
    _tell_wrong(output, queries, archive)


@command
@ARCHIVE
def test(output: Output, archive: str) -> None:
    """Run the tests that query files hold: rows in, answers out.

    \b
    Examples:
      tidewheel query test netflow
    """
    with opened(output, archive, "testing") as opened_archive:
        tested = opened_archive.queries.test()

    from tidewheel.views.queries import tests_view

    output.show({"tests": tested}, lambda: tests_view(tested))


@command
@ARCHIVE
@click.argument("name")
@click.option("--yes", is_flag=True, help="Write over a file that is there.")
def new(output: Output, archive: str, name: str, yes: bool) -> None:
    """Write a query file to begin with, made of the archive's own columns.

    \b
    Examples:
      tidewheel query new netflow my_count
    """
    with opened(output, archive, "looking at the columns") as opened_archive:
        path = opened_archive.queries.new(name, replace=yes)
    output.show(
        {"file": str(path)}, lambda: f"{path} was written; check it: tidewheel query check {shlex.quote(archive)}"
    )


@command
def schema(output: Output) -> None:
    """Print what editors know of query files, as a JSON schema.

    \b
    Examples:
      tidewheel query schema --json
    """
    from tidewheel.queries.standing.query_schema import query_file_schema

    told = query_file_schema()
    output.show(told, lambda: json.dumps(told, indent=2))


for _name, _command in (("new", new), ("check", check), ("test", test), ("list", listing), ("show", show),
                        ("explain", explain), ("schema", schema)):  # fmt: skip
    query.add_command(_command, _name)


@command
@ARCHIVE
@DRY_RUN
@click.option("--allow-many", is_flag=True, help="Confirm very many answers at once.")
@click.option(
    "--budget",
    "budget_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Begin nothing after so many seconds: the oldest comes first, the rest waits for the next refresh.",
)
@click.option(
    "--node", type=NODE, default="1/1", help="Only the share of one of several nodes, as 2/4; run the others beside it."
)
@click.option("--from", "start", type=MOMENT, help="Recompute the partials of this slot, stale or not; see below.")
@click.option("--to", "end", type=MOMENT, help="With --from: of all slots from there to this moment.")
def refresh(output: Output, archive: str, **how: Any) -> None:
    """Bring the answers of an archive's standing queries up to date. Only what is stale is recomputed.

    With --budget, the refresh reports what it had no time for. Every refresh does some work, the oldest first, so even
    small budgets catch up. Each answer tells how many slots late it came.

    With --node 2/4 this is the second of four nodes that refresh side by side, on one machine or several. Each node
    computes its own share of the trees of partials, by their cost. The next refresh does what a node left undone.

    With --from, the refresh repairs partials that were damaged after they were stored. It recomputes the partials of
    that slot from the records, or of all slots up to --to. It also recomputes the answers over them that are young
    enough to be corrected. The audit of partials and answers names the slots.

    \b
    Examples:
      tidewheel refresh netflow --dry-run
      tidewheel refresh netflow
      tidewheel refresh netflow --budget 20
      tidewheel refresh netflow --node 2/4
      tidewheel refresh netflow --from 2026-11-18T10:00Z --to 2026-11-18T11:00Z
    """
    with opened(output, archive, "comparing") as opened_archive:
        done = opened_archive.queries.refreshed(**how)
        axis = opened_archive.axis

    from tidewheel.views.queries import refreshed_view

    output.show(done.to_json(), lambda: refreshed_view(done, axis, dry_run=how["dry_run"]))
    if opened_archive.queries.were_edited():
        output.warn("query files were edited meanwhile: these are the answers as the files were before; refresh again")
    if done.wrong:
        raise done.wrong


def _tell_wrong(output: Output, queries: StandingQueries, archive: str) -> None:
    """Queries with faults keep nobody from the others, and are what they were when they were answered last."""
    if queries.wrong:
        output.warn(f"some query files have faults: tidewheel query check {archive}")
