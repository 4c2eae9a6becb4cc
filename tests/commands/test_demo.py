"""The demonstration, small: it runs twice, finds the same, and deletes nothing but what it made itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidewheel.cli import main
from tidewheel.demo.flow_stream import FORGOTTEN, PROBED, FlowStream
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.views.figures import size

SMALL = ["demo", "--slots", "8", "--rows", "60"]
AXIS = TimeAxis(300 * 10**6)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


def _run(place: Path, *more: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return CliRunner().invoke(main, [*SMALL, *more])


def test_the_demonstration_runs_and_starts_afresh(place: Path, spark: object) -> None:
    first = _run(place)
    assert first.exit_code == 0, first.output
    for words in ("tidewheel update netflow", " turned, ", "clean: ", "layout 0: 1×4", "Try next"):
        assert words in first.stdout
    again = _run(place, "--json")
    assert again.exit_code == 0, again.output
    assert "deleting what an earlier demonstration left" in again.stderr
    told = json.loads(again.stdout)
    assert told["audit_clean"]
    assert told["forgotten_before"] > 0 == told["forgotten_after"]
    assert told["answers"] > 0 == told["answers_naming_forgotten"]
    assert all(told[f"answers_corrected_{what}"] > 0 for what in ("backfilled", "replayed", "forgotten"))
    before, after = told["replaced"]["bytes"]
    assert after < before / 4
    assert f"{told['replaced']['rows'][1]} of {size(after)} now" in first.stdout
    (place / "data").rename(place / "made")


def test_a_folder_of_others_is_left_alone(place: Path) -> None:
    precious = place / "data" / "netflow" / "precious"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    answer = _run(place)
    assert answer.exit_code == 3
    assert "not made by an earlier demonstration" in answer.stderr
    assert precious.read_text() == "mine"


def test_a_slot_is_the_same_every_time() -> None:
    stream = FlowStream(AXIS, 50)
    assert stream.batch(7).equals(FlowStream(AXIS, 50).batch(7))
    assert not stream.batch(7).equals(FlowStream(AXIS, 50, seed=1).batch(7))


def test_a_correction_keeps_the_flows_and_adds_some() -> None:
    batch, corrected = FlowStream(AXIS, 100).batch(7), FlowStream(AXIS, 100).batch(7, corrected=True)
    assert corrected.num_rows > batch.num_rows
    assert corrected.column("dst_ip")[: batch.num_rows].equals(batch.column("dst_ip"))
    assert all(after <= max(40, before) for before, after in _pairs(batch, corrected))


def test_the_story_has_its_addresses_in_every_slot() -> None:
    for slot in range(20):
        assert {PROBED, FORGOTTEN} <= set(FlowStream(AXIS, 10).batch(slot).column("src_ip").to_pylist())


def _pairs(batch: object, corrected: object) -> zip[tuple[int, int]]:
    return zip(batch["bytes"].to_pylist(), corrected["bytes"].to_pylist(), strict=False)  # type: ignore[index]
