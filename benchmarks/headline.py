"""A row of what the literature is known for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Headline:
    what: str
    published: str
    ours: str
    why: str = ""
