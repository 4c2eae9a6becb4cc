"""`scripts/cluster up` stops what it started, however often it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# One service, which takes a second to end.
RUNNER = f"""
import sys, time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
loader = SourceFileLoader("cluster", {str(ROOT / "scripts" / "cluster")!r})
cluster = module_from_spec(spec_from_loader("cluster", loader))
loader.exec_module(cluster)
class One(cluster.Cluster):
    def __init__(self):
        self.running = {{}}
    def up(self):
        slow = ["sh", "-c", "trap 'sleep 1; exit' TERM; while :; do sleep 0.1; done"]
        self.running["one"] = [cluster.start(slow, {{"PATH": "/usr/bin:/bin"}}, Path(sys.argv[1]))]
        print(self.running["one"][0].pid, flush=True)
        time.sleep(60)
cluster.up(One())
"""


@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)]
)
def test_it_leaves_no_service(tmp_path: Path, signals: tuple[int, ...]) -> None:
    command = [sys.executable, "-c", RUNNER, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as up:
        assert up.stdout is not None
        service = int(up.stdout.readline())
        time.sleep(0.3)
        for number in signals:
            up.send_signal(number)
            time.sleep(0.3)
        assert up.wait(30) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(service, 0)
