"""Plans as trees: leaves are streams, inner nodes select or join (Definition 1).

A join has the child with the alphabetically first stream on its left, so that each plan has one text: ((A B) C), and
with a selection s above A, (s[A] B). Plans of equal cost are told apart by that text. Reading and printing are linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput


@dataclass(frozen=True)
class Leaf:
    stream: str

    @property
    def streams(self) -> frozenset[str]:
        return frozenset((self.stream,))

    def __str__(self) -> str:
        return self.stream


@dataclass(frozen=True)
class Select:
    selection: str
    below: Tree

    @property
    def streams(self) -> frozenset[str]:
        return self.below.streams

    def __str__(self) -> str:
        return f"{self.selection}[{self.below}]"


@dataclass(frozen=True)
class Join:
    left: Tree
    right: Tree

    @property
    def streams(self) -> frozenset[str]:
        return self.left.streams | self.right.streams

    def __str__(self) -> str:
        return f"({self.left} {self.right})"


Tree = Leaf | Select | Join


def join(one: Tree, other: Tree) -> Join:
    """Return the join with the alphabetically first stream on its left."""
    return Join(one, other) if min(one.streams) < min(other.streams) else Join(other, one)


_TOKEN = re.compile(r"\s*([()\[\]]|[^\s()\[\]]+)")


def tree_of(text: str) -> Tree:
    """Read a plan's text.

    >>> str(tree_of("(C (s[B] A))"))
    '((A s[B]) C)'
    """
    tokens = _TOKEN.findall(text)[::-1]
    found = _tree(tokens, text)
    if tokens:
        raise _unread(text)
    return found


def _tree(tokens: list[str], text: str) -> Tree:
    token = _next(tokens, text)
    if token == "(":
        found: Tree = join(_tree(tokens, text), _tree(tokens, text))
        _expect(tokens, ")", text)
    elif token in ")[]":
        raise _unread(text)
    elif tokens and tokens[-1] == "[":
        tokens.pop()
        found = Select(token, _tree(tokens, text))
        _expect(tokens, "]", text)
    else:
        found = Leaf(token)
    return found


def _next(tokens: list[str], text: str) -> str:
    if not tokens:
        raise _unread(text)
    return tokens.pop()


def _expect(tokens: list[str], token: str, text: str) -> None:
    if _next(tokens, text) != token:
        raise _unread(text)


def _unread(text: str) -> InvalidInput:
    return InvalidInput(f"'{text}' is no plan", "write a plan such as ((A s[B]) C)")
