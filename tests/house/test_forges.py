"""What public forges read: the workflow runs what everybody runs, templates ask for what there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tidewheel.cli import main

ROOT = Path(__file__).parent.parent.parent
FORGE = ROOT / ".github"


def read(path: Path) -> dict[str, Any]:
    said: dict[str, Any] = yaml.safe_load(path.read_text())
    return said


def test_the_workflow_runs_what_everybody_runs() -> None:
    (job,) = read(FORGE / "workflows" / "test.yml")["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make test"]
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    used = {step["uses"].partition("@")[0]: step.get("with", {}) for step in job["steps"] if "uses" in step}
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert used["actions/setup-python"]["python-version"] == mypy["python_version"]
    assert used["actions/setup-java"]["java-version"] == "17"


def test_templates_ask_by_commands_that_exist() -> None:
    for name in ("fault.yml", "wish.yml"):
        template = read(FORGE / "ISSUE_TEMPLATE" / name)
        assert template.keys() >= {"name", "description", "body"}
        ids = [one["id"] for one in template["body"]]
        assert len(set(ids)) == len(ids)
        for command in re.findall(r"`tidewheel (\w+)", str(template)):
            assert command in main.commands, command


def test_the_changelog_begins_with_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
