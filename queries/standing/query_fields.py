"""Every key a `[query]` may hold, in one table: the parser, the messages, the reference and the editors' schema."""

from __future__ import annotations

from functools import partial

from tidewheel.indexing.archive_file import column_kinds
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.durations import DURATION_MAX_US, MICROS_PER_UNIT, duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml import kinds
from tidewheel.indexing.toml.kinds import ValueKind, check_each, choice, duration, kind_name, lines, whole
from tidewheel.indexing.toml.page import Absent, Field, Form
from tidewheel.queries.standing.query import LIVE, Counts, Erasure

WINDOW_MAX_US = 400 * MICROS_PER_UNIT["d"]
REFERENCE = "docs/query-file.md"

SECTIONS = {
    "query": "What is asked, of which records, for which windows. A file may hold several: write `[[query]]` for each, "
    "with a name.",
}


def _sql(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{kind_name(value)}, not SQL", "write it in double quotes")
    if not value.strip():
        raise InvalidInput("empty", "write an expression, or leave the key out")
    return lines(value)


def _sql_list(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInput(f"{kind_name(value)}, not a list", 'put it in brackets, as in ["src"]')
    return tuple(check_each(partial(_sql, one) for one in value))


def _window(value: object) -> int | None:
    if value == LIVE:
        return None
    checked: int = _WINDOW_DURATION.check(value)
    return checked


def _tests(value: object) -> tuple[dict[str, object], ...]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidInput("not a list of tables", "write [[query.test]] with rows and answers")
    return tuple(value)


def _archive(value: object) -> str:
    source, _, kind = str(value).rpartition(".")
    if source and kind in DERIVED_KINDS:
        raise InvalidInput(
            f"{kind} follow from queries, so no query stands on them",
            f'ask the archive, "{source}"; answers are combined in SQL: '
            f"tidewheel sql {source} 'select ... from answers.NAME'",
        )
    return str(kinds.NAME.check(value))


_WINDOW_DURATION = duration(
    1, WINDOW_MAX_US, f'the longest window is {duration_text(WINDOW_MAX_US)}; write "live" for everything alive'
)
_SQL_SCHEMA = {"type": "string", "minLength": 1}
OF = ValueKind(kinds.NAME.title, _archive, kinds.NAME.schema)
SQL = ValueKind("SQL expression", _sql, _SQL_SCHEMA)
SQL_LIST = ValueKind("list of SQL expressions", _sql_list, {"type": "array", "items": _SQL_SCHEMA})
WINDOW = ValueKind("duration, or `live`", _window, {"anyOf": [{"const": LIVE}, _WINDOW_DURATION.schema]})
TESTS = ValueKind(
    "tables with `rows`, `report` and `answers`", _tests,
    {"type": "array", "items": {"type": "object", "required": ["report"]}},
)  # fmt: skip
_SPAN = duration(0, DURATION_MAX_US)
_SOME_SPAN = duration(1, DURATION_MAX_US)
_LATER = Absent.DECIDED_BY_RULE

FIELDS: tuple[Field, ...] = (
    Field(
        "query", "name", kinds.NAME,
        "What commands and views call the query.",
        "top_talkers", default=_LATER, default_note="the name of the file",
    ),
    Field(
        "query", "of", OF,
        "The archive that is asked.",
        "netflow",
    ),
    Field(
        "query", "select", SQL,
        "What is answered: aggregates of the records, or expressions of them, as DuckDB writes them.",
        "sum(bytes) as bytes, count(*) as flows",
    ),
    Field(
        "query", "where", SQL,
        "Which records count.",
        "protocol = 'tcp'", default=_LATER, default_note="all",
    ),
    Field(
        "query", "group_by", SQL_LIST,
        "One answer for each value of these columns, or expressions with a name: `lower(site) as site`.",
        ["src"], default=[],
    ),
    Field(
        "query", "having", SQL,
        "Which groups are answered, by the names of `select` and `group_by`.",
        "bytes > 1000", default=_LATER, default_note="all",
    ),
    Field(
        "query", "order_by", SQL,
        "The order of an answer's groups, by the names of `select` and `group_by`; needs `limit`.",
        "bytes desc", default=_LATER, default_note="none",
    ),
    Field(
        "query", "limit", whole(1, 1_000_000),
        "How many groups of each answer are kept.",
        10, default=_LATER, default_note="all",
    ),
    Field(
        "query", "window", WINDOW,
        "How far each answer looks back from its time; `live`: at everything alive then.",
        "6h",
    ),
    Field(
        "query", "slide", _SOME_SPAN,
        "The time from one answer to the next.",
        "5m", default=_LATER, default_note="the archive's interval",
    ),
    Field(
        "query", "offset", _SPAN,
        "By how much answers are shifted against multiples of the slide since 1970.",
        "0s", default=_LATER, default_note="`0s`; of what is alive, where the archive's slots begin (its `epoch`)",
    ),
    Field(
        "query", "counts", choice(*Counts),
        "`arrived`: every record of the window, also those that expired meanwhile. `live`: those alive at its end.",
        "arrived", default=_LATER, default_note="`arrived`, or `live` for the window `live`",
    ),
    Field(
        "query", "time", column_kinds.COLUMN,
        "The timestamp column that places a record in a window.",
        "seen_at", default=_LATER, default_note="the archive's `inserted_at`, else the slot",
    ),
    Field(
        "query", "ahead", _SPAN,
        "How far after the end of its slot a record's time may lie; one beyond is counted and left out. Answers look "
        "into slots so much older, and `complete` counts those too.",
        "0s", default="0s",
    ),
    Field(
        "query", "late", _SPAN,
        "How long after its time an answer still waits for slots before it calls itself complete.",
        "0s", default="0s",
    ),
    Field(
        "query", "revise", _SPAN,
        "Answers this young are corrected by late data, backfills, replays, forgets and undo; those of one slot "
        "together, while the newest of them is this young.",
        "2d", default="2d",
    ),
    Field(
        "query", "keep", _SOME_SPAN,
        "How long answers are kept.",
        "90d", default="90d",
    ),
    Field(
        "query", "erasure", choice(*Erasure),
        "When a key is forgotten and the rows of a partial that may hold it are gone: `delete` the partial, so that "
        "answers are incomplete, or `keep` it.",
        "delete", default="delete",
    ),
    Field(
        "query", "technique", kinds.TEXT,
        "How partials are folded into answers: `kernels`, `sql`, or a technique of the literature by its name; the "
        "answers are the same.",
        "SlickDeque (Inv)", default="", default_note="`kernels`, where they fit",
    ),
    Field(
        "query", "test", TESTS,
        "Rows in, answers out, for `tidewheel query test`; written as `[[query.test]]`.",
        [], default=[],
    ),
)  # fmt: skip

FORM = Form(FIELDS, SECTIONS, REFERENCE)
