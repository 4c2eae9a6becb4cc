"""The tutorial is run as it is written, on the demonstration's stream, which is fed here without Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import Schema

from benchmarks.feeding import create, feed
from tests.house.test_docs import BLOCK, ROOT
from tidewheel.demo_stream import FlowStream
from tidewheel.hands import archive_job
from tidewheel.indexing.core.slots import micros
from tidewheel.resolve import resolve
from tidewheel.storage.location import Location

PAGE = ROOT / "docs" / "standing-queries.md"
LIVES = {"free": timedelta(minutes=10), "paid": timedelta(minutes=90), "audit": timedelta(hours=3)}
SLOTS, ROWS = 24, 60


def fed(folder: Path) -> None:
    """What `tidewheel demo` leaves, but for its scenes."""
    (folder / "archives").mkdir()
    shutil.copy(ROOT / "tidewheel" / "netflow.toml", folder / "archives" / "netflow.toml")
    file = resolve(folder / "archives" / "netflow.toml").file
    assert file is not None
    job, stream = archive_job(Location.of(file.path)), FlowStream(file.axis, ROWS)
    first = file.axis.slot_of(1_763_438_400_000_000)
    columns = stream.batch(first).schema
    create(job, list(Schema.from_arrow(columns).fields), file.definition("salt"))
    for slot in range(first, first + SLOTS):
        rows = stream.batch(slot)
        rows = rows.filter(pa.array([plan in LIVES for plan in rows.column("plan").to_pylist()]))
        ends = zip(rows.column("flow_start").to_pylist(), rows.column("plan").to_pylist(), strict=True)
        untils = [start + LIVES[plan] for start, plan in ends]
        added = {
            "ins_slot": pa.array([slot] * rows.num_rows, pa.int64()),
            "exp_slot": pa.array([file.axis.expiration_slot_of(micros(at)) for at in untils], pa.int64()),
            "valid_until": pa.array(untils, pa.timestamp("us", "UTC")),
            "row_hash": pa.array(range(rows.num_rows), pa.int64()),
        }
        for name, column in added.items():
            rows = rows.append_column(name, column)
        feed(job, [slot], rows)


def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    fed(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TERM": "dumb", "COLUMNS": "200"}
    environment.pop("TIDEWHEEL_ARCHIVES", None)
    printed, blocks = "", BLOCK.findall(PAGE.read_text())
    assert blocks[0][1].startswith("tidewheel demo ")
    for language, text in blocks[1:]:
        if language == "text":
            assert text in printed, f"the page shows\n{text}\nbut this was printed:\n{printed}"
            continue
        command = {"bash": ["bash", "-euc", text], "python": [sys.executable, "-c", text]}[language]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout
    assert 'answers."top_talkers"' in (tmp_path / "answers.sql").read_text()


def test_there_are_ten_queries() -> None:
    assert PAGE.read_text().count("[[query]]") == 10
