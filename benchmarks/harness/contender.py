"""The one interface of all contenders: bring a slot in, take out what has expired, answer.

A new contender is a class with `create` and `update`, and either the list of its Parquet files (`FileContender`
does the rest) or its own answers. Then its name goes into `catalogue`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.archives.stream import Source
from benchmarks.harness.truth import Summary


class Family(StrEnum):
    OURS = "ours"
    RIVAL = "rival"
    YARDSTICK = "yardstick"


class Unavailable(Exception):
    """A contender cannot run here; the text says why and what would help."""


@dataclass(frozen=True)
class Course:
    """What a contender runs on."""

    source: Source
    folder: Path
    spark: Any

    @property
    def span(self) -> int:
        return self.source.stream.span


@dataclass(frozen=True)
class Contents:
    """What a contender stores: its live records, and bytes live and dead.

    `oldest_dead` is how many updates ago the oldest stored record expired that is still there; 0 if none is.
    """

    live: Summary
    files: int
    rows: int
    bytes: int
    dead_bytes: int
    oldest_dead: int


class Contender(ABC):
    """One way to keep the archive. `label` is what the page calls it, `note` what a reader must know of it."""

    name: str
    label: str
    family: Family
    note: str = ""
    # How the bytes of expired records leave the disk, after they have left the table.
    off_disk: str = "grace + vacuum period"
    # Slots per commit while loading, 0 for all in one; updates before its state is the one that repeats.
    load_each: int = 0
    settle: int = 2

    @abstractmethod
    def create(self, course: Course) -> None:
        """An empty table."""

    def load(self, slots: Sequence[int]) -> None:
        """The first span of slots, not measured; must leave what updates one by one would leave."""
        each = self.load_each or len(slots)
        for first in range(0, len(slots), each):
            self.update(slots[first : first + each])

    @abstractmethod
    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        """Bring the batches in and take out what has expired; further facts about it, if there are any."""

    def updates_measured(self, updates: int, span: int) -> int:
        """How many updates to measure where a race asks for so many."""
        return updates

    @abstractmethod
    def refresh(self, slot: int) -> None:
        """Let the open handle see the newest state."""

    @abstractmethod
    def probe(self, key: int) -> pa.Table:
        """The live records of one key, all columns, as of the end of the last slot."""

    @abstractmethod
    def probe_range(self, low: int, high: int) -> pa.Table:
        """The live records with low <= key < high."""

    @abstractmethod
    def scan(self) -> Iterator[pa.RecordBatch]:
        """All live records, all columns."""

    @abstractmethod
    def contents(self) -> Contents:
        """What is stored, counted from what is really there."""

    @abstractmethod
    def files(self) -> list[str]:
        """The files that hold the current state."""

    def written_bytes(self) -> int | None:
        """Bytes written so far, for those who write within their files; None: new files are counted."""
        return None

    def forget_caches(self) -> None:  # noqa: B027 -- most have none
        """Drop caches of its own before a cold probe (the page cache is seen to elsewhere)."""

    def close(self) -> None:  # noqa: B027 -- or nothing to close
        """Give back handles and connections."""
