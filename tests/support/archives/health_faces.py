"""What `status`, the task `watch` and the metrics say of an archive, asked as people ask them, beside a page's line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import tidewheel
from tidewheel.cli import main
from tidewheel.indexing.errors import TidewheelError


def assert_agreed(path: Path, word: str, page: Mapping[str, Any], *, is_red: bool) -> None:
    """All say this word of an archive, and the same figures; `page` is its line as JSON."""
    health, told, samples, failure = page["health"], status_says(path), metrics_say(path), watch_fails(path)
    assert health["word"] == word, health
    assert bool(failure) == is_red, failure
    if word == "unreadable":
        assert (told, samples) == (None, None)
        return
    assert told is not None
    assert samples is not None
    assert told["health"]["word"] == word
    assert [one for one, value in samples.items() if one.startswith("tidewheel_health") and value] == [
        f'tidewheel_health{{word="{word}"}}'
    ]
    assert told["slots_missing"] == page["slots_missing"] == samples["tidewheel_missing_slots{}"]
    assert told["applied_through"] == page["status"]["applied_through"]
    assert samples["tidewheel_applied_timestamp_seconds{}"] == moment_s(told["applied_through"])
    for worry in told["health"]["worries"]:
        assert timeless(worry["message"]) in timeless(failure)
        assert timeless(worry["message"]) in timeless(health["why"])
    rules = {one: value for one, value in samples.items() if one.startswith("tidewheel_quarantined_rows")}
    assert sum(page["quarantined"].values()) == sum(rules.values())


def moment_s(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def status_says(path: Path) -> dict[str, Any] | None:
    """What the command tells; None if it fails."""
    done = CliRunner().invoke(main, ["status", str(path), "--json"])
    if done.exit_code:
        assert done.exit_code != 70, done.output
        return None
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def metrics_say(path: Path) -> dict[str, float] | None:
    """By name, without the archive's own label; None if the command fails."""
    done = CliRunner().invoke(main, ["metrics", str(path)])
    if done.exit_code:
        return None
    text = done.stdout.replace(f'{{archive="{path.stem}",', "{").replace(f'{{archive="{path.stem}"', "{")
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {sample: float(value) for sample, _, value in samples}


def timeless(text: str) -> str:
    """Without how long ago something was: the faces are asked one after the other."""
    return re.sub(r"\w+ ago", "ago", text)


def watch_fails(path: Path) -> str:
    """With what the task ends that watches an archive."""
    from tidewheel.dags.build.maintenance_dag import Watch

    try:
        Watch(task_id="watch", archive_file=str(path)).care(tidewheel.open(path))
    except TidewheelError as error:
        return str(error)
    return ""
