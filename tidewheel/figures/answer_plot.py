"""Answers over time for the terminal: a row for each group and number, a column for each report, the higher the fuller.

    bytes                                  2026-01-01T00:00Z to 2026-01-01T05:00Z, each from 0 to its own largest
    protocol = tcp   ▂▄▆█▇▅  last 812k, largest 1.04M
    protocol = udp   ▁▁▂ ▁▂  last 11.2k, largest 31.0k

Where there are more reports than columns, a column shows the largest of some: peaks stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tidewheel.figures.heatmap import short_count
from tidewheel.indexing.core.slots import micros
from tidewheel.queries.standing.query import Query
from tidewheel.views.figures import short_iso
from tidewheel.views.rows import value_text

if TYPE_CHECKING:
    import pyarrow as pa

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDTH_MIN = 10
GROUPS_SHOWN = 12
Series = Mapping[int, float]  # by the report's time


@dataclass(frozen=True)
class AnswerPlot:
    """The numbers among a query's outputs; `rows` are answers by the names of their columns."""

    groups: Sequence[str]
    outputs: Sequence[str]
    rows: Sequence[Mapping[str, Any]]

    def name_of(self, row: Mapping[str, Any]) -> str:
        """The group of a row."""
        return ", ".join(f"{group} = {value_text(row[group]) or None}" for group in self.groups)

    def series(self, output: str) -> dict[str, Series]:
        """Return the first few groups with the largest values, by name."""
        found: dict[str, dict[int, float]] = {}
        for row in self.rows:
            if is_number(row[output]):
                found.setdefault(self.name_of(row), {})[micros(row["window_end"])] = float(row[output])
        largest = sorted(found, key=lambda name: (-max(map(abs, found[name].values())), name))
        return {name: found[name] for name in largest}

    @property
    def numbers(self) -> list[str]:
        return [output for output in self.outputs if any(is_number(row[output]) for row in self.rows)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        times = sorted({micros(row["window_end"]) for row in self.rows})
        if not times or not self.numbers:
            yield Text("no number to draw")
            return
        for output in self.numbers:
            yield Text.assemble(output, (f"   {short_iso(times[0])} to {short_iso(times[-1])}", "dim"))
            yield from _drawn(self.series(output), times, options.max_width)


def answer_plot(query: Query, answers: pa.Table) -> AnswerPlot:
    from tidewheel.storage.python_values import dicts

    groups, outputs = ([one.name for one in some] for some in (query.groups, query.outputs))
    return AnswerPlot(groups, outputs, dicts(answers))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value)


def _drawn(series: Mapping[str, Series], times: Sequence[int], width: int) -> Iterator[Table | Text]:
    shown = list(series.items())[:GROUPS_SHOWN]
    ends = [f"last {_short(one[max(one)])}, largest {_short(max(one.values()))}" for _, one in shown]
    room = width - max(len(name) for name, _ in shown) - max(map(len, ends)) - 4
    grid = Table.grid(padding=(0, 2, 0, 0))
    for (name, one), end in zip(shown, ends, strict=True):
        grid.add_row(name, Text(line(one, times, max(room, _WIDTH_MIN)), no_wrap=True), Text(end, style="dim"))
    yield grid
    if len(series) > GROUPS_SHOWN:
        yield Text(f"and {len(series) - GROUPS_SHOWN} more groups with smaller numbers; --where chooses", style="dim")


def line(series: Series, times: Sequence[int], width: int) -> str:
    """One character for each of up to `width` runs of reports: from the smaller of 0 and the least, to the largest.

    >>> line({1: 0.0, 2: 4.0, 4: 8.0}, [1, 2, 3, 4], 80), line({1: 1.0, 2: 9.0, 3: 9.0, 4: 2.0}, [1, 2, 3, 4], 2)
    ('▁▅ █', '██')
    """
    low, high = min(0.0, *series.values()), max(0.0, *series.values())
    columns = min(width, len(times))
    cuts = [place * len(times) // columns for place in range(columns + 1)]
    runs = [times[first:end] for first, end in pairwise(cuts)]
    known = [[series[at] for at in run if at in series] for run in runs]
    return "".join(_level(max(values), low, high) if values else " " for values in known)


def _level(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.0
    return _LEVELS[round(share * (len(_LEVELS) - 1))]


def _short(value: float) -> str:
    return short_count(round(value)) if value >= 1000 else f"{value:.4g}"
