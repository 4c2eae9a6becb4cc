"""Results that live unequally long, in buckets by expiration time (section 7.6, weak non-monotonic results).

A slide drops the bucket that expires soonest, and brings rows into any bucket. Rows for buckets that a query has read
are handed to it; unread buckets need nothing. Only a dropped bucket that was read is a conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class BucketQuery:
    """A query that reads each bucket once, the one that expires last first."""

    buckets: dict[int, list[Any]]  # by expiration time
    rows: list[Any] = field(default_factory=list)
    was_read: list[int] = field(default_factory=list)
    is_aborted: bool = False

    @property
    def unread(self) -> list[int]:
        return sorted(set(self.buckets) - set(self.was_read), reverse=True)

    @property
    def is_done(self) -> bool:
        return not self.unread and not self.is_aborted

    def read(self, expires: int | None = None) -> None:
        bucket = self.unread[0] if expires is None else expires
        self.rows += self.buckets[bucket]
        self.was_read.append(bucket)

    def slide(self, dropped: int, brought: Mapping[int, Collection[Any]]) -> None:
        """Drop a bucket and bring rows; an empty bucket for a new expiration time is created by its rows."""
        self.is_aborted = self.is_aborted or dropped in self.was_read
        self.buckets.pop(dropped)
        for expires, rows in brought.items():
            if expires in self.was_read:
                self.rows += rows
            self.buckets.setdefault(expires, []).extend(rows)
