"""The class archive of Spark's Java: made once, by an update that is recorded.

`jobs/process/quick_start.py` uses it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tidewheel.jobs.process import quick_start
from tidewheel.playground.demo_feed import DemoFeed

LOG = logging.getLogger(__name__)
_RECORD_S = 900


def make_class_archive() -> Path:
    """Carry out a small update with a Java that records the classes it loads. Takes as long as two cold updates."""
    target = quick_start.class_archive()
    if target is None:
        raise RuntimeError("there is no Java, neither in JAVA_HOME nor on the PATH")
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: a Java that maps half an archive crashes.
    neighbour = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            options = f"-XX:ArchiveClassesAtExit={neighbour} -Xlog:cds=off -Xlog:cds+dynamic=off"
            environment = {**os.environ, quick_start.OPTIONS_VARIABLE: options, "TIDEWHEEL_SPARK_MASTER": "local[2]"}
            command = [sys.executable, "-m", "tidewheel.playground.class_archive", "record", folder]
            subprocess.run(command, env=environment, check=True, timeout=_RECORD_S, capture_output=True)
        neighbour.replace(target)
    finally:
        neighbour.unlink(missing_ok=True)
    return target


def _record(folder: Path) -> None:
    """Run the recorded update: create, bring, bring again and expire; then end Java so that it writes."""
    from tidewheel.archive import open
    from tidewheel.commits.clock import now_us
    from tidewheel.indexing.core.slots import MICROS_PER_SECOND, moment
    from tidewheel.jobs.process.session import open_session

    now = moment(now_us() // (60 * MICROS_PER_SECOND) * 60 * MICROS_PER_SECOND)
    feed = DemoFeed(folder)
    feed.write_file()
    archive = open(feed.archive_file)
    slots = archive.slots(feed.first_minute(now), now)
    feed.feed(now)
    archive.create()
    for slot in slots:
        archive.update(archive.axis.name(slot))
    spark = open_session()
    java: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        _record(Path(sys.argv[2]))
    else:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        LOG.info("making the class archive: %s", make_class_archive())
