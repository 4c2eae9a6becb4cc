"""Periodic runs over random joins: what is lost, restored, and needed by the next run."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.support.models.statement_plans import built, random_history
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.approach import approach_named
from tidewheel.queries.literature.patterns.engine import Engine, played
from tidewheel.queries.literature.patterns.reports import (
    Reported,
    is_needed_by_the_next_run,
    lost_share_of,
    output_window,
    report,
)
from tidewheel.queries.literature.patterns.view import Life
from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.statements.history import History
from tidewheel.queries.statements.join_sizes import JoinInput, lost_share
from tidewheel.queries.statements.oracle import Oracle
from tidewheel.queries.statements.statement import Output

PLANS = (["join", "W8", "W8"], ["distinct", ["join", "W8", "W5"]], ["antijoin", "W8", "W5"], ["except", "W8", "W5"])


@pytest.mark.parametrize("written", PLANS, ids=str)
def test_each_result_is_reported_once(written: list[object]) -> None:
    plan = built(written)
    for seed in range(4):
        history = random_history(random.Random(seed), plan, 60)
        engine = Engine(plan, approach_named("UPA(10)"), logs=True)
        answers = played(engine, history.arrivals, (), 80)
        lives = [life for life in engine.view.lives if life.record.ts < life.end]
        reported, restored, shown = [], [], set()
        for now in range(4, 81, 4):
            new = report(lives, now - 4, now, Output.ISTREAM)
            reported += new
            both = report(lives, now - 4, now, Output.ISTREAM, restore=True)
            restored += both
            shown |= {one.record for one in new}
            gone = {one.record for one in report(lives, now - 4, now, Output.DSTREAM)}
            assert gone <= shown
            shown -= gone
            rows = [one.record for one in report(lives, now - 4, now, Output.RSTREAM)]
            assert sorted(row.values for row in rows) == sorted(row.values for row in answers[now])
            assert set(rows) == shown
        assert sorted(one.record for one in restored) == sorted(life.record for life in lives)
        assert {one.record for one in restored if one.restored} == {one.record for one in restored} - {
            one.record for one in reported
        }


def test_an_output_window_of_equal_lifetimes_is_the_answer_and_of_others_holds_more() -> None:
    for written, is_equal in (("W8", True), (["join", "W8", "W8"], False)):
        plan = built(written)
        history = random_history(random.Random(1), plan, 60)
        engine = Engine(plan, approach_named("UPA(10)"), logs=True)
        for now, rows in enumerate(played(engine, history.arrivals, (), 70)):
            window = output_window(engine.view.lives, now, length=8)
            assert {row.id for row in rows} <= {row.id for row in window}
            assert not is_equal or len(rows) == len(window)


def test_what_the_next_run_needs_of_this_ones_windows() -> None:
    plan, period = built(["join", "W8", "W5"]), 3
    lengths = {"A": 8, "B": 5}
    history = random_history(random.Random(3), plan, 60)
    answers = Oracle(plan, history).answers(70)
    for now in range(period, 60, period):
        for restore in (False, True):
            kept = [
                one
                for one in history.arrivals
                if one.ts > now
                or is_needed_by_the_next_run(
                    Record((), one.values, one.ts, one.ts + lengths[one.stream]), now, period, restore=restore
                )
            ]
            again = Oracle(plan, History(tuple(kept))).answers(now + period)
            ticks = range(now + 1, now + period + 1) if restore else [now + period]
            for at in ticks:
                born = {row.values for row in answers[at] if row.ts > now or not restore}
                assert born == {row.values for row in again[at] if row.ts > now or not restore}
            dead = [one for one in history.arrivals if now < one.ts + lengths[one.stream] <= now + period]
            assert restore or not set(dead) & {one for one in kept if one.ts <= now}


def test_the_share_that_is_lost() -> None:
    """The thesis's estimate, Δ/T, would be 10 / 60."""
    window = JoinInput(1, 60, 10)
    assert lost_share([window, window], 10) == Fraction(1, 12)
    assert lost_share_of(10, lambda age: age / 60) == pytest.approx(9 / 120)
    plan = built(["join", "W60", "W60"])
    engine = Engine(plan, approach_named("UPA(10)"), logs=True)
    history = random_history(random.Random(2), plan, 3000, keys=4)
    played(engine, history.arrivals, (), 3000)
    lives = [life for life in engine.view.lives if life.record.ts < life.end]
    lost = sum(one.restored for now in range(10, 3001, 10) for one in _run(lives, now))
    assert lost / len(lives) == pytest.approx(9 / 120, abs=0.01)


def _run(lives: list[Life], now: int) -> list[Reported]:
    near = [life for life in lives if now - 10 < life.record.ts <= now]
    return report(near, now - 10, now, Output.ISTREAM, restore=True)


def test_what_no_run_reports_is_refused() -> None:
    for output, restore in ((Output.DSTREAM, True), (Output.WSTREAM, False)):
        with pytest.raises(InvalidInput, match="is not what a run reports"):
            report([], 0, 4, output, restore=restore)
