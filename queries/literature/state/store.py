"""The operations of every structure of live records, and which structure suits which input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tidewheel.queries.literature.state.records import Record


class Store(Protocol):
    """`expire` removes and returns what has ended, by exp; `discard` removes one record that ends early."""

    def insert(self, record: Record) -> None: ...

    def expire(self, now: int) -> list[Record]: ...

    def discard(self, record: Record) -> None: ...

    def __iter__(self) -> Iterator[Record]: ...

    def __len__(self) -> int: ...
