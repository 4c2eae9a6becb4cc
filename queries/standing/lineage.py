"""A few texts, in a batch's receipt and in the ledger, that say what the batch of partials was made of.

source a1b2 0            the source's batch (attempt, erasure) that was folded
covers all               every record of it was folded: exact for any report
covers live 41           only what was alive after slot 41: exact for what counts the living, from its end on
covers none the reason   nothing could be read
fragment 17 9f..         a digest of the partial rows of each fragment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

DIGEST_BITS = 64
DIGEST_MASK = (1 << DIGEST_BITS) - 1


class Cover(StrEnum):
    ALL = "all"
    LIVE = "live"
    SOME = "some"
    NONE = "none"


@dataclass(frozen=True)
class Coverage:
    """How much of a source's batch the partials hold; `since` is the slot after whose end LIVE is exact."""

    cover: Cover
    since: int = 0
    why: str = ""

    def to_text(self) -> str:
        since = [str(self.since)] if self.cover is Cover.LIVE else []
        return " ".join(["covers", self.cover.value, *since, self.why]).rstrip()

    @staticmethod
    def from_text(text: str) -> Coverage:
        _, cover, rest = f"{text} ".split(" ", 2)
        since, _, why = rest.partition(" ") if cover == Cover.LIVE else ("0", "", rest)
        return Coverage(Cover(cover), since=int(since), why=why.strip())

    def for_all(self) -> Coverage:
        """The same rows for what counts all that arrived: those alive are some of them."""
        return Coverage(Cover.SOME, why=self.why) if self.cover is Cover.LIVE else self

    def is_exact(self, slot_before: int) -> bool:
        """Tell whether the partials cover a report at the end of that slot, whether it counts the living or all."""
        return self.cover is Cover.ALL or (self.cover is Cover.LIVE and slot_before >= self.since)


@dataclass(frozen=True)
class PartialLineage:
    """The origin of a batch of partials, and a digest of each of its fragments."""

    source: str
    coverage: Coverage
    fragments: Mapping[int, int] = field(default_factory=dict)

    def to_texts(self) -> tuple[str, ...]:
        listed = (f"fragment {number} {digest:016x}" for number, digest in sorted(self.fragments.items()))
        return (f"source {self.source}", self.coverage.to_text(), *listed)

    @staticmethod
    @lru_cache(maxsize=100_000)
    def from_texts(texts: tuple[str, ...]) -> PartialLineage:
        """Cost: nothing for texts that were read before, as a refresh compares the same batches again and again."""
        source, coverage, *rest = texts
        fragments = {}
        for text in rest:
            _, number, digest = text.split(" ")
            fragments[int(number)] = int(digest, 16)
        return PartialLineage(source.removeprefix("source "), Coverage.from_text(coverage), fragments)
