"""A sliding window: how far back it reaches, how often it reports, and since when."""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput


@dataclass(frozen=True, order=True)
class Window:
    """Reports at T = offset, offset ± slide, ... over the records with T - length <= time < T.

    The length is what the literature calls the range. Below the slide it leaves gaps, whose records no answer holds.
    """

    length: int
    slide: int
    offset: int = 0
    unit: str = "microseconds"

    def __post_init__(self) -> None:
        counts = (self.length, self.slide)
        if not all(isinstance(count, int) for count in (*counts, self.offset)) or min(counts) <= 0:
            raise InvalidInput(
                f"range and slide must be positive whole numbers of {self.unit}",
                f"this window has range {self.length}, slide {self.slide}, offset {self.offset}",
            )

    def reports_between(self, after: int, until: int) -> range:
        """The report times T with after < T <= until."""
        first = after + 1 + (self.offset - after - 1) % self.slide
        return range(first, until + 1, self.slide)

    def reports_at(self, at: int) -> bool:
        return (at - self.offset) % self.slide == 0
