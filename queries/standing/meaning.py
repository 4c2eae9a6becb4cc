"""What a query means, as plain SQL over all valid records, for one report."""

from __future__ import annotations

from tidewheel.indexing.durations import duration_text
from tidewheel.queries.standing.query import Call, Counts, Query, call_name

REPORT = "$report"


def as_sql(query: Query, interval_us: int) -> str:
    """The SELECT that an answer equals. `$report` is the report's time, `records` every valid record that came."""
    terms = query.terms
    time = f'"{terms.time}"' if terms.time else "start_of_slot"
    conditions = [f"{time} < {REPORT}"]
    if terms.window_us is not None:
        conditions.insert(0, f"{time} >= {REPORT} - INTERVAL '{_interval(terms.window_us)}'")
    if terms.counts is Counts.LIVE:
        conditions.append(f"valid_until > {REPORT}")
    if query.where:
        conditions.append(f"({query.where})")
    groups = [f"{one.sql} AS {one.name}" if one.sql != one.name else one.name for one in query.groups]
    outputs = [f"{_spelled(one.sql, query)} AS {one.name}" for one in query.outputs]
    lines = [f"SELECT {', '.join([*groups, *outputs])}", "FROM records", f"WHERE {' AND '.join(conditions)}"]
    if query.groups:
        lines.append(f"GROUP BY {', '.join(one.sql for one in query.groups)}")
    if query.having:
        lines.append(f"HAVING {_spelled(query.having, query)}")
    if query.limit is not None:
        lines.append(f"ORDER BY {_spelled(query.order_by, query)} LIMIT {query.limit}")
    if not terms.time:
        lines.append(f"-- start_of_slot: no column places a record, so its slot of {duration_text(interval_us)} does")
    return "\n".join(lines)


def _interval(duration_us: int) -> str:
    """A duration as SQL writes it: in the largest unit that fits it."""
    units = (("hours", 3600 * 10**6), ("minutes", 60 * 10**6), ("seconds", 10**6), ("microseconds", 1))
    return next(f"{duration_us // size} {unit}" for unit, size in units if duration_us % size == 0)


def _spelled(sql: str, query: Query) -> str:
    """SQL with the calls in place of their names."""
    for number, call in enumerate(query.calls):
        sql = sql.replace(f'"{call_name(number)}"', call_text(call))
    return sql


def call_text(call: Call) -> str:
    """A call as people write it.

    >>> call_text(Call("count_rows")), call_text(Call("count_distinct", ("src",), ("VARCHAR",), 100))
    ('count(*)', 'count_distinct(src, 100)')
    """
    if call.aggregate == "count_rows":
        return "count(*)"
    constants = [str(one) for one in (call.limit, call.fraction) if one is not None]
    return f"{call.aggregate}({', '.join([*call.arguments, *constants])})"
