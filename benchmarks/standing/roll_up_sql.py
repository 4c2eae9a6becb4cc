"""SQL over a roll-up: a table for each group-by, a row per 5 minutes, group and set of predicates that hold.

What DuckDB, ClickHouse and Spark are asked is the same: expressions that all of them know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.standing.stream import AXIS, GROUPS, PREDICATES
from tidewheel.queries.standing.query import Query

_ROLLED = {"count_rows": "n", "sum": "sv", "max": "hi", "min": "lo", "avg": "x"}
_FOLDS = {"n": "sum", "sv": "sum", "hi": "max", "lo": "min", "sx": "sum", "nx": "sum"}
# Of which a difference of two sums is an answer.
SUMS = {"count_rows", "sum", "avg"}


def rolled(number: int, source: str, bucket: str) -> str:
    """The rows of a roll-up, from records."""
    listed = "".join(f", {one}" for one in GROUPS[number])
    holds = " + ".join(f"CASE WHEN {text} THEN {1 << bit} ELSE 0 END" for bit, text in enumerate(PREDICATES))
    return (
        f"SELECT {bucket} AS bucket{listed}, {holds} AS holds, count(*) AS n, sum(v) AS sv, max(v) AS hi, "
        f"min(v) AS lo, sum(x) AS sx, count(x) AS nx FROM {source} GROUP BY bucket{listed}, holds"
    )


def table_of(query: Query) -> str:
    return f"rolled_{GROUPS.index(groups_of(query))}"


def groups_of(query: Query) -> tuple[str, ...]:
    return tuple(one.name for one in query.groups)


def shape_of(query: Query) -> tuple[str, ...]:
    """Queries of one shape are stored in one table."""
    return (*groups_of(query), *(_ROLLED[call.aggregate] for call in query.calls))


def one_report(query: Query, at_us: int) -> str:
    """A query's answers at one report."""
    columns = [*groups_of(query), *(_folded(query, n) for n in range(len(query.calls)))]
    return f"SELECT {', '.join(columns)} FROM {table_of(query)} WHERE {_inside(query, at_us)} GROUP BY ALL"


def one_report_of_all(queries: Sequence[Query], at_us: int) -> str:
    """All queries of one group-by at one report, each a filtered aggregate; after each, how many rows it counted."""
    columns, keys = list[str](), groups_of(queries[0])
    for query in queries:
        inside = f" FILTER (WHERE {_inside(query, at_us)})"
        columns += [_folded(query, n, inside) for n in range(len(query.calls))]
        columns.append(f"sum(n){inside}")
    named = [f"{sql} AS c{number}" for number, sql in enumerate(columns)]
    first = min(at_us - (query.terms.window_us or 0) for query in queries) // AXIS.interval_us
    rest = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, *named])} FROM {table_of(queries[0])} WHERE bucket >= {first}{rest}"


def densified(table: str, keys: Sequence[str], asked: Iterable[Query], low: int, buckets: str) -> str:
    """Every group has a row in every 5 minutes, with the accumulators of each predicate."""
    columns = [
        f"{fold}({name}) FILTER (WHERE {_mask(where) or 'true'}) AS {name}_{_suffix(where)}"
        for where in dict.fromkeys(query.where for query in asked)
        for name, fold in _FOLDS.items()
    ]
    listed = "".join(f", {one}" for one in keys)
    groups = f"(SELECT DISTINCT {', '.join(keys)} FROM {table})" if keys else "(SELECT 1 AS one)"
    return (
        f"WITH f AS (SELECT bucket{listed}, {', '.join(columns)} FROM {table} WHERE bucket >= {low} "
        f"GROUP BY bucket{listed}), d AS (SELECT b.bucket AS bucket{''.join(f', g.{one} AS {one}' for one in keys)} "
        f"FROM {buckets} b CROSS JOIN {groups} g) SELECT * FROM d LEFT JOIN f USING ({', '.join(['bucket', *keys])})"
    )


def slid(asked: Sequence[Query], columns: dict[str, str]) -> str:
    """All windows at once: one expression for each aggregate, predicate and range, under the names of `columns`."""
    keys = groups_of(asked[0])
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    windows = ", ".join(
        f"w{n} AS ({partition}ORDER BY bucket ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
        for n in sorted({fragments_of(query) for query in asked})
    )
    named = [f"{sql} AS {name}" for sql, name in columns.items()]
    return f"SELECT {_REPORT}, {', '.join([*keys, *named])} FROM dense WINDOW {windows}"


_REPORT = f"(bucket + 1) * {AXIS.interval_us} AS report"


def expressions(asked: Sequence[Query]) -> dict[str, str]:
    """The window expressions of some queries, each with a name."""
    found: dict[str, str] = {}
    for query in asked:
        for expression in [*(over(query, n) for n in range(len(query.calls))), there(query)]:
            found.setdefault(expression, f"c{len(found)}")
    return found


def reports(query: Query, outputs: Sequence[str], present: str, first_us: int, last_us: int) -> str:
    """A query's answers out of all that slid."""
    return (
        f"SELECT {', '.join([*groups_of(query), *outputs])}, report FROM slid WHERE report BETWEEN {first_us} AND "
        f"{last_us} AND report % {query.terms.slide_us} = 0 AND {present} > 0"
    )


def over(query: Query, number: int) -> str:
    column, window, suffix = (
        _ROLLED[query.calls[number].aggregate],
        f"OVER w{fragments_of(query)}",
        _suffix(query.where),
    )
    if column == "x":
        return f"sum(sx_{suffix}) {window} / sum(nx_{suffix}) {window}"
    return f"{_FOLDS[column]}({column}_{suffix}) {window}"


def there(query: Query) -> str:
    return f"sum(n_{_suffix(query.where)}) OVER w{fragments_of(query)}"


def prefixes(asked: Sequence[Query]) -> str:
    """Sums from the beginning, for each group."""
    keys = groups_of(asked[0])
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    columns = [f"sum({name}_{suffix}) OVER before AS {name}_{suffix}" for name in ("n", "sv", "sx", "nx")
               for suffix in sorted({_suffix(query.where) for query in asked})]  # fmt: skip
    return (
        f"SELECT bucket, {', '.join([*keys, *columns])} FROM dense WINDOW before AS ({partition}ORDER BY bucket "
        "ROWS UNBOUNDED PRECEDING)"
    )


def differences(query: Query, first_us: int, last_us: int) -> str:
    """A query's answers: what was summed up to a window's end, less what was before its beginning."""
    keys, suffix = groups_of(query), _suffix(query.where)

    def apart(name: str) -> str:
        return f"(coalesce(e.{name}_{suffix}, 0) - coalesce(b.{name}_{suffix}, 0))"

    outputs = []
    for call in query.calls:
        column = _ROLLED[call.aggregate]
        outputs.append(f"{apart('sx')} / {apart('nx')}" if column == "x" else apart(column))
    same = " AND ".join([f"b.bucket = e.bucket - {fragments_of(query)}", *(f"b.{k} = e.{k}" for k in keys)])
    report = f"(e.bucket + 1) * {AXIS.interval_us}"
    return (
        f"SELECT {', '.join([*(f'e.{one}' for one in keys), *outputs])}, {report} AS report FROM summed e LEFT JOIN "
        f"summed b ON {same} WHERE {report} BETWEEN {first_us} AND {last_us} AND {report} % {query.terms.slide_us} = 0 "
        f"AND {apart('n')} > 0"
    )


def fragments_of(query: Query) -> int:
    assert query.terms.window_us is not None
    return query.terms.window_us // AXIS.interval_us


def _folded(query: Query, number: int, rest: str = "") -> str:
    column = _ROLLED[query.calls[number].aggregate]
    if column == "x":
        return f"sum(sx){rest} / sum(nx){rest}"
    return f"{_FOLDS[column]}({column}){rest}"


def _suffix(where: str) -> int:
    return PREDICATES.index(where) + 1 if where else 0


def _mask(where: str) -> str:
    """That one bit is set, in words that every dialect has."""
    bit = 1 << PREDICATES.index(where) if where else 0
    return f"holds % {2 * bit} >= {bit}" if where else ""


def _inside(query: Query, at_us: int) -> str:
    last = at_us // AXIS.interval_us
    mask = _mask(query.where)
    return f"bucket >= {last - fragments_of(query)} AND bucket < {last}" + (f" AND {mask}" if mask else "")
