"""Older answers that are still owed: the first such slot, by part of a query.

It stands beside the queries in the definition of the answers, so it is read and written with them. Nodes that refresh
side by side change each what is owed to their own queries.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidewheel.indexing.core.derivation import Derivation

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
    return _with(Derivation.from_text(derived), {}) if f'"{KEY}"' in derived else derived


def with_owed(derived: str, parts: Collection[str], owed: Mapping[str, int]) -> str:
    """The same definition, which owes this to these parts, and to others what it owed them.

    >>> with_owed('{"owed": {"a@1": 7, "b@2": 9}}', ["a@1"], {"a@1": 8})
    '{"owed": {"a@1": 8, "b@2": 9}}'
    >>> with_owed('{"owed": {"a@1": 7}}', ["a@1"], {})
    '{}'
    """
    others = {part: slot for part, slot in _all_owed(derived).items() if part not in parts}
    owing = others | dict(owed)
    return _with(Derivation.from_text(derived), owing)


def _with(derivation: Derivation, owed: Mapping[str, int]) -> str:
    bare = {key: value for key, value in derivation.content.items() if key != KEY}
    return replace(derivation, content={**bare, KEY: owed} if owed else bare).to_text()


def _all_owed(derived: str) -> dict[str, int]:
    return dict(Derivation.from_text(derived).content.get(KEY, {})) if f'"{KEY}"' in derived else {}
