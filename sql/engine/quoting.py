"""The only way a name or a value gets into SQL text: quoted for what it is.

`Sql` marks text that is safe to put into a statement. It is made here and in `sql.templates`; whatever else holds a
string must quote it first, which the type checker sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NewType

from tidewheel.indexing.errors import InvalidInput

Sql = NewType("Sql", str)


def quote_identifier(name: str) -> Sql:
    """A column, table or function name.

    >>> quote_identifier('say "hi"')
    '"say ""hi""\"'
    """
    if not name:
        raise InvalidInput("an empty name cannot be used in SQL")
    return Sql('"' + _checked(name).replace('"', '""') + '"')


def quote_literal(value: str | int | bool | None) -> Sql:
    """A value; text of any kind stays text.

    >>> quote_literal("it's"), quote_literal(-1), quote_literal(None)
    ("'it''s'", '-1', 'NULL')
    """
    if value is None:
        return Sql("NULL")
    if isinstance(value, bool):
        return Sql("true" if value else "false")
    if isinstance(value, int):
        return Sql(str(value))
    return Sql("'" + _checked(value).replace("'", "''") + "'")


def quote_list(values: Iterable[str]) -> Sql:
    """A list of texts, as `read_parquet` takes them.

    >>> quote_list(["a", "b'c"])
    "['a', 'b''c']"
    """
    return Sql("[" + ", ".join(map(quote_literal, values)) + "]")


def join(separator: str, parts: Iterable[Sql]) -> Sql:
    """Parts that are SQL already, with a fixed separator between them."""
    return Sql(separator.join(parts))


def _checked(text: str) -> str:
    # A NUL would end the statement early in DuckDB's parser; half a surrogate pair is no text at all.
    if "\0" in text:
        raise InvalidInput(f"{text!r} holds a NUL character, which SQL text cannot carry")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{text!r} is not valid Unicode text") from error
    return text
