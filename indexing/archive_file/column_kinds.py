"""Kinds of value that speak of columns: names, keys, schemas, and the SQL expression of an expiry."""

from __future__ import annotations

import re
from functools import partial

from tidewheel.indexing.archive_file.expiry_expressions import refuse_unrepeatable
from tidewheel.indexing.core.definition import RESERVED_COLUMNS
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.kinds import IDENTIFIER, ValueKind, check_each, kind_name, lines, some_text

# Delta and Parquet take the other names without column mapping, and Spark without quoting them.
_COLUMN_REFUSED = frozenset(" ,;{}()=.`\"'")
# What gives another result on the next call: a replay of the same batch must give the same archive.
_CALLS_THAT_CHANGE = re.compile(
    r"\b(?:now *\(|current_timestamp\b|current_date\b|curdate *\(|localtimestamp\b|unix_timestamp *\( *\)"
    r"|rand *\(|randn *\(|random *\(|uuid *\()",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)
# What Kafka says of a message beside its value.
MESSAGE_PARTS = ("key", "timestamp", "partition", "offset")
_MARKS_REFUSED = ((";", "ends a statement"), ("--", "starts a comment"), ("/*", "starts a comment"))


def _column(value: object) -> str:
    checked = some_text(value)
    if found := sorted(_COLUMN_REFUSED & set(checked)):
        raise InvalidInput(
            f"a column name cannot hold {' '.join(repr(one) for one in found)}",
            "give the column a plain name under [source.rename] (or the nested field one in the source)",
        )
    return _not_reserved(checked)


def _not_reserved(column: str) -> str:
    if column.lower() in RESERVED_COLUMNS:
        raise InvalidInput(
            f"{column} is a column that the archive adds itself",
            f"rename it under [source.rename]; reserved are {', '.join(sorted(RESERVED_COLUMNS))}",
        )
    return column


def _columns(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise InvalidInput("a string, not a list of columns", 'put it in brackets, as in ["customer"]')
    if not isinstance(value, list) or not value:
        raise InvalidInput("not a list of one or more columns", 'write, for example, ["customer", "device"]')
    columns = tuple(check_each(partial(_column, one) for one in value))
    # Spark takes column names without regard to case.
    if len({column.lower() for column in columns}) < len(columns):
        raise InvalidInput("the same column twice", "name each key column once")
    return columns


def _renames(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{kind_name(value)}, not a table", 'write the source\'s name first, as in { g = "gravity" }'
        )
    if empty := [name for name in value if not name]:
        raise InvalidInput(f"{len(empty)} names are empty", "write the source's name first")
    renamed = dict(check_each(partial(_rename, name, given) for name, given in value.items()))
    if len({column.lower() for column in renamed.values()}) < len(renamed):
        raise InvalidInput("two columns get the same name", "give each a name of its own")
    return renamed


def _message(value: object) -> dict[str, str]:
    columns = _renames(value)
    if unknown := [part for part in columns if part not in MESSAGE_PARTS]:
        raise InvalidInput(
            f"a message has no {', '.join(unknown)}", f"known are {', '.join(MESSAGE_PARTS)}", within=(unknown[0],)
        )
    return columns


def _rename(name: str, given: object) -> tuple[str, str]:
    try:
        return name, _column(given)
    except InvalidInput as error:
        raise InvalidInput(error.message, error.remedy, within=(name,)) from error


def _expression(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("neither a column nor an expression", 'write it as text, such as "expires_at"')
    expression = lines(value)
    outside = _QUOTED.sub(" ", expression)
    if left := next((mark for mark in "'\"`" if mark in outside), None):
        raise InvalidInput(f"a quote {left} is not closed", "close it")
    for mark, meaning in _MARKS_REFUSED:
        if mark in outside:
            raise InvalidInput(f"{mark} {meaning}; this is one expression", f"remove the {mark}")
    if not _balanced(outside):
        raise InvalidInput("the parentheses do not match", "close what is open")
    if call := _CALLS_THAT_CHANGE.search(outside):
        raise InvalidInput(
            f"{call[0].rstrip('( ')} gives another result on each call, so a replay would change the archive",
            "compute the expiry from columns of the record",
        )
    refuse_unrepeatable(expression)
    return _not_reserved(expression) if re.fullmatch(IDENTIFIER, expression) else expression


def _balanced(expression: str) -> bool:
    depth = 0
    for character in expression:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def _schema(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or ";" in value:
        raise InvalidInput("not a schema", 'write columns and types, such as "device string, seen_at timestamp"')
    return lines(value)


COLUMN = ValueKind("column", _column, {"type": "string", "minLength": 1})
COLUMNS = ValueKind("list of columns", _columns)
RENAMES = ValueKind("table of columns", _renames)
MESSAGE = ValueKind("table of columns", _message)
EXPRESSION = ValueKind("column or SQL expression", _expression)
SCHEMA = ValueKind("columns and types", _schema)
