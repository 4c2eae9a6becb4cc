"""States of techniques, kept from refresh to refresh: what is carried on answers as what is rebuilt, and is a cache."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.literature import kept_states
from tests.support.archives.byte_search import holders
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import answers, audit_is_clean, event, query_of, refresh
from tests.support.models.query_operations import APPROXIMATE, CASES
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.undo import undo
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.technique_states import FILE, KeptState
from tidewheel.queries.choice import TECHNIQUES, fitting
from tidewheel.queries.operation import AlgebraClass
from tidewheel.queries.standing.query import Query
from tidewheel.queries.streams import Streams
from tidewheel.queries.technique import Technique
from tidewheel.queries.value_text import value_of, value_text

NAMES = [technique.name for technique in TECHNIQUES]
LENGTHS = range(1, 10)


# Of a technique, and of the streams of a query.


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda one: one.name)
def test_a_state_holds_nothing_older_than_its_reach(technique: type[Technique]) -> None:
    """Two streams that differ in what is older, and in nothing since, have equal states."""
    chance = random.Random(technique.name)
    (operation, *_) = (case.operation for case in CASES if technique in fitting(case.operation, [5]))
    operation = next((case.operation for case in CASES if case.name == "max"), operation) if (
        AlgebraClass.SEL in technique.classes) else operation  # fmt: skip
    for length in LENGTHS:
        for steps in range(1, 60):
            left, right = technique(operation, [length]), technique(operation, [length])
            older = max(0, steps - left.reach)
            shared = [chance.randrange(100) for _ in range(steps - older)]
            for one in (left, right):
                for partial in ([chance.randrange(100) for _ in range(older)], shared):
                    for value in partial:
                        one.insert(value)
                        one.query(length)
            assert left.state() == right.state(), (length, steps)


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda one: one.name)
def test_what_is_stored_of_streams_carries_on(technique: type[Technique]) -> None:
    """Every few fragments as text and back; groups come and go; the answers are those of streams never stored."""
    for seed, case in enumerate(CASES):
        if technique not in fitting(case.operation, [5]):
            continue
        chance, operation = random.Random(seed), case.operation
        length = chance.choice(LENGTHS)

        def make(operation: Any = operation, length: int = length) -> list[Technique]:
            return [technique(operation, [length])]

        whole, carried = Streams(make, 0), Streams(make, 0)
        for _ in range(12):
            end = whole.end + chance.randint(1, 8)
            partials = {
                (group,): {
                    at: [operation.fold(case.accumulators(chance, 2))] for at in range(whole.end, end)
                    if chance.random() < 0.4
                }
                for group in chance.sample("abcd", 2)
            }  # fmt: skip
            reports = dict.fromkeys(range(whole.end + 1, end + 1), length)
            text = value_text(carried.state())
            assert value_of(text) == carried.state(), (seed, case.name)
            carried = Streams(make, 0)
            carried.restore(value_of(text))
            assert dict(carried.slide(partials, reports)) == dict(whole.slide(partials, reports)), (seed, case.name)
            assert len(whole.groups) <= 4


def test_groups_that_are_out_of_reach_are_let_go() -> None:
    (operation, *_) = (case.operation for case in CASES if case.name == "count")
    streams = Streams(lambda: [TECHNIQUES[0](operation, [3])], 0)
    dict(streams.slide({("a",): {0: [1]}, ("b",): {4: [1]}}, {5: 3}))
    assert list(streams.groups) == [("b",)]


def test_only_plain_values_are_written() -> None:
    for case in APPROXIMATE:  # a fold of many sketches is as large as all of them
        with pytest.raises(InvalidInput, match="no plain value"):
            value_text(case.operation.fold(case.accumulators(random.Random(1), 9)))
    with pytest.raises(InvalidInput, match="more than"):
        value_text([0] * 1_000_001)


# Of an archive's queries.


def queries_of(name: str) -> tuple[Query, Query]:
    """A query by a technique, and the same by the kernels."""
    technique = next(one for one in TECHNIQUES if one.name == name)
    select = "max(v) as a, last(x) as b" if technique.classes == {AlgebraClass.SEL} else "sum(v) as a, avg(x) as b"
    body = f'select = "{select}"\ngroup_by = ["k"]\nwindow = "5m"\nslide = "1m"\nrevise = "20m"\nkeep = "2h"'
    slid = query_of(technique.__name__.lower(), f'{body}\ntechnique = "{name}"')
    return slid, query_of("most" if "max" in select else "total", body)


def kept_lines(folder: Path) -> list[KeptState | None]:
    path = folder / "table.answers" / FILE
    return [KeptState.of_line(line) for line in path.read_bytes().split(b"\n")] if path.exists() else []


def agree(archive: LocalArchive, *pairs: tuple[Query, Query]) -> None:
    """A refresh; both queries of each pair have the same answers."""
    refresh(archive.job, list(dict.fromkeys(query for pair in pairs for query in pair)))
    for pair in pairs:
        found, wanted = (answers(archive, query) for query in pair)
        assert found.keys() == wanted.keys() != set()
        for key, row in wanted.items():
            mean = row["b"] and pytest.approx(row["b"], rel=1e-12)
            assert found[key] == {**row, "b": mean, "revision": found[key]["revision"]}, (pair[0].technique, key)


def test_answers_are_those_of_the_kernels_through_a_history(tmp_path: Path) -> None:
    """New slots, replays and late slots, a forget, an undo; after most of them every technique goes on."""
    chance, archive, pairs = random.Random(3), LocalArchive(tmp_path, span=40).create(), list(map(queries_of, NAMES))
    head, carried = 0, Counter[str]()
    acts = ["next"] * 4 + ["replay", "next", "late", "next", "forget", "next", "next", "undo", "next", "jump", "next"]
    for act in [*acts, "next"]:
        before = {one.part: one.end for one in kept_lines(tmp_path) if one}
        slot = {"replay": head - 2, "late": head - 3, "jump": head + 20}.get(act, head + 1)
        if act == "undo":
            undo(archive.job)
            head -= 1
        elif act == "forget":
            forget(archive.job, keys=[("b",)])
        else:
            head = max(head, slot)
            lives = chance.choice([3, 30])
            some = [event(slot, chance.randrange(100), k, lives) for k in "abc" if chance.random() < 0.7]
            archive.update({slot: [replace(one, x=chance.choice([0.1, 1e16, -1e16])) for one in some]})
        agree(archive, *pairs)
        carried.update(one.part for one in kept_lines(tmp_path) if one and one.end - 1 == before.get(one.part))
    assert {carried[slid.part] >= 6 for slid, _ in pairs} == {True}, carried
    assert audit_is_clean(archive)


@pytest.fixture
def kept(tmp_path: Path) -> tuple[LocalArchive, Query, Query]:
    """Some slots answered, and a state kept."""
    archive, (slid, folded) = LocalArchive(tmp_path, span=40).create(), queries_of("FlatFIT")
    for slot in range(8):
        archive.update({slot: [event(slot, slot + 1, "a", 30), event(slot, 10, "secret", 30)]})
    agree(archive, (slid, folded))
    return archive, slid, folded


def rewritten(folder: Path, change: Any) -> None:
    """The one line of the file as if a refresh had written it so."""
    path = folder / "table.answers" / FILE
    (one,) = (KeptState.of_line(line) for line in path.read_bytes().split(b"\n"))
    assert one is not None
    path.write_bytes(KeptState(**{**asdict(one), **change(one)}).line())


def next_slot(archive: LocalArchive, slot: int = 8) -> None:
    archive.update({slot: [event(slot, slot + 1, "a", 30)]})


def lifted(one: KeptState) -> dict[str, str]:
    state = value_of(one.state)
    for _, _, techniques in state["groups"]:
        for technique in techniques:
            technique["partials"] = [1000 if type(value) is int and value else value for value in technique["partials"]]
    return {"state": value_text(state)}


def test_the_state_is_what_the_next_refresh_goes_on_from(
    kept: tuple[LocalArchive, Query, Query], tmp_path: Path
) -> None:
    """Else this test's false one, which nobody could tell from a true one, would not be seen."""
    archive, slid, folded = kept
    rewritten(tmp_path, lifted)
    next_slot(archive)
    with pytest.raises(AssertionError):
        agree(archive, (slid, folded))


@pytest.mark.parametrize("what", ["damaged", "cut short", "nonsense", "lost", "program", "tree", "content", "a folder"])
def test_a_state_that_does_not_count_is_rebuilt(
    what: str, kept: tuple[LocalArchive, Query, Query], tmp_path: Path
) -> None:
    """The state is false in all of them, so it would be seen if it were used."""
    archive, slid, folded = kept
    path = tmp_path / "table.answers" / FILE
    rewritten(tmp_path, lifted)
    text = path.read_bytes()
    if what in ("program", "tree", "content"):
        rewritten(tmp_path, lambda one: {what: 7 if what == "content" else "another"})
    elif what == "damaged":
        for place in range(0, len(text), 97):
            assert KeptState.of_line(text[:place] + bytes([text[place] ^ 4]) + text[place + 1 :]) is None
        path.write_bytes(text.replace(b"1000", b"1001"))
    elif what in ("lost", "a folder"):
        path.unlink()
        if what == "a folder":
            (path / "inside").mkdir(parents=True)
    else:
        path.write_bytes(text[: len(text) // 2] if what == "cut short" else b"\x00\n{}\n")
    next_slot(archive)
    if what == "a folder":
        with pytest.raises(OSError, match="technique_states"):
            agree(archive, (slid, folded))
        (path / "inside").rmdir()
        path.rmdir()
    agree(archive, (slid, folded))
    assert [one is not None and "1000" not in one.state for one in kept_lines(tmp_path)] == [True]


def test_what_was_forgotten_is_not_in_the_state(kept: tuple[LocalArchive, Query, Query], tmp_path: Path) -> None:
    archive, slid, folded = kept
    assert (tmp_path / "table.answers" / FILE).relative_to(tmp_path).as_posix() in holders(tmp_path, ["secret"])[
        "secret"
    ]
    forget(archive.job, keys=[("secret",)])
    agree(archive, (slid, folded))
    assert not [path for path in holders(tmp_path, ["secret"]).get("secret", []) if FILE in path]
    next_slot(archive)
    agree(archive, (slid, folded))
    assert len(kept_lines(tmp_path)) == 1


def test_a_state_goes_with_its_query_and_with_its_partials(
    kept: tuple[LocalArchive, Query, Query], tmp_path: Path
) -> None:
    archive, slid, folded = kept
    next_slot(archive, 100)
    refresh(archive.job, [slid, folded])
    assert [one is not None and "secret" in one.state for one in kept_lines(tmp_path)] == [False]
    refresh(archive.job, [folded])
    assert not (tmp_path / "table.answers" / FILE).exists()


def test_a_line_is_json_behind_its_check(kept: tuple[LocalArchive, Query, Query], tmp_path: Path) -> None:
    check, text = (tmp_path / "table.answers" / FILE).read_text().split(" ", 1)
    assert len(check) == 32
    assert json.loads(text)["part"] == kept[1].part


def test_the_benchmark_has_every_technique(capsys: pytest.CaptureFixture[str]) -> None:
    kept_states.main(["--groups", "2", "--sizes", "5"])
    told = capsys.readouterr().out
    assert all(f" {name} " in told for name in NAMES)
