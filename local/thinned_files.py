"""Files that only lose rows: each is written again without them, in the order and the run that it had.

What is left of a sorted file is sorted, so nothing is sorted or joined here: there are as many runs as before, and
whoever asks for the records of some slots still finds them in the files of these slots.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import pyarrow as pa

from tidewheel.commits.procedure import Try
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.state import OF_RUN, FileFact
from tidewheel.local.files import Shape, SortedFiles
from tidewheel.local.keys import Truths, Wanted
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.side_by_side import side_by_side

WRITERS = 4
# Of the rows of a file from a number on, those that go.
Going = Callable[[FileFact, int, pa.RecordBatch], Truths]


def write_thinned(one: Try, plan: Plan, folder: str, going: Going, plain: Collection[str] = ()) -> None:
    """Write what stays of the plan's files: what is alive and does not go."""
    schema = file_schema(one.snapshot)
    shape = Shape.of(one.state, plan.generation, schema, plain)

    def write(place: int, file: FileFact) -> None:
        named = f"part-{place:05d}-{{:05d}}{OF_RUN}{file.run}"
        stored, number = rows_of(one.job.location, [file], schema).scanner(batch_size=shape.group_rows), 0
        with SortedFiles(one.job.location, folder, shape, named) as files:
            for batch in stored.to_batches():
                stays = ~going(file, number, batch)
                if plan.watermark is not None:
                    stays &= np.asarray(batch.column("exp_slot")) > plan.watermark
                number += batch.num_rows
                if stays.any():
                    files.add(file.subindex, batch if stays.all() else batch.filter(pa.array(stays)))

    side_by_side(lambda change: write(*change), enumerate(one.file for one in plan.rewritten), WRITERS)


def of_keys(keys: Wanted) -> Going:
    """The rows of some keys go."""

    def going(file: FileFact, number: int, rows: pa.RecordBatch) -> Truths:
        gone = np.zeros(rows.num_rows, bool)
        gone[keys.places(rows)] = True
        return gone

    return going


def going_of(rows: Mapping[str, Truths]) -> Going:
    """The rows that are told of each file go."""
    return lambda file, number, batch: rows[file.path][number : number + batch.num_rows]
