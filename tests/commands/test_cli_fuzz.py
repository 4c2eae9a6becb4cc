"""Hostile command lines and archive files: told apart by exit code and words, and the archive stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def fuzz(seed: int, inputs: int, folder: Path) -> None:
    """In a process of its own: where there is no Java, nothing waits for Spark."""
    surroundings = {**os.environ, "PATH": "", "JAVA_HOME": "", "SPARK_HOME": "/nowhere", "PYTHONPATH": str(ROOT)}
    # Nothing listens on port 1: the object store is down.
    store = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    surroundings |= store
    command = [sys.executable, "-m", "tests.support.cli_fuzz", str(seed), str(inputs), str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=surroundings, capture_output=True, text=True, errors="replace", check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hostile_command_lines(tmp_path: Path) -> None:
    fuzz(1, 250, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_hostile_command_lines(tmp_path: Path, seed: int) -> None:
    fuzz(seed, 1000, tmp_path)
