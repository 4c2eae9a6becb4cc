"""On which line a TOML text sets a key: the standard parser gives values without their lines.

The text has been parsed already, so this scanner need not judge it; it only has to tell keys from values:

1. Cut the text into tokens. A string of any kind, with all its lines, is one token, and so is a comment.
2. Outside brackets, a line starts with a key path, which ends at `=`; a `[header]` line changes the table.
3. Inside an inline table a key path starts after `{` and after each `,`; inside an array nothing is a key.
4. `[[header]]` opens the next element of an array of tables: its keys lie below its path and its number.

Every prefix of a path gets a line as well, so that `source` is found where only `[source.options]` stands.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

KeyPath = tuple[str, ...]
# Deeper keys get the line of what is around them: no file worth reading nests like that.
_DEPTH_MAX = 8
_ELEMENT = "#"

_TOKEN = re.compile(
    r"""
      (?P<skip>[ \t\r]+ | \#[^\n]*)
    | (?P<newline>\n)
    | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3}\"{0,2} | '{3}.*?'{3}'{0,2} | "(?:\\.|[^"\\\n])*" | '[^'\n]*')
    | (?P<mark>[\[\]{}=,.])
    | (?P<bare>[^\s\[\]{}=,."'\#]+)
    """,
    re.VERBOSE | re.DOTALL,
)


def element(number: int) -> str:
    """Return how a path names one element of an array of tables, from 0."""
    return f"{_ELEMENT}{number}"


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, on which each key path of a valid TOML text first appears.

    >>> key_lines("[[a]]\\nb = 1\\n[[a]]\\nb = 2")[("a", "#1", "b")]
    4
    >>> key_lines("[time]\\ninterval = '1h'")
    {('time',): 1, ('time', 'interval'): 2}
    """
    scanner = _Scanner()
    for kind, token, line in _tokens(text):
        scanner.take(kind, token, line)
    return scanner.found


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """Return the line of a key path, else that of the nearest thing around it, else the first."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "skip":
            yield kind, match[0], line
        line += match[0].count("\n")


class _Scanner:
    """The state between two tokens: the current table, the key path so far, and the brackets still open."""

    def __init__(self) -> None:
        self.found: dict[KeyPath, int] = {}
        self._table: KeyPath = ()
        self._brackets = 0
        self._elements: dict[KeyPath, int] = {}
        self._path: list[str] = []
        self._in_key = True
        # The table that each open bracket holds keys of; None for an array, which holds no keys.
        self._open: list[KeyPath | None] = []

    def take(self, kind: str, token: str, line: int) -> None:
        if kind == "newline":
            if not self._open:
                self._start_key()
        elif self._in_key:
            self._take_key(kind, token, line)
        elif kind == "mark":
            self._take_value_mark(token)

    def _take_key(self, kind: str, token: str, line: int) -> None:
        if kind in ("bare", "string"):
            self._path.append(token if kind == "bare" else tomllib.loads(f"key = {token}")["key"])
        elif token == "=":
            self._record(self._full_path(), line)
            self._in_key = False
        elif token == "[":
            self._brackets += 1
        elif token == "]" and self._path:
            self._table = self._header(tuple(self._path), is_element=self._brackets == 2)
            self._record(self._table, line)
            self._brackets = 0
            self._start_key()
        elif token == "}":
            self._close()

    def _take_value_mark(self, token: str) -> None:
        if token == "[":
            self._open.append(None)
        elif token == "{":
            self._open.append(self._full_path())
            self._start_key()
        elif token in "]}":
            self._close()
        elif token == "," and self._open[-1] is not None:
            self._start_key()

    def _start_key(self) -> None:
        self._in_key, self._path = True, []

    def _header(self, path: KeyPath, *, is_element: bool) -> KeyPath:
        """Return the path of a header with the numbers of the elements that it lies in."""
        full: KeyPath = ()
        for depth, name in enumerate(path, start=1):
            full = (*full, name)
            if is_element and depth == len(path):
                self._elements[full] = self._elements.get(full, -1) + 1
            if full in self._elements:
                full = (*full, element(self._elements[full]))
        return full

    def _close(self) -> None:
        self._in_key = False
        self._open.pop()

    def _full_path(self) -> KeyPath:
        around = next((table for table in reversed(self._open) if table is not None), self._table)
        return (*around, *self._path)

    def _record(self, path: KeyPath, line: int) -> None:
        # Of several elements of an array, the path without a number is the first one's.
        for form in {path, tuple(name for name in path if not name.startswith(_ELEMENT))}:
            for length in range(1, min(len(form), _DEPTH_MAX) + 1):
                self.found.setdefault(form[:length], line)
