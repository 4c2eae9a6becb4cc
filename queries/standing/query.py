"""A standing query as a frozen value, in two forms.

`QueryText` is what a file says, each value checked by itself. `Query` is what it means for one archive: the select
taken apart into aggregates over the record's columns and outputs over aggregates, everything typed. The first needs
the standard library alone; the second is made by whoever has a parser of SQL and the archive's columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any

from tidewheel.indexing.toml.page import Fault

LIVE = "live"
PART_BYTES = 4
DIGEST_BYTES = 8
# What every answer tells of itself, before its groups and outputs and behind them.
TOLD_FIRST = ("window_start", "window_end")
TOLD_LAST = ("rows", "complete", "revision", "source_version", "slots_late")


class Counts(StrEnum):
    """The records of a window that count: all that arrived, or those that are still alive at its end."""

    ARRIVED = "arrived"
    LIVE = "live"


class Erasure(StrEnum):
    """The fate of partials with a forgotten key whose source rows are gone."""

    DELETE = "delete"
    KEEP = "keep"


def _no_fault(place: str, wrong: str, remedy: str) -> Fault:
    return Fault("", 1, place, wrong, remedy)


@dataclass(frozen=True)
class Terms:
    """Time and retention of a query; every duration in microseconds. `window_us` is None for everything alive."""

    window_us: int | None
    slide_us: int
    offset_us: int = 0
    counts: Counts = Counts.ARRIVED
    time: str = ""
    ahead_us: int = 0
    late_us: int = 0
    revise_us: int = 0
    keep_us: int = 0
    erasure: Erasure = Erasure.DELETE

    def back_us(self, life_us: int) -> int:
        """How far back from now a batch can matter: the window of the oldest answer that is still corrected.

        A window without beginning reaches as far as the longest life.
        """
        return (life_us if self.window_us is None else self.window_us) + self.revise_us

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "counts": self.counts.value, "erasure": self.erasure.value}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Terms:
        return Terms(**{**values, "counts": Counts(values["counts"]), "erasure": Erasure(values["erasure"])})


@dataclass(frozen=True)
class QueryText:
    """One `[query]` of a file. `fault` tells where in the file something is wrong."""

    name: str
    of: str
    select: str
    where: str
    group_by: tuple[str, ...]
    having: str
    order_by: str
    limit: int | None
    terms: Terms
    technique: str = ""
    tests: tuple[Mapping[str, Any], ...] = ()
    faults: tuple[Fault, ...] = ()  # of its own lines; what they leave unsaid has the defaults
    is_named: bool = True  # or has the name of its file, for want of another
    is_shifted: bool = True  # or has the offset that the archive decides
    fault: Callable[[str, str, str], Fault] = field(default=_no_fault, compare=False, repr=False)

    @property
    def file_name(self) -> str:
        return self.fault("name", "", "").file_name

    def digest(self, basis: str) -> str:
        """A digest of all that decides what the query means; `basis` tells of the archive and of the program."""
        said = [
            self.name, self.of, self.select, self.where, self.group_by, self.having, self.order_by, self.limit,
            self.terms.to_json(), self.technique, basis,
        ]  # fmt: skip
        return blake2b(json.dumps(said).encode(), digest_size=DIGEST_BYTES).hexdigest()


@dataclass(frozen=True)
class Call:
    """One aggregate over the record's columns: its name in the catalogue, arguments as SQL, their SQL types.

    `limit` and `fraction` are constants that some take as last argument.
    """

    aggregate: str
    arguments: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    limit: int | None = None
    fraction: float | None = None

    @cached_property
    def _hash(self) -> int:
        return hash((self.aggregate, self.arguments, self.types, self.limit, self.fraction))

    def __hash__(self) -> int:
        """Calls are looked up by the thousand."""
        return self._hash

    def to_json(self) -> list[Any]:
        # Queries without a fraction keep their text, and so the part under which their answers are stored.
        fractions = [] if self.fraction is None else [self.fraction]
        return [self.aggregate, list(self.arguments), list(self.types), self.limit, *fractions]

    @staticmethod
    def from_json(values: list[Any]) -> Call:
        name, arguments, types, *constants = values
        return Call(name, tuple(arguments), tuple(types), *constants)


@dataclass(frozen=True)
class Named:
    """A group column or an output: its name, its SQL and its SQL type."""

    name: str
    sql: str
    sql_type: str

    def to_json(self) -> list[str]:
        return [self.name, self.sql, self.sql_type]

    @staticmethod
    def from_json(values: list[str]) -> Named:
        return Named(*values)


@dataclass(frozen=True)
class Query:
    """A query file, compiled for one archive.

    `outputs`, `having` and `order_by` are SQL over the names of `groups` and over the calls, which they name
    `"call 0"`, `"call 1"`, ...
    """

    name: str
    of: str
    calls: tuple[Call, ...]
    outputs: tuple[Named, ...]
    groups: tuple[Named, ...]
    where: str
    having: str
    order_by: str
    limit: int | None
    terms: Terms
    technique: str = ""
    text: str = field(default="", compare=False)  # the digest of the text that it was compiled from

    @cached_property
    def part(self) -> str:
        """Return the part that stores answers: the name and a digest, so that a changed query is another part."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return f"{self.name}@{blake2b(text.encode(), digest_size=PART_BYTES).hexdigest()}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "of": self.of,
            "calls": [one.to_json() for one in self.calls],
            "outputs": [one.to_json() for one in self.outputs],
            "groups": [one.to_json() for one in self.groups],
            "where": self.where,
            "having": self.having,
            "order_by": self.order_by,
            "limit": self.limit,
            "terms": self.terms.to_json(),
            "technique": self.technique,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Query:
        return Query(
            **{
                **values,
                "calls": tuple(Call.from_json(one) for one in values["calls"]),
                "outputs": tuple(Named.from_json(one) for one in values["outputs"]),
                "groups": tuple(Named.from_json(one) for one in values["groups"]),
                "terms": Terms.from_json(values["terms"]),
            }
        )


def name_of_part(part: str) -> str:
    """The query whose answers are stored under it.

    >>> name_of_part("top_talkers@c0ffee00")
    'top_talkers'
    """
    return part.partition("@")[0]


def call_name(number: int) -> str:
    """How outputs name a call: no column of a record can be named so, as column names hold no spaces."""
    return f"call {number}"
