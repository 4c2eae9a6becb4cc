"""Many processes on one archive: nothing lost, no mixture seen, the killed and the paused hold nobody up for long."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.archives.s3_archive import point_at
from tests.support.services.servers import object_store, require_jars
from tests.support.stress import GRACE_S, WRITERS, expected, shared
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.jobs.audit.compare import audit
from tidewheel.storage.ledger_store import all_receipts

ROOT = Path(__file__).parent.parent.parent
SECONDS = float(os.environ.get("TIDEWHEEL_STRESS_SECONDS", "120"))
ROLES = (*WRITERS, "migrate", "vacuum", "reader", "reader", "stale_reader")


@dataclass
class Crew:
    """The processes, and who of the writers is killed or paused."""

    folder: Path
    seed: int
    url: str = ""

    def start(self, role: str, seconds: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.stress", role, str(self.folder), str(self.seed), str(seconds)]
        command += [self.url] if self.url else []
        surroundings = {**os.environ, "SPARK_DRIVER_MEMORY": "600m"}
        return subprocess.Popen(
            command, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self) -> list[dict[str, object]]:
        """Until the time is over; what every process says it did."""
        ends, chance = time.monotonic() + SECONDS, random.Random(self.seed)
        running = [(role, self.start(role, SECONDS)) for role in ROLES]
        did: Counter[str] = Counter()
        while time.monotonic() < ends - 45:
            time.sleep(chance.uniform(5, 15))
            at = chance.randrange(len(WRITERS))
            role, process = running[at]
            if chance.random() < 0.5:
                process.kill()
                process.communicate()
                running[at] = (role, self.start(role, ends - time.monotonic()))
                did["killed"] += 1
            else:
                # Longer than grace now and then: then its files may be gone when it wakes up.
                process.send_signal(signal.SIGSTOP)
                time.sleep(chance.choice([3, 10, GRACE_S + 5]))
                process.send_signal(signal.SIGCONT)
                did["paused"] += 1
        said: list[dict[str, object]] = [dict(did)]
        for role, process in running:
            out, error = process.communicate(timeout=300)
            assert process.returncode == 0, f"seed {self.seed}, {role}: {error[-3000:]}"
            said.append(json.loads(out.splitlines()[-1]))
        return said


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
def test_many_processes_on_one_archive(tmp_path: Path) -> None:
    stress(tmp_path, url="")


@pytest.mark.cluster
def test_many_processes_on_one_archive_on_an_object_store(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_jars("s3")
    with object_store(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        point_at(spark, store)
        stress(tmp_path, store.url("shared"))


def stress(folder: Path, url: str) -> None:
    """Let the crew work, then judge what is left by the receipts, the oracle, an audit and a vacuum."""
    seed = int(os.environ.get("TIDEWHEEL_STRESS_SEED", "1"))
    print(f"seed {seed}, repeat with TIDEWHEEL_STRESS_SEED={seed}")
    archive = shared(folder, url).create()
    for line in Crew(folder, seed, url).run():
        print(line)
    snapshot = archive.snapshot()
    receipts = list(all_receipts(snapshot))
    assert [version for version, _ in receipts] == list(range(snapshot.version + 1)), (
        "every version has its receipt, once"
    )
    assert Counter(archive.content()) == expected(receipts)
    assert audit(archive.unbound, deep=True).findings == ()
    time.sleep(GRACE_S)
    vacuum(archive.unbound)
    location = archive.unbound.location
    paths = [location.relative(info.path) for info in location.files_below("")]
    left = {path.partition("/")[0] for path in paths if path.startswith("run-")}
    assert left == {file.run for file in archive.snapshot().files}
    assert Counter(archive.content()) == expected(receipts)
    print(f"{snapshot.version} commits")
