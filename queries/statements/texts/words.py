"""Words of a query text, taken one after another; what is unexpected is named with its place."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from tidewheel.indexing.errors import InvalidInput

_WORD = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<text>'[^']*')|(?P<name>\$?[A-Za-z_][\w.]*(?:-restore\b)?)|"
    r"(?P<sign><=|>=|<>|!=|\+\+|--|\+=|-=|[-+*/=<>(),;:\[\]{}]))",
    re.IGNORECASE,
)
SECONDS = {"tick": 1, "second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "day": 86_400}


class Word(NamedTuple):
    kind: str
    text: str
    at: int


class Words:
    """
    >>> words = Words("SELECT a FROM S [RANGE 2 minutes]")
    >>> words.take("select"), words.name(), words.takes("from"), words.name(), words.takes("[", "range"), words.time()
    (True, 'a', True, 'S', True, 120)
    """

    def __init__(self, text: str) -> None:
        self._text, self._next = text, 0
        self._words: list[Word] = []
        at = 0
        while text[at:].strip():
            found = _WORD.match(text, at)
            if found is None:
                raise InvalidInput(f"'{text[at:].strip()[:20]}' in a query text", "names, numbers, 'texts' and signs")
            kind = found.lastgroup or ""
            self._words.append(Word(kind, found[kind], found.start(kind)))
            at = found.end()

    def peek(self, ahead: int = 0) -> str:
        """Return a coming word in small letters; empty at the end."""
        place = self._next + ahead
        return self._words[place].text.lower() if place < len(self._words) else ""

    def takes(self, *words: str) -> bool:
        """Take these words if they come next, all of them."""
        if all(self.peek(ahead) == word for ahead, word in enumerate(words)):
            self._next += len(words)
            return True
        return False

    def take(self, *words: str) -> bool:
        """Take these words, which must come next."""
        return self.takes(*words) or self.fail(" ".join(words).upper())

    def _taken(self, kind: str, expected: str) -> str:
        if self._next == len(self._words) or self._words[self._next].kind != kind:
            self.fail(expected)
        self._next += 1
        return self._words[self._next - 1].text

    def name(self) -> str:
        return self._taken("name", "a name")

    def number(self) -> int:
        return int(self._taken("number", "a number"))

    def names(self) -> tuple[str, ...]:
        """Take names between commas."""
        found = [self.name()]
        while self.takes(","):
            found.append(self.name())
        return tuple(found)

    def is_constant(self) -> bool:
        return self.peek().isdigit() or self.peek()[:1] in ("'", "-")

    def constant(self) -> int | str:
        if self.peek().startswith("'"):
            return self._taken("text", "a text")[1:-1]
        return -self.number() if self.takes("-") else self.number()

    def time(self) -> int:
        """Take a length of time in seconds; a plain number is one of ticks."""
        length = self.number()
        unit = self.peek().removesuffix("s")
        if unit in SECONDS:
            self._next += 1
            length *= SECONDS[unit]
        return length

    def end(self) -> None:
        self.takes(";")
        if self._next < len(self._words):
            self.fail("the end")

    def fail(self, expected: str) -> NoReturn:
        is_over = self._next >= len(self._words)
        place = len(self._text) if is_over else self._words[self._next].at
        found = "the end" if is_over else f"'{self._words[self._next].text}'"
        raise InvalidInput(
            f"a query text has {found} where {expected} is expected, at character {place + 1}",
            "see `queries/README.md`: query texts",
        )
