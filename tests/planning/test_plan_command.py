"""`tidewheel plan`: what it shows of an archive's queries, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidewheel.archive
from tests.support.archives.asked_archive import asked_archive
from tidewheel.cli import main
from tidewheel.plans import Asked
from tidewheel.queries.literature.placement.optimizers import OPTIMIZERS
from tidewheel.queries.planning.omegas import OMEGAS

LIFE = 'revise = "5m"\nkeep = "1h"\n'


def queries() -> str:
    """Ten of one kind, over two group-bys and two predicates, and one of what is alive."""
    bodies = []
    for at in range(10):
        group = 'group_by = ["k"]\n' if at % 2 else ""
        where = 'where = "v > 5"\n' if at % 3 == 0 else ""
        window = f'window = "{2 + at}m"\nslide = "{1 + at % 2}m"\n'
        bodies.append(f'[[query]]\nname = "q{at}"\nof = "m"\nselect = "sum(v) as v"\n{group}{where}{window}{LIFE}')
    bodies.append(
        f'[[query]]\nname = "alive"\nof = "m"\nselect = "count(*) as n"\nwindow = "live"\nslide = "1m"\n{LIFE}'
    )
    return "\n".join(bodies)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    asked_archive(folder, queries())
    return folder


@pytest.fixture(autouse=True)
def _here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(place / "archives"))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "m", *words])
    shown = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), shown.out, shown.err


def pools(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    code, out, err = run(capsys, "--json", *words)
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)["pools"]
    return found


def test_every_query_is_in_one_tree_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    told = pools(capsys)
    assert [one["pool"] for one in told] == [
        "counts arrived, by t",
        "counts live, by t, of everything alive",
    ]
    named = [name for one in told for tree in one["trees"] for name in tree["queries"]]
    assert sorted(named) == sorted([*(f"q{at}" for at in range(10)), "alive"])
    for one in told:
        assert one["cost"] <= min(other["cost"] for other in one["planners"].values()) * (1 + 1e-12)


def test_all_planners_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    one = pools(capsys, "--compare", "--model", "published", "--planner", "Weave Share", "--rate", "100")[0]
    assert len(one["planners"]) + len(one["planners_left_out"]) == 18
    assert one["cost"] == one["planners"]["Weave Share"]["cost"] >= one["planners"]["Optimum"]["cost"]
    assert one["gap_max"] >= one["cost"] / one["planners"]["Optimum"]["cost"] - 1 - 1e-12
    code, out, _ = run(capsys, "--compare")
    assert code == 0
    for word in ("10 queries (counts arrived, by t)", "LS-NS-10x", "s of work a day", "by this plan"):
        assert word in out


def test_trees_are_placed_on_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    for objective in ("total", "balance"):
        one = pools(capsys, "--nodes", "3", "--objective", objective)[0]
        assert len(one["nodes"]) == len(one["node_costs"]) == 3
        assert sorted(name for node in one["nodes"] for tree in node for name in tree) == sorted(
            f"q{at}" for at in range(10)
        )


def test_all_optimizers_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    one = pools(capsys, "--nodes", "3", "--compare", "--model", "published", "--rate", "100")[0]
    assert one["optimizers"].keys() == {optimizer.name for optimizer in OPTIMIZERS}
    assert one["optimizers"]["WG_TN"]["total"] == min(told["total"] for told in one["optimizers"].values())
    assert sum(one["node_costs"]) == pytest.approx(one["optimizers"]["WG_TN"]["total"])
    code, out, _ = run(capsys, "--nodes", "3", "--compare")
    assert code == 0
    assert "beginning a refresh costs each node" in out
    assert "the busiest" in out
    assert "1 query (" in out


def test_operations_of_any_technique(capsys: pytest.CaptureFixture[str]) -> None:
    shared = {}
    for model in ("published", "exact"):
        for technique in OMEGAS:
            one = pools(capsys, "--model", model, "--technique", technique.lower(), "--rate", "0.1")[0]
            shared[model, technique] = one["planners"]["Shared"]["cost"]
            assert one["unit"] == "operations a day"
            assert one["cost"] <= shared[model, technique] * (1 + 1e-12)
    assert len(set(shared.values())) == 2 * len(OMEGAS)
    code, _, err = run(capsys, "--model", "exact", "--technique", "TwoStacks")
    assert (code, "no operations of technique 'TwoStacks'" in err, "FlatFIT" in err) == (2, True, True)
    code, _, err = run(capsys, "--technique", "FlatFIT")
    assert (code, "--model published" in err) == (2, True)


def test_a_planner_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--planner", "Best")
    assert code == 2
    assert "no planner 'Best'" in err
    assert "Weave Share" in err


def test_without_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked_archive(tmp_path)
    (tmp_path / "archives" / "queries" / "m.toml").unlink()
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    code, out, _ = run(capsys)
    assert code == 0
    assert "no query asks this archive" in out


def test_in_python(place: Path) -> None:
    archive = tidewheel.archive.open("m")
    plans = archive.queries.plan(Asked(planner="Shared"), rate_per_s=5)
    assert [len(one.plan.trees) for one in plans] == [1, 1]


@pytest.mark.parametrize("name", ["plan.png", "plan.svg"])
def test_a_picture_of_the_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run(capsys, "--planner", "By Group", "--plot", str(tmp_path / "deep" / name))
    assert code == 0, err
    picture = (tmp_path / "deep" / name).read_bytes()
    assert picture.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    assert len(picture) > 10_000


def test_a_picture_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--plot", str(tmp_path / "plan.gif"))
    assert code == 2
    assert ".png or .svg" in err
