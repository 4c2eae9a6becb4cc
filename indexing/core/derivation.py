"""The derivation of an archive: how it is derived, from which others, in which parts, and for how long its rows matter.

A definition keeps it as a text (`Definition.derived`). A reader asks this value for what it needs and leaves the rest,
so programs read the derivations of later ones as far as they know their words, and write them back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PARTIALS, ANSWERS = "partials", "answers"
# The two kinds that say theirs by what they hold.
_HOLDS = {"trees": PARTIALS, "queries": ANSWERS}


@dataclass(frozen=True)
class Derivation:
    """How an archive is derived; `content` is what its kind alone understands.

    >>> text = '{"of": "m", "queries": [], "slots_alive": 3}'
    >>> answers = Derivation.from_text(text)
    >>> answers.kind, answers.sources, answers.parts, answers.slots_alive
    ('answers', ('m',), None, 3)
    >>> answers.to_text() == text
    True
    """

    kind: str
    sources: tuple[str, ...] = ()  # where they lie
    parts: tuple[str, ...] | None = None  # those of a source's batches that all are to name, for who reads nothing else
    slots_alive: int | None = None  # how long a row matters, at most
    content: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def from_text(text: str) -> Derivation:
        """Read a definition's text; that of an archive which is derived of none is empty."""
        content = dict(json.loads(text)) if text else {}
        sources, parts = content.pop("of", ()), content.pop("parts", None)
        return Derivation(
            content.pop("kind", _kind_of(content)),
            (sources,) if isinstance(sources, str) else tuple(sources),
            None if parts is None else tuple(parts),
            content.pop("slots_alive", None),
            content,
        )

    def to_text(self) -> str:
        told = dict(self.content)
        if self.kind != _kind_of(self.content):
            told["kind"] = self.kind
        if self.sources:
            told["of"] = self.sources[0] if len(self.sources) == 1 else list(self.sources)
        if self.parts is not None:
            told["parts"] = list(self.parts)
        if self.slots_alive is not None:
            told["slots_alive"] = self.slots_alive
        return json.dumps(told, sort_keys=True)


def _kind_of(content: Mapping[str, Any]) -> str:
    return next((kind for word, kind in _HOLDS.items() if word in content), "")
