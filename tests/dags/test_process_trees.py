"""What `make airflow` leaves behind: nothing, also of programs that took a session of their own and mind no signal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tidewheel.playground.process_trees import stop_trees

# Like a component whose task, in a session of its own, has started Java.
PROGRAM = """
import subprocess, sys, time
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
open(sys.argv[1], "w").write(str(child.pid))
time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def test_nothing_of_a_tree_is_left(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(told)], start_new_session=True)
    while not (told.is_file() and told.read_text()):
        time.sleep(0.02)
    child = int(told.read_text())
    assert os.getpgid(child) == child
    assert is_alive(child)
    began = time.monotonic()
    killed = stop_trees([process], 0.3)
    assert len(killed) >= 1
    deadline = time.monotonic() + 5
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(child)
    assert process.returncode is not None
    assert time.monotonic() - began < 10
