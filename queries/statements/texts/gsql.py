"""GSQL's stream merge (Gigascope): the order-preserving union of streams on their ordering attribute.

    MERGE R.ts : S.ts FROM tcp1 R, tcp2 S

Streams in, stream out: there are no windows, so the answer is append-only. All ordering attributes are the streams'
timestamps, by which they arrive; anything else would need a sort before.
"""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.plan import Operator, Stream, Union
from tidewheel.queries.statements.statement import Statement
from tidewheel.queries.statements.texts.cql import Read, Schemas
from tidewheel.queries.statements.texts.words import Words


def read_merge(text: str, schemas: Schemas, *, ordered_by: str = "ts") -> Read:
    """
    >>> read_merge("MERGE R.ts : S.ts FROM tcp1 R, tcp2 S", {"tcp1": ["ip"], "tcp2": ["ip"]}).statement.plan.title
    '∪'
    """
    words = Words(text)
    words.take("merge")
    attributes = [words.name()]
    while words.takes(":"):
        attributes.append(words.name())
    words.take("from")
    streams: dict[str, Operator] = {}
    while not streams or words.takes(","):
        name = words.name()
        alias = words.name() if words.peek().isidentifier() else name
        if name not in schemas:
            raise InvalidInput(f"no stream is named {name}", f"there are {', '.join(schemas)}")
        streams[alias] = Stream(name, tuple(schemas[name]), alias)
    words.end()
    if sorted(attributes) != sorted(f"{alias}.{ordered_by}" for alias in streams) or len(streams) < 2:
        raise InvalidInput(
            f"a merge by {', '.join(attributes)}", f"name the ordering attribute of each stream: {ordered_by}"
        )
    first, *others = streams.values()
    for one in others:
        first = Union(first, one)
    return Read(Statement(first))
