"""Synopses against brute force and the examples of the literature; which queries may share them; admission."""

from __future__ import annotations

import random
from collections import Counter
from functools import reduce
from itertools import product
from math import ceil
from typing import Any

import pytest

from tests.support.models.planning import pages, vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.synopses.admission import Registry, Wanted, average
from tidewheel.queries.literature.synopses.relevant import Relevant, relevant_set
from tidewheel.queries.literature.synopses.synopsis import FORMS, Basic, Intervals, Running, Synopsis
from tidewheel.queries.literature.synopses.terms import Term
from tidewheel.queries.literature.synopses.values import COUNT, COUNTS, MAX, MIN, SUM, Kind
from tidewheel.queries.scheduling.covers import cover

PAGE = pages("synopses.json")
SLOTS, SLOTS_MAX = PAGE["slots"], PAGE["slots_max"]
KINDS = {kind.name: kind for kind in (SUM, COUNT, MAX, MIN, COUNTS)}


def filled(form: type[Synopsis], kind: Kind, version: int, slots_max: int = SLOTS_MAX) -> Any:
    synopsis = form(kind, slots_max)
    for value in SLOTS[:version]:
        synopsis.update(value)
    return synopsis


@pytest.mark.parametrize("vector", vectors("synopses.json"))
def test_windows_of_all_forms(vector: dict[str, Any]) -> None:
    version = vector["version"]
    for count, total, most, least, intervals in vector["rows"]:
        assert [[end - width, end] for end, width in cover(version, count, SLOTS_MAX)] == intervals
        for kind, true in ((SUM, total), (MAX, most), (MIN, least)):
            forms = FORMS.values() if kind is SUM else (Intervals, Basic)
            assert [filled(form, kind, version).probe(count) for form in forms] == [true] * len(list(forms))


def test_what_is_stored_and_read() -> None:
    stored = filled(Intervals, SUM, 8)
    assert (stored.size, filled(Running, SUM, 11).size, filled(Basic, SUM, 11).size) == (15, 9, 8)
    joint, told = filled(Basic, MAX, PAGE["joint"]["version"]), PAGE["joint"]
    assert list(joint.joint_probe(told["counts"]).values()) == told["max"]
    assert joint.reads == told["reads"]
    mean = PAGE["average"]
    sums, counts = (filled(Running, kind, mean["version"]) for kind in (SUM, SUM))
    assert sums.probe(mean["count"]) / mean["count"] == mean["value"]
    assert counts.reads == 0
    for slots, worst in PAGE["cover_lengths_worst"].items():
        b = int(slots)
        lengths = [len(cover(version, count, b)) for version in range(b, 2 * b) for count in range(1, b + 1)]
        assert max(lengths) == worst
        if slots in PAGE["cover_lengths_mean"]:
            assert round(sum(lengths) / len(lengths), 2) == PAGE["cover_lengths_mean"][slots]


def test_counters() -> None:
    synopsis = Basic(COUNTS, 5)
    for slot in PAGE["counters"]["slots"]:
        synopsis.update(Counter(slot))
    for count, distinct, top, total, median, middle, high in PAGE["counters"]["rows"]:
        found = synopsis.probe(count)
        ranked = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        assert (len(found), [f"{key}:{n}" for key, n in ranked[:2]], sum(found.values())) == (distinct, top, total)
        assert sorted(found.elements())[ceil(0.5 * total) - 1] == median
        ordered = sorted(found.values())
        assert [ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.9)] == [middle, high]


@pytest.mark.parametrize("slots_max", [1, 2, 3, 5, 8, 16])
def test_forms_are_brute_force_at_every_version(slots_max: int) -> None:
    chance = random.Random(slots_max)
    values = [chance.randint(-9, 9) for _ in range(3 * slots_max + 5)]
    for form, kind in ((Running, SUM), (Intervals, SUM), (Intervals, MAX), (Basic, MIN), (Basic, SUM)):
        synopsis = form(kind, slots_max)
        for version, value in enumerate(values, start=1):
            synopsis.update(value)
            for count in range(1, min(version, slots_max) + 1):
                true = reduce(kind.merge, values[version - count : version], kind.empty())
                assert synopsis.probe(count) == true, (form, kind.name, version, count)


@pytest.mark.parametrize("form", FORMS.values())
def test_what_began_late_or_reaches_further_from_now_on(form: type[Synopsis]) -> None:
    synopsis, values = form(SUM, 4, version=10), list(range(1, 40))
    for value in values[:4]:
        synopsis.update(value)
        with pytest.raises(InvalidInput, match=f"{synopsis.coverage} are known"):
            synopsis.probe(synopsis.coverage + 1)
    synopsis.update(values[4])
    synopsis.extend(8)
    for at in range(5, 30):
        synopsis.update(values[at])
        for count in range(1, synopsis.coverage + 1):
            assert synopsis.probe(count) == sum(values[at - count + 1 : at + 1])
    assert synopsis.coverage == 8


def test_maps_take_no_running_synopsis() -> None:
    for kind in (COUNTS, MAX):
        with pytest.raises(InvalidInput, match=f"{kind.name} cannot use a running synopsis"):
            Running(kind, 4)
    late = Basic(SUM, 4, version=7)
    late.backfill([1, 2, 3])
    late.update(4)
    assert late.probe(4) == 10


TERMS = {
    "t": Term("protocol", "=", "TCP"), "u": Term("protocol", "=", "UDP"), "U": Term("user", "=", "U"),
    **{f"p{n}": Term("p", "=", n) for n in (1, 2, 3)},
}  # fmt: skip


def predicate(text: str) -> frozenset[Term]:
    return frozenset(TERMS[word] for word in text.split())


@pytest.mark.parametrize("vector", PAGE["predicates"], ids=lambda one: one["name"])
def test_relevant_synopses(vector: dict[str, Any]) -> None:
    known = {name: predicate(text) for name, text in vector["known"].items()}
    found = relevant_set(
        KINDS[vector["kind"]], predicate(vector["wanted"]), known, is_literal=vector.get("literal", False)
    )
    wanted = Relevant(tuple(vector["plus"]), tuple(vector.get("minus", ()))) if "plus" in vector else None
    assert found == wanted


def test_disjoint_terms() -> None:
    for (one, first), (other, second), whole, disjoint in PAGE["disjoint"]:
        terms = Term("x", one, first, whole), Term("x", other, second, whole)
        assert terms[0].is_disjoint(terms[1]) is terms[1].is_disjoint(terms[0]) is disjoint
    for (one, first), (other, second) in product(product("=!<>", range(4)), repeat=2):
        pair = [Term("x", op.replace("!", "!="), at, True) for op, at in ((one, first), (other, second))]
        together = any(pair[0].holds(value) and pair[1].holds(value) for value in range(-3, 8))
        assert pair[0].is_disjoint(pair[1]) is (not together), pair


@pytest.mark.parametrize("seed", range(6))
def test_answers_from_relevant_synopses_are_brute_force(seed: int) -> None:
    chance, answered = random.Random(seed), 0
    records = [({"p": chance.randint(1, 4), "q": chance.randint(1, 3)}, chance.randint(1, 9)) for _ in range(60)]
    terms = [Term("p", "=", n, True) for n in range(1, 5)] + [Term("q", "<", 2, True), Term("p", ">", 2, True)]

    def true(kind: Kind, wanted: frozenset[Term]) -> Any:
        chosen = [value for row, value in records if any(term.holds(row[term.attribute]) for term in wanted)]
        return reduce(kind.merge, chosen, kind.empty())

    for _ in range(120):
        known = {f"s{at}": frozenset(chance.sample(terms, chance.randint(1, 3))) for at in range(chance.randint(1, 6))}
        wanted, kind = frozenset(chance.sample(terms, chance.randint(1, 3))), chance.choice([SUM, MAX])
        found = relevant_set(kind, wanted, known)
        if found is not None:
            answered += 1
            got = reduce(kind.merge, [true(kind, known[name]) for name in found.plus])
            for name in found.minus:
                assert kind.subtract is not None
                got = kind.subtract(got, true(kind, known[name]))
            assert got == true(kind, wanted), (seed, wanted, known, found)
            exact = relevant_set(kind, wanted, known, is_literal=True)
            assert exact is None or found.merges <= exact.merges
    assert answered > 10


def test_a_covered_query_reads_its_own_length() -> None:
    told = PAGE["covered_scan"]
    scans = {}
    for name in ("TCP", "U"):
        synopsis = Basic(MAX, 10)
        for value in reversed(told[name]):
            synopsis.update(value)
        scans[name] = synopsis.joint_probe([10, 8])
    assert [one[10] for one in scans.values()] == told["ten"]
    assert max(one[8] for one in scans.values()) == told["eight"]


def test_admission_by_cases() -> None:
    registry = Registry()
    assert registry.register(Wanted("total", "flows", (SUM,), 10, 2), 20).case == "new"
    assert registry.admitted["total"].exact_from == 30
    again = registry.register(Wanted("again", "flows", (SUM,), 10, 6), 21)
    assert (again.case, again.uses) == ("alias", ("total",))
    shorter = registry.register(Wanted("shorter", "flows", (SUM,), 4, 1), 25)
    assert (shorter.case, shorter.exact_from) == ("attach", 25)
    longer = registry.told(Wanted("longer", "flows", (SUM,), 14, 1), 40)
    assert (longer.case, longer.exact_from) == ("extend", 44), "after as many updates as are missing"
    assert registry.told(Wanted("often", "flows", (SUM,), 10, 1), 40).case == "attach"
    assert registry.told(average("mean", "flows", 5, 1), 40).case == "new", "there is no count"
    registry.register(Wanted("n", "flows", (COUNT,), 6, 1), 40)
    assert registry.told(average("mean", "flows", 5, 1), 46).case == "attach"
    stored = Registry(stored_slots=50)
    assert stored.register(Wanted("total", "flows", (SUM,), 10, 2), 20) == stored.admitted["total"]
    assert (stored.admitted["total"].case, stored.admitted["total"].exact_from) == ("backfill", 20)


def test_admission_by_predicates_and_removal() -> None:
    registry = Registry()
    for name, text in (("tcp", "t"), ("udp", "u")):
        registry.register(Wanted(name, "flows", (SUM,), 10, 2, predicate(text)), 0)
    both = registry.register(Wanted("both", "flows", (SUM,), 8, 3, predicate("t u")), 20)
    assert (both.case, both.uses, both.exact_from) == ("relevant", ("tcp.sum", "udp.sum"), 20)
    assert both.relevant == (Relevant(("tcp.sum", "udp.sum")),)
    assert len(registry.held) == 2, "two synopses serve three queries"
    assert registry.groups() == [frozenset({"tcp", "udp", "both"})]
    assert registry.remove("tcp", 21) == [], "another query still needs its synopsis"
    assert registry.remove("both", 22) == ["tcp.sum"]
    registry.register(Wanted("udp2", "flows", (SUM,), 10, 4, predicate("u")), 23)
    assert registry.admitted["udp2"].case == "alias"
    registry.remove("udp", 24)
    assert registry.admitted["udp2"].case in ("attach", "new")
    with pytest.raises(InvalidInput, match="there already"):
        registry.register(Wanted("udp2", "flows", (SUM,), 10, 4), 25)


def test_groups_by_form() -> None:
    for form, groups in (("BI", 1), ("R", 2), ("I", 2)):
        registry = Registry(form)
        for name, window in (("a", 8), ("b", 4), ("c", 8)):
            registry.register(Wanted(name, "flows", (SUM,), window, 2 if name == "a" else 1), 0)
        assert len(registry.groups()) == groups, form
