"""The benchmarks' harness at a size of seconds: races run, are checked, kept, not run again, and reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.archives.cost_check import checks, errors
from benchmarks.archives.lifetimes import KINDS, Lifetime
from benchmarks.archives.rates import Rate
from benchmarks.archives.stream import Source, Stream
from benchmarks.contenders.catalogue import catalogue
from benchmarks.harness.bench import Bench
from benchmarks.harness.profiles import Profile, profiles
from benchmarks.harness.race import Race
from benchmarks.harness.report import write_report
from benchmarks.harness.results import Results
from benchmarks.harness.store import RESULTS, Store
from benchmarks.harness.truth import Summary, Truth, WrongAnswer
from benchmarks.literature.thesis import section
from tidewheel.indexing.cost.model import MEASURED_MEDIUM
from tidewheel.jobs.process.session import open_session
from tidewheel.output import INTERRUPTED

TINY = Stream(rows=60, record_bytes=60, keys=5, span=4)
CONTENDERS = ("rr_rebuild_2x2", "delta_rs_by_expiry")


def test_a_tiny_race_is_run_checked_kept_and_reported(tmp_path: Path) -> None:
    profile = Profile("quick", (Race("small", TINY, CONTENDERS, updates=2, probes=2, scans=1),), cold_commands=0)
    results = tmp_path / "results"
    assert Bench(profile, Store("quick", results), tmp_path / "work", spark=open_session()).run() == 0
    stored = (results / "quick.json").read_text()
    contenders = json.loads(stored)["races"]["small"]["contenders"]
    assert [len(contenders[name]["updates"]) for name in CONTENDERS] == [2, 2]
    nothing_left = Bench(profile, Store("quick", results), tmp_path / "work", spark=None)
    assert nothing_left.run() == 0
    assert (results / "quick.json").read_text() == stored
    lines = list(write_report(results, tmp_path / "docs"))
    ratios = json.loads((results / "ratios.json").read_text())
    assert len(lines) == len(ratios) > 15
    assert all(set(one) == {"name", "value", "goal", "ok", "how"} for one in ratios)
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert all(catalogue()[name].label in page for name in CONTENDERS)


def test_a_lost_record_is_noticed(tmp_path: Path) -> None:
    source = Source.below(tmp_path, TINY)
    source.write(range(6))
    truth = Truth(source)
    right = truth.summary(5)
    truth.check(5, right, "nobody")
    with pytest.raises(WrongAnswer, match="expected"):
        truth.check(5, Summary(right.rows - 1, right.ids, right.mix), "somebody")
    with pytest.raises(WrongAnswer, match="other values"):
        truth.check_content(5, source.stream.batch(5).to_batches(), "somebody")


@pytest.mark.parametrize("kind", KINDS)
def test_batches_depend_on_their_slot_alone_and_lives_fit_the_span(kind: str) -> None:
    stream = Stream(rows=500, record_bytes=40, span=4, lifetime=Lifetime(kind))
    batch = stream.batch(7)
    assert batch.equals(stream.batch(7))
    lives = [u - i for u, i in zip(batch["until"].to_pylist(), batch["ins"].to_pylist(), strict=True)]
    assert 0 < min(lives).total_seconds() <= max(lives).total_seconds() <= 4 * 60


@pytest.mark.parametrize("rate", [Rate(), Rate("fluctuating"), Rate("alternating", 4)])
def test_rates_bring_the_same_total(rate: Rate) -> None:
    factors = [rate.factor(slot, seed=1) for slot in range(2000)]
    assert sum(factors) / len(factors) == pytest.approx(1, rel=0.02)
    assert max(factors) / min(factors) <= 4.0001


def test_an_interrupted_run_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bench, "run", interrupted)
    assert main(["quick", "--results", str(tmp_path)]) == INTERRUPTED
    assert "without --fresh goes on" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "queries", "sharing", "planning", "headlines", "cold", "scale"])
def test_asked_for_help_it_measures_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m benchmarks {name}".rstrip())


def test_every_profile_names_known_contenders_once() -> None:
    known = catalogue()
    for profile in profiles().values():
        for race in profile.races:
            assert set(race.contenders) <= known.keys()
            assert len(set(race.contenders)) == len(race.contenders)


def test_the_thesis_is_told_from_what_was_measured(tmp_path: Path) -> None:
    update = {"seconds": 1.0, "written_bytes": 1, "probe_ms": [8.0], "absent_ms": [], "range_ms": 1.0}
    update |= {"stored_bytes": 1, "stored_dead_bytes": 0, "stored_files": 1, "oldest_dead": 0}
    whole = {"note": "", "off_disk": "", "scan_seconds": [1.0], "cold_probe_ms": [], "pulse_ms": [1.0]}
    store = Store("full", tmp_path)
    seconds = {
        "R_ins_16": 5.0,
        "rr_rebuild_1x1": 9.0,
        "rr_rebuild_2x2": 4.0,
        "chr_rebuild_2x2": 5.0,
        "rr_rebuild_4x4": 2.0,
    }
    for name, value in seconds.items():
        result = {**whole, "label": name, "family": "ours", "updates": [{**update, "seconds": value}]}
        store.put("thesis_5_gb", {}, name, result)
    told = section(Results(tmp_path))
    assert "| update: doubly partitioned (4×4) is faster than R-ins 16 | 2-3× | - | 2.5× |" in told
    assert "| update: round robin saves against chronological | 10-20 % | - | 20% |" in told
    assert "round robin, rebuild: 16" in told
    assert "| round robin, rebuild | 9.00 / 8 | 4.00 / 8 | - | 2.00 / 8 | - | - |" in told
    assert "2×8" not in told
    assert section(Results(tmp_path / "nothing")) == ""


def test_the_cost_model_meets_the_committed_measurements() -> None:
    """With the constants in use. After new measurements that they miss: `python -m benchmarks adopt`."""
    found = checks(Results(RESULTS))
    wrong = errors(found, MEASURED_MEDIUM)
    assert wrong["written_bytes"] < 0.1
    assert wrong["stored_files"] < 0.1
    assert wrong["update_seconds"] < 0.25
