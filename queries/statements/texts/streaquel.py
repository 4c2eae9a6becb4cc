"""StreaQuel's loop over windows (TelegraphCQ): where both ends of a window move, as a loop says it.

    for (t = ST; t < ST + 50; t++) { WindowIs(S, t - 4, t); }

That is RANGE 5 SLIDE 1, 50 runs. An end is fixed (no t in it), or moves with t: forward, or backward where the step is
negative: nine kinds of windows, of which a loop, whose ends share t, says seven.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidewheel.queries.statements.texts.words import Words


@dataclass(frozen=True)
class End:
    """`shift` from t where it moves, else from ST."""

    moves: bool
    shift: int


@dataclass(frozen=True)
class Loop:
    """`runs` is None where the loop has no end."""

    stream: str
    first: int
    step: int
    runs: int | None
    old: End
    new: End

    @property
    def kind(self) -> str:
        """Return the kind by how the ends move."""
        if self.old.moves and self.new.moves:
            return "sliding" if self.step > 0 else "sliding backward"
        if not self.old.moves and not self.new.moves:
            return "fixed"
        grows = self.new.moves is (self.step > 0)
        return "shrinking" if not grows else "landmark" if self.new.moves else "landmark, backward"

    @property
    def range(self) -> int | None:
        """Return the length of a sliding window."""
        return self.new.shift - self.old.shift + 1 if self.old.moves and self.new.moves else None

    def windows(self, start: int, until: int) -> Iterator[tuple[int, int]]:
        """Give the window of each run from the moment ST on: its first and last moment."""
        run = 0
        while (self.runs is None and run <= until) or (self.runs is not None and run < self.runs):
            at = start + self.first + run * self.step
            yield (_moment(self.old, at, start), _moment(self.new, at, start))
            run += 1


def _moment(end: End, at: int, start: int) -> int:
    return end.shift + (at if end.moves else start)


def read_loop(text: str) -> Loop:
    """
    >>> loop = read_loop("for (t = ST; t < ST + 50; t++) { WindowIs(S, t - 4, t); }")
    >>> loop.kind, loop.range, loop.step, loop.runs, list(loop.windows(100, 0))[:2]
    ('sliding', 5, 1, 50, [(96, 100), (97, 101)])
    """
    words = Words(text)
    words.take("for", "(", "t", "=")
    first = _end(words).shift
    words.take(";")
    bound = None
    if words.takes("t", "<") or words.takes("t", ">"):
        bound = _end(words).shift
    words.take(";", "t")
    step = _step(words)
    words.take(")", "{", "windowis", "(")
    stream = words.name()
    words.take(",")
    old = _end(words)
    words.take(",")
    new = _end(words)
    words.take(")")
    words.takes(";")
    words.take("}")
    words.end()
    runs = None if bound is None else -(-(bound - first) // step)
    return Loop(stream, first, step, runs, old, new)


def _step(words: Words) -> int:
    if words.takes("++"):
        return 1
    if words.takes("--"):
        return -1
    return words.number() if words.takes("+=") else -words.number() if words.takes("-=") else words.fail("t++")


def _end(words: Words) -> End:
    """Take ST or t, more or less a number; a plain number is one from ST."""
    if words.is_constant():
        return End(False, int(words.constant()))
    moves = words.takes("t") or not words.take("st")
    if words.takes("+"):
        return End(moves, words.number())
    return End(moves, -words.number() if words.takes("-") else 0)
