"""Corrected answers against those that are there: one that says the same is left as it was given.

A report is compared whole, with all of its groups: it is another one if any row of it came, went or changed. The
answers of a slot are stored anew together, so those that did not change are copied, with their revision. So are those
older than `revise`, whatever they would say now: what they were made of may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.derived.put import PART, are_of, filtered
from tidewheel.local.derived.row_hashes import summable_hashes
from tidewheel.local.rows import file_schema, in_schema, rows_of
from tidewheel.queries.kernels.arrays import Whole, int64s
from tidewheel.queries.kernels.partials import coded
from tidewheel.queries.standing.staleness import DueAnswers

# What tells of the giving, not of the answer.
_GIVING = ("revision", "source_version", "slots_late")

Reports = Collection[tuple[str, int]]  # by part and time
_REPORT = (PART, "window_end")


def corrected(
    job: ArchiveJob,
    rows: pa.Table | None,
    due: Sequence[DueAnswers],
    young_us: Mapping[str, int],
    remaining: Callable[[pa.Table], pa.Table],
) -> tuple[pa.Table | None, list[DueAnswers]]:
    """The rows with those kept that say what they said before; and what of all that is due is another answer now.

    `young_us` says by part from when on answers are corrected; `remaining` leaves out rows that were forgotten.
    """
    again = [one for one in due if one.revision and one.reports]
    if rows is None or not again:
        return rows, list(due)
    both = pa.concat_tables([rows, remaining(_stored(job, rows.schema, again))])
    is_old = np.arange(len(both)) >= len(rows)
    reports, codes = coded({name: both.column(name) for name in _REPORT}, len(both))
    said = summable_hashes(both.drop_columns(list(_GIVING)))
    new, old = (_by_report(said, codes, len(reports), mine) for mine in (~is_old, is_old))
    parts, moments = (
        column.to_pylist() for column in (reports.column(PART), reports.column("window_end").cast("int64"))
    )
    settled = {(one.part, it.at_us) for one in again for it in one.reports if it.at_us < young_us[one.part]}
    is_settled = [report in settled for report in zip(parts, moments, strict=True)]
    changed = (new != old).any(axis=0) & ~np.array(is_settled, bool)
    revisions = np.zeros(len(reports), np.int64)
    np.maximum.at(revisions, codes[is_old], int64s(both.column("revision"))[is_old] + 1)
    given = int64s(both.column("revision"))
    given = np.where(is_old | (old[0][codes] == 0), given, revisions[codes])
    place = both.schema.get_field_index("revision")
    both = both.set_column(place, both.schema.field(place), pa.array(given, pa.int32()))
    # Of what changed the new rows, of the rest those that are there.
    told = both.filter(pa.array(changed[codes] != is_old))
    names = {(parts[one], moments[one]) for one in np.flatnonzero(changed).tolist()}
    return told, list(_changed(due, names))


def _by_report(said: Any, codes: Whole, reports: int, mine: Any) -> Any:
    """How many rows there are of each report, and what they say together."""
    found = np.zeros((2, reports), np.uint64)
    np.add.at(found[0], codes[mine], np.uint64(1))
    np.add.at(found[1], codes[mine], said[mine])
    return found


def _stored(job: ArchiveJob, schema: pa.Schema, again: Iterable[DueAnswers]) -> pa.Table:
    """The answers that are given again, as they are. Cost: the files that may hold their slots."""
    snapshot = job.snapshot()
    keys = {one.key for one in again}
    slots = sorted({slot for slot, _ in keys})
    condition = pc.field("ins_slot").isin(slots)
    if snapshot.watermark is not None:
        condition &= pc.field("exp_slot") > snapshot.watermark
    files = [one for one in snapshot.files if one.ins_max >= slots[0] and one.ins_min <= slots[-1]]
    rows = rows_of(job.location, files, file_schema(snapshot)).to_table(columns=schema.names, filter=condition)
    return in_schema(filtered(rows, are_of(rows, sorted(keys))), schema)


def _changed(due: Iterable[DueAnswers], changed: Reports) -> Iterable[DueAnswers]:
    """Reduce answers that are given again to the reports that say something else; leave the rest."""
    for one in due:
        reports = tuple(report for report in one.reports if (one.part, report.at_us) in changed)
        if not one.revision or not one.reports:
            yield one
        elif reports:
            yield replace(one, reports=reports)
