"""The queries that answers are derived by, as their archive's definition keeps them: in few bytes.

The log has the definition as JSON within JSON within JSON, where each quote is eight characters: a thousand queries
would be megabytes that whoever opens the archive reads. Archives of earlier programs have them as they are.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from tidewheel.queries.standing.query import Query

KEY = "queries"


def with_queries(told: Mapping[str, Any], queries: Iterable[Query]) -> dict[str, Any]:
    """What is told of an archive, and the queries that it is derived by."""
    text = json.dumps([query.to_json() for query in queries], sort_keys=True)
    return {**told, KEY: b64encode(zlib.compress(text.encode())).decode()}


def queries_in(derived: str) -> list[Query]:
    """The queries in such a definition; in that of any other archive, none."""
    return [Query.from_json(one) for one in _unpacked(json.loads(derived or "{}")).get(KEY, ())]


def says_the_same(derived: str, other: str) -> bool:
    """Whether two definitions say the same: not every zlib packs it alike."""
    return derived == other or _unpacked(json.loads(derived)) == _unpacked(json.loads(other))


def _unpacked(told: dict[str, Any]) -> dict[str, Any]:
    packed = told.get(KEY)
    if not isinstance(packed, str):
        return told
    return {**told, KEY: json.loads(zlib.decompress(b64decode(packed)))}
