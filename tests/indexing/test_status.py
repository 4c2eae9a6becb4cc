"""Status and the physical deadline, as values of a known state."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.archives.small_archive import generation_of
from tests.support.models.model_table import ModelTable, definition_of
from tidewheel.indexing.core.definition import Clock, Definition, Retention
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.rules.deadline import deadline_of, intervals_kept
from tidewheel.indexing.rules.status import Awaiting, status_of

SPAN = 4
HOUR = 100
RETENTION = Retention(grace_us=10, vacuum_period_us=7, log_us=1000, quarantine_us=500)


def definition(generation: Generation, clock: Clock = Clock.WALL) -> Definition:
    plain = definition_of(generation, SPAN)
    return replace(plain, axis=TimeAxis(HOUR), clock=clock, retention=RETENTION, max_lifetime_us=SPAN * HOUR)


def test_missing_slots_rows_and_dead_rows() -> None:
    generation = generation_of(strategy="no_rebuild", g=1, e=1, span=SPAN, dead_share_max=0.9)
    table = ModelTable(definition_of(generation, SPAN))
    table.update({0: [Record(0, 1, "a"), Record(0, 1, "b"), Record(0, 4, "c")]})
    table.update({3: [Record(3, 4, "d")]})

    status = replace(status_of(table.state(), path="here", now_us=9), awaiting=Awaiting(2, 30))

    assert (status.watermark, status.applied_through_us, status.missing) == (3, 4, ((1, 2),))
    assert (status.rows_live, status.rows_dead, status.files) == (2, 2, 2)
    (square,) = status.grid
    assert (square.rows, square.dead_share, square.runs, square.bytes_live) == (4, 0.5, 2, 200)
    assert status.lag_us is None, "an archive of historic data is behind nothing"
    assert replace(status, clock=Clock.WALL).lag_us == 5
    assert json.loads(json.dumps(status.to_json()))["missing"][0]["first"] == 1
    assert status.to_json()["now"] == iso(4), "the end of what was applied"
    assert replace(status, clock=Clock.WALL).to_json()["now"] == iso(9)


def test_an_archive_without_a_batch_has_a_status() -> None:
    status = status_of(ModelTable(definition_of(generation_of(span=SPAN), SPAN)).state(), path="here", now_us=0)
    assert (status.watermark, status.missing, status.rows_live, status.lag_us) == (None, (), 0, None)
    assert (status.to_json()["applied_through"], status.to_json()["now"]) == (None, None)


def test_the_deadline_is_the_sum_of_its_parts() -> None:
    generation = generation_of(span=SPAN)
    deadline = deadline_of(definition(generation), [generation], now_us=130)
    assert [(part.name, part.duration_us) for part in deadline.data] == [
        ("slot", 70), ("update", HOUR), ("strategy", 0), ("grace", 10), ("vacuum", 7),
    ]  # fmt: skip
    assert deadline.data_gone_us == 130 + 70 + HOUR + 10 + 7
    assert deadline.log_gone_us == 130 + 70 + HOUR + 1000 + 7
    assert deadline.gone_us == deadline.log_gone_us
    assert deadline.quarantine_us == 500 + 7 + 10 + 7


def test_what_expires_at_the_end_of_a_slot_belongs_to_it() -> None:
    generation = generation_of(span=SPAN)
    assert deadline_of(definition(generation), [generation], now_us=200).data[0].duration_us == 0


def test_historic_data_is_counted_from_the_commit_that_expires_it() -> None:
    generation = generation_of(span=SPAN)
    deadline = deadline_of(definition(generation, Clock.DATA), [generation], now_us=130)
    assert [part.name for part in deadline.data] == ["strategy", "grace", "vacuum"]
    assert "counted from the update" in deadline.assumes[0]


@pytest.mark.parametrize(
    ("generation", "kept"),
    [
        (generation_of(strategy="rebuild", span=SPAN), 0),
        (generation_of(strategy="expire_rebuild", span=SPAN), 0),
        (generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=0.5), SPAN - 1),
        (generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=0), 0),
        (generation_of(strategy="no_rebuild", e=SPAN, span=SPAN), 0),
        (generation_of("chronological", strategy="no_rebuild", e=SPAN, span=SPAN), 0),
        (generation_of("randomized", strategy="no_rebuild", e=SPAN, span=SPAN), SPAN - 1),
    ],
)
def test_how_long_a_strategy_keeps_expired_records(generation: Generation, kept: int) -> None:
    """The bound is never passed when an update runs in every slot."""
    assert intervals_kept(generation) == kept
    table = ModelTable(definition_of(replace(generation, runs_max=10**6), SPAN))
    latest = 0
    for slot in range(40):
        lives = (1, SPAN) if slot % 5 == 0 else (1,)
        table.update({slot: [Record(slot, slot + life, f"{slot}/{life}") for life in lives]})
        for _, records in table.files.values():
            latest = max([latest, *(slot - record.expiration_slot for record in records)])
    assert latest <= kept - 1 if kept else latest == 0


def test_the_slowest_generation_that_holds_files_decides() -> None:
    slow, quick = generation_of(strategy="no_rebuild", span=SPAN), generation_of(span=SPAN)
    deadline = deadline_of(definition(quick), [slow, replace(quick, number=1)], now_us=0)
    strategy = next(part for part in deadline.data if part.name == "strategy")
    assert strategy.duration_us == (SPAN - 1) * HOUR
    assert "until its last record expires" in strategy.reason


def test_a_derived_archive_is_kept_as_long_as_its_queries_keep_anything() -> None:
    """Its lifetime is a cap that no row reaches; and what comes into it is stored, all of it."""
    generation = generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=0.5)

    def strategy_us(derived: str) -> int:
        one = replace(definition(generation), derived=derived)
        return next(part.duration_us for part in deadline_of(one, [generation], 0).data if part.name == "strategy")

    assert strategy_us('{"slots_alive": 2}') == HOUR
    assert strategy_us('{"slots_alive": 100}') == strategy_us('{"trees": []}') == strategy_us("") == (SPAN - 1) * HOUR
    model = ModelTable(replace(definition_of(generation, SPAN), derived='{"slots_alive": 2}'))
    state = model.state()
    asked = replace(state, ledger=replace(state.ledger, horizon=3))
    assert status_of(asked, path="", now_us=0).deadline.unstored == ()
    plain = replace(asked, definition=replace(asked.definition, derived=""))
    assert status_of(plain, path="", now_us=0).deadline.unstored != ()
