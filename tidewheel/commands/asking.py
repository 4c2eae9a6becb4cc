"""Ask for answers of standing queries: in the terminal, as rows of a file, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidewheel.commands.common import ARCHIVE, COUNT_MAX, MOMENT, command, opened
from tidewheel.commands.reading import FORM, PATH, check_form
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.output import Output

if TYPE_CHECKING:
    import pyarrow as pa

    from tidewheel.standing import StandingQueries


@command
@ARCHIVE
@click.argument("name")
@click.option("--at", type=MOMENT, help="The report of this moment; of what is alive, also one to come.")
@click.option("--from", "start", type=MOMENT, help="All reports from this moment on.")
@click.option("--to", "end", type=MOMENT, help="All reports before this moment; with --from, those between the two.")
@click.option(
    "--last", type=click.IntRange(min=1, max=COUNT_MAX), metavar="N",
    help="The last so many reports. [default: 1, or all where --from or --to is given]",
)  # fmt: skip
@click.option("--where", help="Which groups: a condition over the answer's columns.")
@click.option(
    "--plot", is_flag=False, flag_value="", metavar="[FILE.png]",
    help="Draw the numbers over time: in the terminal instead of a table, or as a picture.",
)  # fmt: skip
@FORM
@PATH
def ask(output: Output, archive: str, name: str, plot: str | None, form: str, path: Path | None, **how: Any) -> None:
    """Give the answers of a standing query as they are kept.

    In --json, decimals are text, as sums of whole numbers are: a JSON number would change their digits.

    \b
    Examples:
      tidewheel ask netflow flows_by_protocol
      tidewheel ask netflow flows_by_protocol --last 3 --where "protocol = 'tcp'"
      tidewheel ask netflow flows_by_protocol --from 2026-11-18T05:00Z --format csv
      tidewheel ask netflow flows_by_protocol --last 48 --plot
      tidewheel ask netflow flows_by_protocol --last 48 --plot flows.png
    """
    picture = _picture(plot)
    check_form(output, form, path)
    if how["last"] and (how["start"] or how["end"]):
        raise InvalidInput("--last and a time are two ways to choose reports", "leave one of them out")
    if plot is not None and form != "table":
        raise InvalidInput(f"--plot and --format {form} are two ways to write the answers", "leave one of them out")
    with opened(output, archive, "reading the answers") as opened_archive:
        queries = opened_archive.queries
        answers = queries.ask(name, **{**how, "last": how["last"] or 1})
    if form != "table":
        _write_answers(output, answers, form, path)
    elif plot is None:
        _show_answers(output, name, answers)
    else:
        _plot_answers(output, queries, name, answers, picture)
    _tell_lacking(output, queries, name, answers)


def _picture(plot: str | None) -> Path | None:
    """The file to draw into, if one is named. What draws takes long to import: it is not, where nobody draws."""
    if not plot:
        return None
    from tidewheel.figures.answer_figure import check_path

    check_path(Path(plot))
    return Path(plot)


def _show_answers(output: Output, name: str, answers: pa.Table) -> None:
    from tidewheel.views.queries import answers_document, answers_view

    output.show(answers_document(name, answers), lambda: answers_view(answers))


def _write_answers(output: Output, answers: pa.Table, form: str, path: Path | None) -> None:
    from tidewheel.sql.results.result import Result
    from tidewheel.views.rows import write_rows

    output.still()
    rows = write_rows(Result(answers.to_reader(), {}), form, path)
    if path is not None:
        output.show({"file": str(path), "format": form, "rows": rows}, lambda: f"{counted(rows, 'row')} in {path}")


def _plot_answers(output: Output, queries: StandingQueries, name: str, answers: pa.Table, picture: Path | None) -> None:
    from tidewheel.figures.answer_figure import draw
    from tidewheel.figures.answer_plot import answer_plot
    from tidewheel.views.queries import answers_document

    drawn = answer_plot(queries.answered(name), answers)
    if picture is None:
        output.show(answers_document(name, answers), lambda: drawn)
    else:
        draw(drawn, f"{name} of {output.archive}", picture)
        output.show({"query": name, "file": str(picture)}, lambda: f"{picture} was written")


def _tell_lacking(output: Output, queries: StandingQueries, name: str, answers: pa.Table) -> None:
    """Warn that answers are missing or incomplete, or that the query's file is wrong or was changed."""
    from tidewheel.views.queries import lacking

    for said in (lacking(name, output.archive, answers), queries.notice(name)):
        if said:
            output.warn(said)
