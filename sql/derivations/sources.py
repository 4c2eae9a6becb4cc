"""The text behind FROM: an archive's living records, all of them or those in a window.

A relation gives the archive's columns and, beside them, what the rewriting needs of each record:

    _until    when it ends                  _place    the slot of the shortest interval at whose end it came
    _time     its time, or NULL             _end      the end of its own slot
    _hash     its row hash
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier

HIDDEN = ("_until", "_place", "_hash", "_time")
WINDOWS = ("within", "newest")
_WITHIN = "within(archive, interval 1 hour), by => a column of times if not the archive's own"
_NEWEST = "newest(archive, 5), per => a column if so many of each"


@dataclass(frozen=True)
class Relation:
    """An archive as a statement may read it; `sql` selects its records with the columns above."""

    name: str
    sql: Sql
    columns: tuple[str, ...]
    ahead: Sql  # an interval: how far beyond its slot a time may lie

    def column(self, name: str, said: str) -> Sql:
        if name not in self.columns:
            raise InvalidInput(f"{said} names {name}, which {self.name} has not", f"it has {', '.join(self.columns)}")
        return quote_identifier(name)


@dataclass(frozen=True)
class Window:
    """A call behind FROM: the archive, its arguments as SQL, and those that have a name."""

    name: str
    archive: str
    argument: Sql
    named: Mapping[str, tuple[str, ...]]  # columns


def living(relation: Relation, at: Sql) -> Sql:
    """Return all records alive at a moment."""
    return Sql(f"SELECT * EXCLUDE (_end) FROM ({relation.sql}) WHERE _until > {at}")


def windowed(relation: Relation, window: Window, at: Sql) -> Sql:
    return _within(relation, window, at) if window.name == "within" else _newest(relation, window, at)


def _within(relation: Relation, window: Window, at: Sql) -> Sql:
    """Return the records that are in a window of time, each ending with it.

    A time beyond the end of the record's slot, and what the archive takes ahead, counts as that.
    """
    _only(window, "by")
    by = window.named.get("by", ())
    time = relation.column(by[0], "by") if by else Sql("_time")
    end = f"least(_until, least({time}, _end + {relation.ahead}) + {window.argument})"
    columns = f"* EXCLUDE (_end) REPLACE ({end} AS _until)"
    return Sql(f"SELECT {columns} FROM ({relation.sql}) WHERE {time} IS NOT NULL AND {end} > {at}")


def _newest(relation: Relation, window: Window, at: Sql) -> Sql:
    """Return the newest so many records alive, by time and row hash: a total order."""
    _only(window, "per")
    per = join(", ", (relation.column(name, "per") for name in window.named.get("per", ())))
    groups = f"PARTITION BY {per} " if per else ""
    return Sql(
        f"SELECT * FROM ({living(relation, at)})"
        f" QUALIFY row_number() OVER ({groups}ORDER BY _time DESC NULLS LAST, _hash DESC) <= {window.argument}"
    )


def _only(window: Window, taken: str) -> None:
    for name in window.named:
        if name != taken:
            raise InvalidInput(
                f"{window.name} takes no {name}", f"write {_WITHIN if window.name == 'within' else _NEWEST}"
            )


def window_of(function: Mapping[str, Any], text_of: Any) -> Window:
    """Return the window that a call behind FROM is."""
    name = str(function["function_name"]).lower()
    form = _WITHIN if name == "within" else _NEWEST
    if name not in WINDOWS:
        raise InvalidInput(f"{name} cannot stand behind FROM", f"write an archive, {_WITHIN}, or {_NEWEST}")
    plain = [one["expression"] for one in function["arguments"] if not one.get("name")]
    named = {str(one["name"]).lower(): one["expression"] for one in function["arguments"] if one.get("name")}
    if len(plain) != 2 or plain[0].get("class") != "COLUMN_REF":
        raise InvalidInput(f"{name} takes an archive and one value", f"write {form}")
    columns = {key: _columns(value, f"{key} of {name}") for key, value in named.items()}
    return Window(name, str(plain[0]["column_names"][-1]), text_of(plain[1]), columns)


def _columns(node: Mapping[str, Any], said: str) -> tuple[str, ...]:
    parts: Sequence[Mapping[str, Any]] = [node]
    if node.get("class") == "FUNCTION" and node.get("function_name") in ("row", "list_value"):
        parts = [one["expression"] for one in node["arguments"]]
    if any(part.get("class") != "COLUMN_REF" for part in parts):
        raise InvalidInput(f"{said} is no column", "write the name of a column")
    return tuple(str(part["column_names"][-1]) for part in parts)
