"""Answers of several queries in one table: under the columns that the answers archive has for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.queries.kernels.arrays import Whole
from tidewheel.queries.standing.query import Query


@dataclass(frozen=True)
class Folded:
    """window_start, window_end (microseconds), groups and outputs as they are stored, rows, complete; and of each row,
    which of the queries it answers."""

    queries: Sequence[Query]
    of_query: Whole
    rows: pa.Table

    @staticmethod
    def of(query: Query, answers: pa.Table) -> Folded:
        """The answers of one query, whose columns have its own names."""
        names = {name: stored for name, (stored, _) in answer_columns(query).items()}
        rows = answers.rename_columns([names.get(name, name) for name in answers.column_names])
        return Folded([query], np.zeros(answers.num_rows, np.int64), rows)
