"""A query's meaning as plain SQL for one report: it runs as it is printed, over the archive's view `live`.

`live` holds what has not expired, so it gives the answer of a query that counts the living, and of another one as
long as all records of its window are alive.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.queries.standing.query import Call, Counts, Query, call_name
from tidewheel.sql.engine.quoting import quote_identifier, quote_literal

# Aggregates that DuckDB has under another name, or can say.
_SPELLED = {
    "count_rows": "count(*)",
    "first": "arg_min({x}, {time})",
    "last": "arg_max({x}, {time})",
    "first_n": "list({x} ORDER BY {time}, {x})[:{limit}]",
    "last_n": "list({x} ORDER BY {time}, {x})[-{limit}:]",
    "concatenate": "list({x} ORDER BY {time}, {x})",
    "count_distinct": "count(DISTINCT {x})",
    "collect_distinct": "list(DISTINCT {x} ORDER BY {x})",
    "range": "(max({x}) - min({x}))",
    "sum_of_squares": "sum({x} * {x})",
    "geometric_mean": "geomean({x})",
    "gcd": "list_reduce(list({x}), lambda one, other: gcd(one, other))",
    "kll_quantile": "quantile_cont({x}, {fraction})",
}


def as_sql(query: Query, axis: TimeAxis, at_us: int) -> str:
    """The SELECT that the answer of a report equals."""
    time = quote_identifier(query.terms.time) if query.terms.time else _slot(axis, 0)
    groups = [f"{one.sql} AS {quote_identifier(one.name)}" for one in query.groups]
    outputs = [f"{_spelled(one.sql, query, time)} AS {quote_identifier(one.name)}" for one in query.outputs]
    lines = [
        f"SELECT {', '.join([*groups, *outputs])}",
        "FROM live",
        f"WHERE {' AND '.join(_conditions(query, axis, time, at_us))}",
    ]
    if query.groups:
        lines.append(f"GROUP BY {', '.join(one.sql for one in query.groups)}")
    if query.having:
        lines.append(f"HAVING {_spelled(query.having, query, time)}")
    if query.limit is not None:
        lines.append(f"ORDER BY {_spelled(query.order_by, query, time)} LIMIT {query.limit}")
    # Comments at the end: a command line would take a text that begins with a dash for an option.
    return "\n".join([*lines, f"-- the report of {iso(at_us)}", *_lacking(query)])


def _lacking(query: Query) -> Iterator[str]:
    if query.terms.counts is Counts.ARRIVED:
        yield "-- live holds what has not expired; the answer counts what has expired as well"


def _conditions(query: Query, axis: TimeAxis, time: str, at_us: int) -> Iterator[str]:
    """The conditions by which a record counts."""
    terms, report = query.terms, _moment(at_us)
    if terms.window_us is not None:
        yield f"{time} >= {report} - {_interval(terms.window_us)}"
    yield f"{time} < {report}"
    if terms.time:
        yield f"{time} < {_slot(axis, 1)} + {_interval(terms.ahead_us)}"
    if terms.counts is Counts.LIVE:
        yield f"valid_until > {report}"
    if query.where:
        yield f"({query.where})"


def _moment(at_us: int) -> str:
    return f"TIMESTAMPTZ {quote_literal(iso(at_us))}"


def _slot(axis: TimeAxis, later: int) -> str:
    """The start of the slot that brought a record, or of a later one."""
    number = f"(ins_slot + {later})" if later else "ins_slot"
    return f"{_moment(axis.epoch_us)} + {number} * {_interval(axis.interval_us)}"


def _interval(duration_us: int) -> str:
    """A duration as SQL writes it: in the largest unit that fits it.

    >>> _interval(90_000_000)
    "INTERVAL '90 seconds'"
    """
    units = (("hours", 3600 * 10**6), ("minutes", 60 * 10**6), ("seconds", 10**6), ("microseconds", 1))
    return next(f"INTERVAL '{duration_us // size} {unit}'" for unit, size in units if duration_us % size == 0)


def _spelled(sql: str, query: Query, time: str) -> str:
    """SQL with the calls in place of their names."""
    for number, call in enumerate(query.calls):
        sql = sql.replace(quote_identifier(call_name(number)), _call(call, time))
    return sql


def _call(call: Call, time: str) -> str:
    """A call as DuckDB takes it."""
    if call.aggregate in _SPELLED:
        x = next(iter(call.arguments), "")
        return _SPELLED[call.aggregate].format(x=x, time=time, limit=call.limit, fraction=call.fraction)
    constants = [] if call.fraction is None else [str(call.fraction)]
    return f"{call.aggregate}({', '.join([*call.arguments, *constants])})"
