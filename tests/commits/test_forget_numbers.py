"""Forgetting a key of floating point: there are two zeros that are equal, and NaN is equal to itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tidewheel.commits.operations.forget import forget
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import moment
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader

pytestmark = pytest.mark.usefixtures("spark")
ZEROS = [(0.0, 0.0), (-0.0, -0.0), (0.0, -0.0)]
NANS = [(math.nan, math.nan)]
OTHERS = [(1.5, 0.0)]
KEYS = ZEROS + NANS + OTHERS


@dataclass
class NumberArchive(SmallArchive):
    """One record of each key; the body is its number."""

    @property
    def file(self) -> ArchiveFile:
        file = super().file
        schema = "ratio double, single float, body bigint, ins timestamp, until timestamp"
        return replace(file, key=("ratio", "single"), source=replace(file.source, schema=schema))

    def bring(self) -> None:
        start_us, step_us = self.axis.start_us(0), self.axis.interval_us
        times = pa.timestamp("us", "UTC")
        columns = {
            "ratio": pa.array([ratio for ratio, _ in KEYS], pa.float64()),
            "single": pa.array([single for _, single in KEYS], pa.float32()),
            "body": pa.array(range(len(KEYS)), pa.int64()),
            "ins": pa.array([moment(start_us + 1)] * len(KEYS), times),
            "until": pa.array([moment(start_us + (2 + n % 3) * step_us) for n in range(len(KEYS))], times),
        }
        path = self.folder / "source" / "0.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path)
        update(self.job, [0], confirmed=EVERYTHING)

    def probed(self, key: tuple[float, ...]) -> list[int]:
        with Reader.open(self.job.location, now_us=lambda: 0) as reader:
            return sorted(row["body"] for row in reader.probe(key).dicts())

    def left(self) -> int:
        with Reader.open(self.job.location, now_us=lambda: 0) as reader:
            return len(reader.scan().rows())


def test_a_forgotten_zero_is_both_zeros_and_nan_is_itself(tmp_path: Path) -> None:
    archive = NumberArchive(tmp_path, generation_of(e=4))
    archive.create()
    archive.bring()
    for key in ZEROS:
        assert archive.probed(key) == archive.probed(key[:1]) == [0, 1, 2]
    assert archive.probed(NANS[0]) == [3]
    forget(archive.job, keys=[("0.0", "-0")])
    assert archive.left() == len(NANS + OTHERS)
    forget(archive.job, keys=[("NaN", "NaN")])
    assert archive.left() == len(OTHERS)
    archive.bring()
    assert archive.left() == len(OTHERS), "and a replay brings none of them back"
    assert archive.probed(OTHERS[0]) == [4]
    assert archive.probed(ZEROS[0]) == archive.probed(NANS[0]) == []
    assert audit(archive.job).findings == ()
