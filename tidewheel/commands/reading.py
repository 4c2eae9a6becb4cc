"""Ask an archive: probe, scan, sql. DuckDB answers; Spark is never started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidewheel.commands.common import ARCHIVE, AS_OF, COLUMNS, COUNT_MAX, command, names_in, opened
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.key_text import key_values
from tidewheel.indexing.printable import counted
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.sql.explanations import Explanation
    from tidewheel.sql.questions import Question
    from tidewheel.sql.results.result import Result

F = TypeVar("F", bound=Callable[..., Any])

_FORMATS = ("table", "csv", "json", "parquet", "arrow")
_DIALECTS = ("duckdb", "duckdb_log", "duckdb_delta", "spark")
EXPLAIN = click.option("--explain", is_flag=True, help="Tell what is opened and why, instead of the rows.")


FORM = click.option("--format", "form", type=click.Choice(_FORMATS), default="table", show_default=True,
                    help="How to write the rows.")  # fmt: skip
PATH = click.option("--output", "path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                    help="Write the rows to a file.")  # fmt: skip


def _rows_options(function: F) -> F:
    limit = click.option(
        "--limit", type=click.IntRange(min=0, max=COUNT_MAX), metavar="N", help="Give at most so many rows."
    )
    return limit(FORM(PATH(function)))


@command
@ARCHIVE
@click.argument("key", nargs=-1)
@click.option("--range", "bounds", nargs=2, metavar="LOW HIGH", help="All keys from LOW up to, not including, HIGH.")
@AS_OF
@COLUMNS
@EXPLAIN
@_rows_options
def probe(
    output: Output, archive: str, key: tuple[str, ...], bounds: tuple[str, str] | None, as_of: str | None,
    columns: str | None, explain: bool, **how: Any,
) -> None:  # fmt: skip
    """Give the live records of one key, or of a range of keys.

    A key of several columns is its values in order with commas between them, and the first ones will do; a
    value that holds a comma or a quote stands within double quotes. A key that begins with a dash goes behind --.
    Bytes are printed, and may be written, as 0x and two hex digits for each.

    \b
    Examples:
      tidewheel probe netflow 10.0.0.7
      tidewheel probe netflow 10.0.0.7 --columns flow_start,dst_ip,bytes --format csv
      tidewheel probe netflow --range 10.0.0. 10.0.1. --limit 5
      tidewheel probe netflow 10.0.0.7 --explain
    """
    from tidewheel.sql.questions import Probe, Range

    if bool(key) == bool(bounds):
        raise InvalidInput("a probe needs a key or a range, one of the two", "give KEY, or --range LOW HIGH")
    with opened(output, archive, "probing") as opened_archive:
        columns_of_key = opened_archive.reader.definition.key
        question: Question
        if bounds:
            question = Range(*(key_values(bound, columns_of_key) for bound in bounds))
        else:
            # Several arguments are the values one by one, as a shell passes them.
            question = Probe(key_values(key[0], columns_of_key) if len(key) == 1 else key)
        _ask(output, opened_archive, question, columns, as_of, explain, **how)


@command
@ARCHIVE
@click.option("--where", metavar="SQL", help="An SQL expression over the columns.")
@AS_OF
@COLUMNS
@EXPLAIN
@_rows_options
def scan(
    output: Output, archive: str, where: str | None, as_of: str | None, columns: str | None, explain: bool, **how: Any
) -> None:
    """Give all live records, or those for which an expression holds.

    \b
    Examples:
      tidewheel scan netflow --where "bytes > 1000000" --columns src_ip,bytes --limit 5
      tidewheel scan netflow --where "plan = 'audit'" --format parquet --output audit.parquet
    """
    from tidewheel.sql.questions import Scan

    with opened(output, archive, "scanning") as opened_archive:
        _ask(output, opened_archive, Scan(where), columns, as_of, explain, **how)


@command
@click.argument("given", nargs=-1, metavar="[ARCHIVE] [QUERY]")
@click.option(
    "--archive",
    "places",
    multiple=True,
    metavar="NAME=PLACE",
    help="Where an archive lies that the query names, if its name alone does not tell; may be repeated.",
)
@click.option(
    "--hold",
    metavar="DURATION",
    help="Keep vacuum from the versions that are read while the query runs, for so long at most; for a QUERY alone.",
)
@click.option(
    "--view",
    "dialect",
    type=click.Choice(_DIALECTS),
    help="Print a view over the live records for people who read the table with their own tools.",
)
@AS_OF
@EXPLAIN
@_rows_options
def sql(
    output: Output,
    given: tuple[str, ...],
    places: tuple[str, ...],
    hold: str | None,
    dialect: str | None,
    as_of: str | None,
    explain: bool,
    **how: Any,
) -> None:
    """Answer one SELECT over the live records of an archive, or of several at one moment.

    With ARCHIVE, they are the view live, or the archive's own name. With a QUERY alone, every table it names is an
    archive, each read at one version and all as of one moment. The query can read nothing else.

    Beside the columns of the source there are ins_slot, exp_slot and valid_until; of one archive, probe(key) and
    probe_range(low, high) are table functions. The answers of standing queries are views: answers.QUERY.

    \b
    Examples:
      tidewheel sql netflow "select plan, count(*) as flows, sum(bytes) as bytes from live group by plan"
      tidewheel sql "select plan, count(*) as flows from netflow group by plan"
      tidewheel sql "select count(*) from netflow semi join twin using (src_ip)" --archive twin=archives/netflow.toml
      tidewheel sql "select * from netflow order by bytes" --hold 2h --format parquet --output sorted.parquet
      tidewheel sql netflow --view duckdb_log
    """  # fmt: skip
    archive, query = _archive_and_query(given, dialect is not None)
    output.archive = archive or ""
    if archive is None:
        _ask_several(output, query, _named_places(places), as_of, hold, explain, **how)
        return
    if places or hold:
        option = "--archive" if places else "--hold"
        raise InvalidInput(f"{option} is for a query that names its archives itself", f"leave {archive} out")
    with opened(output, archive, "asking") as opened_archive:
        if dialect is not None:
            statement = opened_archive.published_view(dialect)
            output.show({"view": statement}, statement.rstrip)
            return
        from tidewheel.sql.questions import Query

        _ask(output, opened_archive, Query(query), None, as_of, explain, **how)


def _archive_and_query(given: tuple[str, ...], view: bool) -> tuple[str | None, str]:
    """A query has blanks in it, the name of an archive stands before one, or alone for a view."""
    alone = len(given) == 1
    if view and alone:
        return given[0], ""
    if not view and len(given) == 2:
        return given[0], given[1]
    if not view and alone and len(given[0].split()) > 1:
        return None, given[0]
    raise InvalidInput("one query or one view is needed", "give a SELECT in quotes, or --view with an ARCHIVE")


def _named_places(places: tuple[str, ...]) -> dict[str, str]:
    pairs = [place.partition("=") for place in places]
    for name, _, place in pairs:
        if not name or not place:
            raise InvalidInput(f"{name + place!r} does not name an archive", "write --archive NAME=PLACE")
    return {name: place for name, _, place in pairs}


def _ask_several(
    output: Output, query: str, places: dict[str, str], as_of: str | None, hold: str | None, explain: bool, **how: Any
) -> None:
    from tidewheel.sessions import session_for
    from tidewheel.sql.questions import Query

    with output.working("asking"), session_for(query, places, as_of=as_of, hold=hold or "") as session:
        if explain:
            _show_explanation(output, session.explain(Query(query)))
        else:
            _answer(output, session.sql(query), **how)


def _ask(
    output: Output, archive: Archive, question: Question, columns: str | None, as_of: str | None, explain: bool,
    **how: Any,
) -> None:  # fmt: skip
    if explain:
        _show_explanation(output, archive.explain(question, columns=names_in(columns), as_of=as_of))
    else:
        _answer(output, archive.ask(question, columns=names_in(columns), as_of=as_of), **how)


def _show_explanation(output: Output, explanation: Explanation) -> None:
    output.show(explanation.to_json(), lambda: "\n".join(explanation.lines()))


def _answer(output: Output, result: Result, *, form: str, path: Path | None, limit: int | None) -> None:
    _write(output, result if limit is None else result.limited(limit), form, path, limit)


def check_form(output: Output, form: str, path: Path | None) -> None:
    """Refuse a way to write rows that is none, or two."""
    if form == "table" and path is not None:
        raise InvalidInput("a file needs a format", "give --format csv, json, parquet or arrow")
    if form != "table" and path is None and output.as_json:
        raise InvalidInput(f"--json and --format {form} are two ways to write the rows", "leave one of them out")


def _write(output: Output, result: Result, form: str, path: Path | None, limit: int | None) -> None:
    from tidewheel.views.rows import ROWS_SHOWN, document_head, exact_for, rows_document, rows_view, write_rows

    check_form(output, form, path)
    if form != "table" and path is None:
        output.still()
        write_rows(result, form, None)
    elif path is not None:
        rows = write_rows(result, form, path)
        if output.as_json:
            output.show({**document_head(result), "file": str(path), "format": form, "rows": rows})
        else:
            output.notice(f"{counted(rows, 'row')} in {path}, {exact_for(result)}")
    elif output.as_json:
        output.show(rows_document(result))
    else:
        table, rows, more = rows_view(result, ROWS_SHOWN if limit is None else limit, bare=output.bare)
        output.show({}, lambda: table)
        output.notice(f"{counted(rows, 'row')}{' of more' if more else ''}, {exact_for(result)}")
        if more:
            output.notice("for all of them: --format csv, json, parquet or arrow")
