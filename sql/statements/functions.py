"""The table of DuckDB's functions: what a query that calls one may come to, and who takes which kinds.

DuckDB's own word for it, stability, does not do: it calls json_serialize_plan consistent, which plans a text of SQL and
so opens files. functions.txt says of each function one of four kinds. People's SQL takes the first two, what is
computed again and compared, such as a standing query, only the first. A function that is not in the table is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "functions.txt"


class Kind(Enum):
    """The effects that a call may have."""

    REPEATABLE = "repeatable"
    CLOCK_OR_CHANCE = "clock or chance"
    FILES_OR_SETTINGS = "files or settings"
    PARSES_SQL = "parses SQL"


READING = frozenset({Kind.REPEATABLE, Kind.CLOCK_OR_CHANCE})
REPEATED = frozenset({Kind.REPEATABLE})
# What DuckDB takes for a function without parentheses, where no column has the name.
WORDS = frozenset(
    {"current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp"}
    | {"current_user", "localtime", "localtimestamp", "session_user", "user"}
)
_WHY = {
    Kind.CLOCK_OR_CHANCE: "gives another result on each call",
    Kind.FILES_OR_SETTINGS: "tells of the program and its files, not of the records",
    Kind.PARSES_SQL: "takes SQL or a table's name as a text, which nobody checks",
}


@dataclass(frozen=True)
class Functions:
    """The kinds of functions, and of what stands behind FROM, by name."""

    functions: Mapping[str, Kind]
    tables: Mapping[str, Kind]

    def kind_of(self, name: str, arguments: int = 0) -> Kind | None:
        """A function's kind; one name can be of another kind with so many arguments."""
        name = name.lower()
        return self.functions.get(f"{name}({arguments})") or self.functions.get(name)

    def why_refused(self, node: Mapping[str, Any], taken: frozenset[Kind]) -> str:
        """Why a call in a syntax tree is not taken, or nothing.

        >>> call = {"function_name": "now", "arguments": []}
        >>> known_functions().why_refused(call, READING), known_functions().why_refused(call, REPEATED)
        ('', 'now gives another result on each call')
        >>> known_functions().why_refused({"function_name": "uper", "arguments": []}, READING)
        'there is no function uper here; is it upper?'
        """
        name = str(node["function_name"])
        kind = self.kind_of(name, len(node.get("arguments", ())))
        if kind is None:
            near = get_close_matches(name.lower(), self.functions, n=1)
            return f"there is no function {name} here" + "".join(f"; is it {one}?" for one in near)
        return "" if kind in taken else f"{name} {_WHY[kind]}"


@cache
def known_functions() -> Functions:
    """The table."""
    parts: dict[str, dict[str, Kind]] = {"functions": {}, "tables": {}}
    for part, kind, name in _entries(_FILE.read_text(encoding="utf-8")):
        if name in parts[part]:
            raise ValueError(f"{name} is twice in {_FILE.name}")
        parts[part][name] = kind
    return Functions(**parts)


def _entries(text: str) -> Iterator[tuple[str, Kind, str]]:
    part, kind = "", Kind.REPEATABLE
    for line in text.splitlines():
        if line.startswith("["):
            part, _, said = line.strip("[]").partition(": ")
            kind = Kind(said)
        elif not line.startswith("#"):
            yield from ((part, kind, name.strip().lower()) for name in line.split(",") if name.strip())
