"""Older answers that are still owed: the first such slot, by part of a query.

It stands beside the queries in the definition of the answers, so it is read and written with them. Nodes that refresh
side by side change each what is owed to their own queries.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

KEY = "owed"


def owed_of(derived: str, parts: Collection[str]) -> dict[str, int]:
    """The first owed slot of each of these parts.

    >>> owed_of('{"owed": {"a@1": 7, "b@2": 9}}', ["a@1", "c@3"])
    {'a@1': 7}
    """
    told = _all_owed(derived)
    return {part: told[part] for part in sorted(told.keys() & set(parts))}


def without_owed(derived: str) -> str:
    """The definition without what is owed.

    >>> without_owed('{"of": "m", "owed": {"a@1": 7}}')
    '{"of": "m"}'
    """
    if f'"{KEY}"' not in derived:
        return derived
    return _text({key: value for key, value in json.loads(derived).items() if key != KEY})


def with_owed(derived: str, parts: Collection[str], owed: Mapping[str, int]) -> str:
    """The same definition, which owes this to these parts, and to others what it owed them.

    >>> with_owed('{"owed": {"a@1": 7, "b@2": 9}}', ["a@1"], {"a@1": 8})
    '{"owed": {"a@1": 8, "b@2": 9}}'
    >>> with_owed('{"owed": {"a@1": 7}}', ["a@1"], {})
    '{}'
    """
    others = {part: slot for part, slot in _all_owed(derived).items() if part not in parts}
    owing = others | dict(owed)
    bare = json.loads(without_owed(derived))
    return _text({**bare, KEY: owing} if owing else bare)


def _all_owed(derived: str) -> dict[str, int]:
    return dict(json.loads(derived).get(KEY, {})) if f'"{KEY}"' in derived else {}


def _text(told: Mapping[str, object]) -> str:
    return json.dumps(told, sort_keys=True)
