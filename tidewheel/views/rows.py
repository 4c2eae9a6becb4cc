"""The rows of an answer: as a table for the eye, as a document, or handed to the writers of files and streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import printable
from tidewheel.views.plain_rows import plain_rows

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidewheel.sql.results.result import Result

BINARY = ("parquet", "arrow")
ROWS_SHOWN = 100


def write_rows(result: Result, form: str, path: Path | None) -> int:
    """Write the rows to a file or to standard output; gives their number."""
    from tidewheel.sql.results.writers import write_result

    if path is None and form in BINARY and sys.stdout.isatty():
        raise InvalidInput(f"{form} is not for the eye", "name a file with --output, or pipe it somewhere")
    with _sink(path) as sink:
        return write_result(result, form, sink)


def rows_document(result: Result) -> dict[str, Any]:
    """For machines: the rows with what they are exact for."""
    from tidewheel.sql.results.json_values import json_value

    rows = [{name: json_value(value) for name, value in row.items()} for row in result.dicts()]
    return {**document_head(result), "rows": rows}


def document_head(result: Result) -> dict[str, Any]:
    """Return the versions and the moment for which rows are exact."""
    at = {"version": result.version} if len(result.versions) == 1 else {"versions": result.versions}
    return {**at, "as_of": iso(result.as_of_us)}


def exact_for(result: Result) -> str:
    """For people: the versions that were read, and as of when."""
    many = ", ".join(f"{name} version {version}" for name, version in result.versions.items())
    return f"{f'version {result.version}' if len(result.versions) == 1 else many}, as of {iso(result.as_of_us)}"


def rows_view(result: Result, shown_max: int = ROWS_SHOWN, *, bare: bool = False) -> tuple[RenderableType, int, bool]:
    """The first rows as a table, as text if it is `bare`; how many they are, and whether more would follow."""
    rows = result.limited(shown_max + 1).rows()
    shown = rows[:shown_max]
    left = [i for i in range(len(result.columns)) if not all(_is_number(row[i]) for row in shown)]
    texts = [[value_text(value) for value in row] for row in shown]
    if bare:
        table: RenderableType = plain_rows([printable(name) for name in result.columns], texts, left)
    else:
        from tidewheel.views.tables import Rows

        table = Rows(result.columns, texts, left)
    return table, len(shown), len(rows) > shown_max


def value_text(value: Any) -> str:
    """One value for the eye; NULL is nothing."""
    from tidewheel.sql.results.json_values import json_value

    plain = json_value(value)
    shown = "" if plain is None else plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return printable(shown)


@contextmanager
def _sink(path: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that is there whole or not at all."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as sink:
            yield sink
        part.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error}", "choose another file with --output") from error
    finally:
        if part.exists():  # on a disk that is read-only there is nothing to unlink, and no right to try
            part.unlink()


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))
