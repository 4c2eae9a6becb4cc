"""The fault simulator's histories on real Delta tables: fewer, with real files, real commits and real deaths."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.support.models.faulty_history import FaultyHistory, archive_of
from tidewheel.hands import VARIABLE

SEED = int(os.environ.get("TIDEWHEEL_SEED", "0"))
HISTORIES = 24
STEPS = 20


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("number", range(HISTORIES))
def test_a_history_with_deaths_and_rivals(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = SEED + number
    # One half of the histories moves rows with Spark, the other as their size decides: in this process.
    monkeypatch.setenv(VARIABLE, random.Random(seed).choice(["spark", ""]))
    history = FaultyHistory(archive_of(seed, tmp_path), seed, monkeypatch)
    try:
        history.play(STEPS)
    except BaseException as error:
        error.add_note(f"repeat with: TIDEWHEEL_SEED={seed} pytest -m nightly '{__file__}' -k '[0]'")
        raise
    print(f"seed {seed}: {dict(history.tally)}")
