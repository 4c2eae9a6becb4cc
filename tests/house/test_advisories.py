"""The audit of dependencies: everything that is locked is asked for, and no data is never taken for no advisory."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "scripts" / "advisories"


@pytest.fixture(scope="module")
def packages() -> list[tuple[str, str, str]]:
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    return sorted(set(script["locked"]()))


def audit(data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, "--data", data], capture_output=True, text=True, check=False)


def test_everything_locked_is_asked_for(packages: list[tuple[str, str, str]]) -> None:
    pinned = re.findall(r"^([\w.-]+)(?:\[.*\])?==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert {name.lower() for name in pinned} <= {name for ecosystem, name, _ in packages if ecosystem == "PyPI"}
    assert ("Maven", "io.delta:delta-spark_4.2_2.13", "4.4.0") in packages
    assert ("Maven", "org.postgresql:postgresql", "42.7.14") in packages


def test_no_data_is_not_no_advisory(packages: list[tuple[str, str, str]], tmp_path: Path) -> None:
    missing = audit(tmp_path / "none.json")
    assert missing.returncode == 2
    assert "NOTHING WAS AUDITED" in missing.stderr
    known: dict[str, list[object]] = {" ".join(package): [] for package in packages}
    whole, part, hit = tmp_path / "whole.json", tmp_path / "part.json", tmp_path / "hit.json"
    whole.write_text(json.dumps(known))
    assert audit(whole).returncode == 0
    part.write_text(json.dumps(dict(list(known.items())[1:])))
    assert audit(part).returncode == 2
    hit.write_text(json.dumps({**known, " ".join(packages[0]): ["GHSA-x"]}))
    done = audit(hit)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"{' '.join(packages[0])}: GHSA-x")
