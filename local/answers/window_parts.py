"""Partial rows in the order that folds need, and which of them each window has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.local.answers.reports import Windows
from tidewheel.queries.kernels.partials import Partials, Spans, sorted_partials


@dataclass(frozen=True)
class WindowPart:
    """Accumulators by column, sorted by group and fragment, and the spans of windows in them."""

    columns: Mapping[str, Any]
    partials: Partials
    spans: Spans
    places: Any


def window_part(rows: pa.Table, groups: Mapping[str, str], windows: Windows) -> WindowPart:
    firsts, ends = (pa.array([window[side] for window in windows], pa.int64()) for side in (0, 1))
    if len(windows):
        # What lies before the first window need not be sorted.
        low, high = pc.min(firsts), pc.max(ends)
        inside = pc.and_(pc.greater_equal(rows.column("fragment"), low), pc.less(rows.column("fragment"), high))
        rows = rows.filter(inside)
    rows = rows.combine_chunks()
    partials = sorted_partials({name: rows.column(column) for name, column in groups.items()}, rows.column("fragment"))
    if partials.order is not None:
        rows, partials = rows.take(pa.array(partials.order)).combine_chunks(), replace(partials, order=None)
    spans = partials.spans(firsts, ends)
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    return WindowPart(columns, partials, spans, np.array(list(windows.values()), np.int64)[spans.window])
