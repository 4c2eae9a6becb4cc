"""SIGKILL at random moments, in a process of its own: `tests/kills.py` says what must hold after each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEED = int(os.environ.get("TIDEWHEEL_SEED", "0"))
NIGHTLY_RUNS = 4
ROOT = Path(__file__).parent.parent.parent


def killed(seed: int, kills: int) -> None:
    command = [sys.executable, "-m", "tests.kills", "--seed", str(seed), "--kills", str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert f"{kills} kills survived" in done.stdout


def test_two_kills() -> None:
    killed(SEED, 2)


@pytest.mark.nightly
@pytest.mark.parametrize("run", range(NIGHTLY_RUNS))
def test_fifty_kills(run: int) -> None:
    killed(100 + SEED + run, 50)
