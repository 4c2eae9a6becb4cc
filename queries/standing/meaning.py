"""A query's calls as people write them."""

from __future__ import annotations

from tidewheel.queries.standing.query import Call


def call_text(call: Call) -> str:
    """A call as people write it.

    >>> call_text(Call("count_rows")), call_text(Call("count_distinct", ("src",), ("VARCHAR",), 100))
    ('count(*)', 'count_distinct(src, 100)')
    """
    if call.aggregate == "count_rows":
        return "count(*)"
    constants = [str(one) for one in (call.limit, call.fraction) if one is not None]
    return f"{call.aggregate}({', '.join([*call.arguments, *constants])})"
