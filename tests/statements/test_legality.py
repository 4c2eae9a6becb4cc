"""Every refusal has its exact text, and what is legal is not refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.models.statement_plans import built
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements import legality
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.labels import label
from tidewheel.queries.statements.legality import Illegal, check, faults
from tidewheel.queries.statements.plan import (
    CountWindow,
    Fold,
    GroupBy,
    Join,
    Project,
    Select,
    Stream,
    TimeWindow,
    Union,
    window,
)
from tidewheel.queries.statements.plan_text import plan_text
from tidewheel.queries.statements.statement import Output, Statement

INTERNAL = "INTERNAL window not allowed: query uses DISTINCT/negation, an append-only result would be wrong."
WSTREAM = "Wstream cannot be combined with restore / DISTINCT / negation / an external aggregate."
UNBOUNDED = (
    "Unbounded stream A in join/negation without window: state would grow without limit; "
    "add a RANGE window (INTERNAL allowed for joins only)."
)
OVER_STR = "Join with NRR/REL over an input that needs retractions (STR at operator {0}); move the join below {0}."


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (["distinct", "I5"], INTERNAL),
        (["antijoin", "I5", "W5"], INTERNAL),
        (["except", "W5", "I5"], INTERNAL),
        (["join", "S", "W5"], UNBOUNDED),
        (["antijoin", "S", "W5"], UNBOUNDED),
        (["join", ["distinct", "S"], "W5"], UNBOUNDED),
        (["relation", "S"], UNBOUNDED),
        (["nrr", ["select", "C5"]], OVER_STR.format("count window 5")),
        (["relation", ["antijoin", "W5", "W5"]], OVER_STR.format("▷ NOT EXISTS A.k = B.k")),
    ],
    ids=str,
)
def test_refused_plans(written: Any, text: str) -> None:
    assert list(faults(Statement(built(written)))) == [text]
    with pytest.raises(Illegal) as caught:
        check(Statement(built(written)))
    assert caught.value.message == text


@pytest.mark.parametrize(
    "written",
    [
        ["join", "I5", "I5"],
        ["join", "I5", "W5"],
        ["group", "I5"],
        ["nrr", "S"],
        ["distinct", "S"],
        ["join", "C5", "W5"],
    ],
    ids=str,
)
def test_legal_plans(written: Any) -> None:
    check(Statement(built(written)))


@pytest.mark.parametrize(
    ("written", "restore", "refused"),
    [
        (["join", "W5", "W5"], False, False),
        (["join", "W5", "W5"], True, True),
        (["distinct", "W5"], False, True),
        (["except", "W5", "W5"], False, True),
        (["group", "W5"], False, True),
        (["group", "I5"], False, False),
    ],
    ids=str,
)
def test_output_windows(written: Any, restore: bool, refused: bool) -> None:
    statement = Statement(built(written), Output.WSTREAM, restore, rows=10)
    assert list(faults(statement)) == ([WSTREAM] if refused else [])


@pytest.mark.parametrize("output", list(Output))
def test_restore_is_of_istream_and_rstream(output: Output) -> None:
    refused = list(faults(Statement(built(["join", "W5", "W5"]), output, restore=True)))
    assert (refused == []) == (output in (Output.ISTREAM, Output.RSTREAM))


def test_slides_that_differ() -> None:
    both = Join(window("A", 10, "k", slide=5), window("B", 10, "k", slide=2), (("A.k", "B.k"),))
    assert list(faults(Statement(both))) == ["SLIDE differs between windows (5 vs 2)"]


def test_direct_expiration() -> None:
    legality.check_direct(built(["distinct", ["join", "W5", "W8"]]))
    legality.check_direct(built(["select", "W5"]))
    with pytest.raises(Illegal) as caught:
        legality.check_direct(built(["join", ["antijoin", "W5", "W5"], "W5"]))
    assert caught.value.message == (
        "Direct expiration impossible: input of ⋈ A.k = C.k is STR "
        "(count window / negation at ▷ NOT EXISTS A.k = B.k); use negative-tuple mode."
    )


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (
            lambda: legality.check_delta_star(label(built("C5"))),
            "delta* needs inputs with known expiration; input is STR because of count window 5.",
        ),
        (lambda: legality.check_synopsis(10, 3), "SLIDE must divide RANGE (synopsis)"),
        (lambda: legality.check_wave_index(label(built("W16")), 16, 3, 2), "n·Δ must divide S (wave index)"),
        (
            lambda: legality.check_wave_index(label(built(["join", "W8", "W8"])), 16, 4, 2),
            "Wave index refused: view is variable-lifetime (WK); every update would touch all n sub-indices; "
            "use the doubly partitioned index.",
        ),
        (lambda: legality.check_tuple(5, 9, 5), "Tuple ts=5 not after watermark τ_k=5 (late data)"),
        (lambda: legality.check_tuple(6, 6, 5), "exp <= ts"),
        (lambda: legality.check_tuple(6, 17, 5, 10), "lifetime exceeds bound S"),
    ],
)
def test_refusals_of_engines_and_structures(refusal: Any, text: str) -> None:
    with pytest.raises(Illegal) as caught:
        refusal()
    assert caught.value.message == text


def test_what_engines_and_structures_take() -> None:
    legality.check_delta_star(label(built("W5")))
    legality.check_synopsis(10, 5)
    legality.check_wave_index(label(built("W16")), 16, 4, 2)
    legality.check_tuple(6, 16, 5, 10)


def test_a_key_that_comes_again() -> None:
    assert legality.reused_key(7, "hosts", 3, 5).message == (
        "Key 7 was deleted from NRR hosts at 3 and re-inserted at 5; keys may not be re-used."
    )


A = Stream("A", ("k", "v"))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: TimeWindow(A, 0), "a window's length is 0"),
        (lambda: CountWindow(A, 0), "number of rows is 0"),
        (lambda: TimeWindow(TimeWindow(A, 5), 5), "window 5 over a result"),
        (lambda: Select(A, (Comparison("B.k", "=", 1),)), "names B.k, which its input has not"),
        (lambda: Comparison("A.k", "~", 1), "'~' compares nothing"),
        (lambda: Join(A, A, (("A.k", "A.k"),)), "A.k, A.v is in both inputs"),
        (lambda: Join(A, Stream("B", ("k",)), (("A.k", "B.x"),)), "which are no columns of its inputs"),
        (lambda: Union(A, Project(A, ("A.k",))), "a union of 2 and 1 columns"),
        (lambda: Fold("median", "A.v"), "no aggregate median(A.v)"),
        (lambda: GroupBy(A, ("A.x",), (Fold("count"),)), "names A.x"),
    ],
)
def test_plans_that_make_no_sense(make: Any, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert text in str(caught.value)


def test_a_plan_as_text_names_what_raised_its_class() -> None:
    lines = plan_text(built(["select", ["antijoin", "W5", "W8"]])).splitlines()
    assert lines[0] == "σ A.v > 0  STR by NEG: needs corrections, because of ▷ NOT EXISTS A.k = B.k"
    assert lines[1] == "└ ▷ NOT EXISTS A.k = B.k  STR by NEG: needs corrections"
    assert lines[-1] == "    └ stream B  MON by APPEND: append-only"
