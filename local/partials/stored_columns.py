"""The stored columns of trees and queries: one table holds those of all, by kind and type.

The first text group of every tree is `g_varchar_0`, its second bigint accumulator `a_bigint_1`. So the table is as
wide as the widest of them, not as all together, and views give the columns their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import pyarrow as pa
from deltalake import Field, Schema

from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.fold import inputs_of
from tidewheel.local.partials.stored_types import stored_type
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Tree

_WORDS = re.compile(r"\W+")
PARTIAL_COLUMNS = {"part": "VARCHAR", "fragment": "BIGINT", "signature": "INTEGER", "expiration": "BIGINT"}
PARTIAL_KEY = ("fragment",)
ANSWER_COLUMNS = {
    "part": "VARCHAR", "window_end": "TIMESTAMPTZ", "window_start": "TIMESTAMPTZ", "rows": "BIGINT",
    "complete": "DOUBLE", "revision": "INTEGER", "source_version": "BIGINT",
    "slots_late": "INTEGER",
}  # fmt: skip
ANSWER_KEY = ("window_end",)


@lru_cache(maxsize=10_000)
def placed(kind: str, types: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Names and types of the columns that hold values of such types, in order.

    >>> placed("g", ("VARCHAR", "BIGINT", "VARCHAR"))
    (('g_varchar_0', 'VARCHAR'), ('g_bigint_0', 'BIGINT'), ('g_varchar_1', 'VARCHAR'))
    >>> placed("a", ("VARCHAR[]",))
    (('a_varchar_list_0', 'VARCHAR[]'),)
    """
    seen: Counter[str] = Counter()
    columns = []
    for sql_type in types:
        kept = stored_type(sql_type)
        word = _WORDS.sub("_", kept.lower().replace("[]", "_list")).strip("_")
        columns.append((f"{kind}_{word}_{seen[word]}", kept))
        seen[word] += 1
    return tuple(columns)


def partial_columns(tree: Tree) -> dict[str, tuple[str, str]]:
    """The stored columns of a tree with their types, by what folds call them (g0, a0, ...)."""
    groups = placed("g", tuple(one.sql_type for one in tree.groups))
    accumulators = placed("a", tuple(kind for given in inputs_of(tree) for kind in given.column_types))
    return _numbered("g", groups) | _numbered("a", accumulators)


def answer_columns(query: Query) -> dict[str, tuple[str, str]]:
    """The stored columns of a query's groups and outputs with their types, by their names."""
    groups = placed("g", tuple(one.sql_type for one in query.groups))
    outputs = placed("v", tuple(one.sql_type for one in query.outputs))
    names = [one.name for one in (*query.groups, *query.outputs)]
    return dict(zip(names, [*groups, *outputs], strict=True))


def delta_columns(columns: Iterable[tuple[str, str]]) -> list[Field]:
    """Columns as the table's schema takes them."""
    distinct = dict(columns)
    types = arrow_types_of(list(distinct.values()))
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(distinct, types, strict=True)])
    return list(Schema.from_arrow(schema).fields)


def _numbered(kind: str, columns: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {f"{kind}{number}": column for number, column in enumerate(columns)}
