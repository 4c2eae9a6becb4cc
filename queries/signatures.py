"""Queries with different predicates share partials: a row's signature says which predicates it satisfies.

Bit k is set where predicate k holds; rows of signature 0 are in no answer and are dropped. Partials are kept per
signature, and a query reads those with its bit. There are at most 2^n signatures of n predicates, so a tree takes few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput

SIGNATURES_MAX = 256
PREDICATES_MAX = SIGNATURES_MAX.bit_length() - 1
EVERY_ROW = ""


@dataclass(frozen=True)
class Signatures:
    """The predicates of one tree, each once; EVERY_ROW is the one of queries without a predicate."""

    predicates: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(set(self.predicates)) != len(self.predicates):
            raise InvalidInput("a predicate is named twice", "name each once")
        if len([text for text in self.predicates if text != EVERY_ROW]) > PREDICATES_MAX:
            raise InvalidInput(
                f"{len(self.predicates)} predicates make more than {SIGNATURES_MAX} signatures",
                "split the queries by predicate into several trees",
            )

    def of(self, holds: Callable[[str], bool]) -> int:
        """The signature of a row, of which `holds` says whether a predicate is true (not false, not NULL)."""
        return sum(1 << bit for bit, text in enumerate(self.predicates) if text == EVERY_ROW or holds(text))

    def selects(self, predicate: str, signature: int) -> bool:
        return bool(signature >> self.predicates.index(predicate) & 1)


def split_predicates(predicates: Iterable[str]) -> list[Signatures]:
    """As few trees as the bound allows, in order of appearance; EVERY_ROW costs nothing and rides with the first.

    >>> [len(tree.predicates) for tree in split_predicates(f"x = {k}" for k in range(10))]
    [8, 2]
    """
    distinct = list(dict.fromkeys(predicates))
    narrowing = [text for text in distinct if text != EVERY_ROW]
    trees = [narrowing[first : first + PREDICATES_MAX] for first in range(0, len(narrowing), PREDICATES_MAX)] or [[]]
    if EVERY_ROW in distinct:
        trees[0] = [EVERY_ROW, *trees[0]]
    return [Signatures(tuple(tree)) for tree in trees]
