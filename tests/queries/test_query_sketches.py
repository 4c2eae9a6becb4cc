"""Approximate aggregates: within their bounds, and the same whatever the order in which parts are combined."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datasketches import kll_doubles_sketch

from tests.standing.test_standing_folds import tables_of
from tests.standing.test_standing_partials import AXIS, COLUMNS, MINUTE_US, built, loaded, some_rows
from tests.support.archives.asked_archive import asked_archive
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import COLUMNS as EVENTS
from tests.support.archives.refreshed_archive import event, refresh
from tests.support.models.query_operations import APPROXIMATE, Case
from tests.support.services.lacking import environment_without, tidewheel_in
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.findings import Finding
from tidewheel.local.answers.by_sql import Folder
from tidewheel.local.answers.ways import fold
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.distinct_sketches import HllSketches, installed
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.local.partials.partial_store import digests
from tidewheel.local.partials.quantile_sketches import KllSketches
from tidewheel.local.standing.ask import ask, with_errors
from tidewheel.local.standing.derived_audit import derived_findings
from tidewheel.queries.aggregates import HOLISTIC, Argument, ArgumentKind, aggregate
from tidewheel.queries.choice import choose
from tidewheel.queries.operation import Aggregate
from tidewheel.queries.operations.approximate import POINTS
from tidewheel.queries.operations.kll import tell_alike
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import assigned
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query

SEED = 20261119
DISTINCT = aggregate("approx_count_distinct", sketches=HllSketches())
FRACTIONS = (0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0)


def quantile(fraction: float) -> Aggregate:
    return aggregate("approx_quantile", Argument(ArgumentKind.FLOAT), fraction=fraction)


def in_parts(asked: Aggregate, batches: list[list[Any]]) -> Any:
    """The answer from a stored partial of each batch."""
    return asked.answer([folded(asked, batches)])


def folded(asked: Aggregate, batches: list[list[Any]]) -> Any:
    (operation,) = asked.operations
    parts = [operation.fold(map(operation.lift, batch)) for batch in batches]
    return operation.fold(operation.load(operation.store(one)) for one in parts if one is not None)


def cut(chance: random.Random, values: list[Any], parts: int) -> list[list[Any]]:
    ends = sorted(chance.randint(0, len(values)) for _ in range(parts - 1))
    return [values[low:high] for low, high in zip([0, *ends], [*ends, len(values)], strict=True)]


@pytest.mark.parametrize("empty", ["", b""])
def test_empty_text_is_one_more_value(empty: str | bytes) -> None:
    """The library passes over it."""
    other = "a" if isinstance(empty, str) else b"a"
    assert in_parts(DISTINCT, [[empty, other, None], [empty]]) == 2
    assert in_parts(DISTINCT, [[empty]]) == 1


def rank_error(values: list[float], answer: float, fraction: float) -> float:
    """How far the place asked for is from the places that the answer has among sorted values."""
    low, high = bisect_left(values, answer) / len(values), bisect_right(values, answer) / len(values)
    return max(0.0, low - fraction, fraction - high)


@pytest.fixture(params=APPROXIMATE, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


# The laws, of what is stored and answered.


def test_laws(case: Case) -> None:
    operation, chance = case.operation, random.Random(SEED)
    sample = [one for one in case.accumulators(chance, 10) if one is not None]
    sample += [operation.load(operation.store(one)) for one in sample[:3]]
    for x, y, z in product(sample, repeat=3):
        joined = operation.join(operation.join(x, y), z)
        assert operation.store(joined) == operation.store(operation.join(x, operation.join(y, z)))
        assert operation.lower(joined) == operation.lower(operation.join(z, operation.join(y, x)))
    if operation.idempotent:
        assert all(operation.store(operation.join(x, x)) == operation.store(x) for x in sample)


def test_what_is_stored_is_loaded_again(case: Case) -> None:
    operation, chance = case.operation, random.Random(SEED)
    stored = operation.store(operation.fold(case.accumulators(chance, 3000)))
    assert operation.store(operation.load(stored)) == stored
    assert [column.sql_type for column in operation.columns] == ["BLOB"]


def test_many_parts_need_no_recursion() -> None:
    (operation,) = quantile(0.5).operations
    assert quantile(0.5).answer([operation.fold(operation.lift(1.0) for _ in range(10**5))]) == 1.0


def test_every_technique_gives_the_same_answer(case: Case) -> None:
    operation, chance = case.operation, random.Random(SEED)
    for bounded in (False, True):
        technique = choose(operation, [7], bounded_latency=bounded)(operation, [7])
        parts: list[Any] = []
        for at in range(60):
            parts.append(operation.fold(case.accumulators(chance, 20)))
            technique.insert(parts[-1])
            if at >= 7:
                assert operation.store(technique.query(7)) == operation.store(operation.fold(parts[-7:])), at


# Distinct values.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1, 100, 3000, 20_000])
def test_sketches_of_parts_estimate_as_one(size: int, seed: int) -> None:
    chance = random.Random(f"{SEED} {size} {seed}")
    values = [f"{seed} {chance.randrange(size)}" for _ in range(2 * size)]
    assert DISTINCT.error is not None
    for parts in (1, 2, 9):
        batches = cut(chance, values, parts)
        answer = in_parts(DISTINCT, batches)
        assert answer == in_parts(DISTINCT, [chance.sample(one, len(one)) for one in reversed(batches)])
        assert answer == pytest.approx(len(set(values)), rel=2 * DISTINCT.error.share), f"seed {seed}"  # 4 deviations
        assert size > 100 or answer == len(set(values))


def test_equal_values_count_once() -> None:
    for equal in ([0.0, -0.0], [True, True], [Decimal("1.50"), Decimal("1.50")], [b"a", b"a"], [2**80, 2**80]):
        assert in_parts(DISTINCT, [equal[:1], equal[1:]]) == 1
    assert in_parts(DISTINCT, [[1, 2], [2, 3], [None, math.nan]]) == 3
    assert DISTINCT.answer([None]) == 0


def test_the_error_is_told() -> None:
    assert str(DISTINCT.error) == "±1.6 % of the count at 95 %"
    assert str(quantile(0.5).error) == "±0.2 % of the records, by rank, always"


def test_without_the_library_its_install_command_is_told() -> None:
    with pytest.raises(InvalidInput, match="datasketches") as refused:
        aggregate("approx_count_distinct")
    assert "pip install 'tidewheel[sketches]'" in refused.value.remedy
    assert installed() == HllSketches()


# Quantiles.


def draws(chance: random.Random) -> list[float]:
    size = chance.choice([1, 3, POINTS, POINTS + 1, 2 * POINTS - 1, 5000, 20_000])
    kind = chance.choice(["even", "long tail", "few values", "ascending"])
    make = {
        "even": chance.random,
        "long tail": lambda: chance.paretovariate(0.5),
        "few values": lambda: float(chance.randrange(20)),
        "ascending": chance.random,
    }[kind]
    values = [make() for _ in range(size)]
    return sorted(values) if kind == "ascending" else values


@pytest.mark.parametrize("seed", range(25))
def test_quantiles_are_within_their_bound(seed: int) -> None:
    chance = random.Random(f"{SEED} {seed}")
    values = draws(chance)
    batches = cut(chance, values, chance.choice([1, 2, 10]))
    ordered, total = sorted(values), folded(quantile(0.5), batches)
    for fraction in FRACTIONS:
        answer = quantile(fraction).answer([total])
        assert answer in ordered
        error = quantile(fraction).error
        assert error is not None
        assert rank_error(ordered, answer, fraction) <= error.share + 1e-12, f"seed {seed}, {fraction}"


def test_few_values_are_exact() -> None:
    assert [in_parts(quantile(fraction), [[3, 1], [2, 4, None, math.nan]]) for fraction in (0, 0.25, 0.5, 0.51, 1)] == [
        1.0, 1.0, 2.0, 3.0, 4.0,
    ]  # fmt: skip
    assert quantile(0.5).answer([None]) is None
    assert in_parts(quantile(0.5), [[-math.inf, math.inf, math.inf]]) == math.inf


def test_closer_than_what_kll_promises_for_its_size() -> None:
    """The summary that stands in for KLL: the largest error over many quantiles, from ten parts."""
    chance = random.Random(SEED)
    values = [chance.gauss(0, 1) for _ in range(50_000)]
    total, ordered = folded(quantile(0.5), [values[part::10] for part in range(10)]), sorted(values)
    k = 500
    sketch = kll_doubles_sketch(k)
    for value in values:
        sketch.update(value)
    assert len(sketch.serialize()) >= POINTS * 16
    fractions = [place / 100 for place in range(1, 100)]
    ours = max(rank_error(ordered, quantile(one).answer([total]), one) for one in fractions)
    assert ours <= 1 / POINTS < kll_doubles_sketch.get_normalized_rank_error(k, False)


KLL = KllSketches()


def by_kll(fraction: float) -> Aggregate:
    return aggregate("kll_quantile", Argument(ArgumentKind.FLOAT), fraction=fraction, sketches=HllSketches())


@pytest.mark.parametrize("seed", range(12))
def test_kll_is_within_its_error(seed: int) -> None:
    """In parts and whole; three times its error holds for one in very many."""
    chance = random.Random(f"{SEED} {seed}")
    values = draws(chance)
    batches = cut(chance, values, chance.choice([1, 2, 10]))
    ordered, total = sorted(values), folded(by_kll(0.5), batches)
    error = by_kll(0.5).error
    assert error is not None
    assert error.confidence == 0.99
    assert error.share == pytest.approx(0.0133, abs=1e-4)
    for fraction in FRACTIONS:
        answer = by_kll(fraction).answer([total])
        assert answer in ordered
        assert rank_error(ordered, answer, fraction) <= 3 * error.share, f"seed {seed}, {fraction}"


def test_kll_answers_alike_whatever_the_order_of_its_parts() -> None:
    chance = random.Random(SEED)
    operation = by_kll(0.9).operations[0]
    parts = [operation.store(operation.fold(operation.lift(chance.random()) for _ in range(3000))) for _ in range(6)]
    answers = {by_kll(0.9).answer([operation.fold(map(operation.load, some))]) for some in permutations(parts)}
    assert len(answers) == 1
    assert by_kll(0.9).answer([None]) is None
    assert by_kll(0.5).answer([operation.fold(map(operation.lift, [3, 1, None, math.nan, 2]))]) == 2.0


def test_sketches_of_equal_records_tell_alike_and_no_others() -> None:
    chance = random.Random(SEED)
    values = [chance.gauss(0, 1) for _ in range(5000)]
    first, second = (KLL.sketch(values, []) for _ in range(2))
    assert first != second, "it tosses coins"
    assert tell_alike(KLL, first, second)
    assert not tell_alike(KLL, first, KLL.sketch(values[1:], []))
    assert not tell_alike(KLL, first, KLL.sketch([*values[1:], max(values) + 1], []))
    among = sorted(values)
    moved = [among[0], *(value + 0.3 for value in among[1:-1]), among[-1] + 0.3]
    assert not tell_alike(KLL, first, KLL.sketch([*moved[:-1], among[-1]], []))
    assert tell_alike(KLL, KLL.sketch(values[:100], []), KLL.sketch(values[99::-1], []))


def test_without_the_library_kll_names_what_needs_none() -> None:
    with pytest.raises(InvalidInput, match="kll_quantile needs a library") as refused:
        aggregate("kll_quantile", Argument(ArgumentKind.FLOAT), fraction=0.9)
    assert "pip install 'tidewheel[sketches]'" in refused.value.remedy
    assert "approx_quantile(x, 0.9)" in refused.value.remedy


@pytest.mark.parametrize("fraction", [None, -0.1, 1.5])
def test_a_fraction_is_a_share(fraction: float | None) -> None:
    with pytest.raises(InvalidInput, match="approx_quantile") as refused:
        aggregate("approx_quantile", Argument(ArgumentKind.FLOAT), fraction=fraction)
    assert "approx_quantile(x, 0.99)" in refused.value.remedy


@pytest.mark.parametrize("name", HOLISTIC)
def test_holistic_aggregates_name_the_approximate_one(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        aggregate(name)
    assert ("approx_quantile" in refused.value.remedy) == (name == "median" or name.startswith("quantile"))


# In standing queries.


def query_of(select: str, rest: str = "", columns: Mapping[str, str] = COLUMNS) -> Query:
    body = f'[query]\nname = "q"\nof = "m"\ntime = "t"\nselect = "{select}"\nwindow = "180s"\nslide = "60s"\n{rest}'
    (text,) = parse_query_file(body, "q.toml")
    query, faults = read_query(SelectParser(columns, sketches=installed()), text)
    assert query is not None, faults
    return query


SELECT = (
    "approx_count_distinct(i) as many, approx_quantile(x, 0.9) as slow, approx_quantile(x, 0.5) as mid, max(k) as k2"
)
SELECT_KLL = f"{SELECT}, kll_quantile(x, 0.9) as late"


@pytest.mark.parametrize("group_by", ["", 'group_by = ["k"]'])
def test_answers_from_partials_every_way(group_by: str) -> None:
    chance = random.Random(SEED)
    query = query_of(SELECT_KLL, group_by)
    assert query == Query.from_json(query.to_json())
    assert len(query.calls) == 5
    tree = assigned([query], 3 * MINUTE_US).tree("q")
    batches = {slot: some_rows(chance, slot, 40) for slot in (7, 8, 9)}
    connection, rows = loaded([]), built(tree, batches, 0)
    connection.register("partials", rows)
    due = [DueReport(AXIS.end_us(slot), 1.0) for slot in (7, 8, 9, 30)]
    by_sql = Folder(query, tree, AXIS, connection, "partials").fold(due)
    order = [("window_end", "ascending"), *(("k", "ascending") for _ in query.groups)]
    for way in ("kernels", "FlatFAT", "DABA"):
        some = [replace(query, technique=way)]
        ((_, table),) = tables_of(fold(tree, AXIS, connection, TreeRows.of(rows), some, {"q": due}))
        assert by_sql.sort_by(order).to_pylist() == table.select(by_sql.column_names).sort_by(order).to_pylist(), way
    for row in by_sql.to_pylist():
        end_us = row["window_end"]
        inside = [
            one for slot, some in batches.items() for one in some
            if one["t"] is not None and end_us - 3 * MINUTE_US <= one["t"] < min(end_us, AXIS.end_us(slot))
            and (not group_by or one["k"] == row["k"])
        ]  # fmt: skip
        values = sorted(one["x"] for one in inside if one["x"] is not None and not math.isnan(one["x"]))
        assert row["many"] == len({one["i"] for one in inside} - {None})
        assert row["slow"] == (values[max(1, math.ceil(0.9 * len(values))) - 1] if values else None)


def test_partials_of_equal_records_are_equal() -> None:
    """Else each audit would find them damaged, and each refresh would give a revision."""
    chance = random.Random(SEED)
    tree = assigned([query_of(SELECT)], 3 * MINUTE_US).tree("q")
    rows = [row | {"x": chance.random(), "i": chance.randrange(10**6)} for row in some_rows(chance, 7, 3000)]
    found = []
    for _ in range(3):
        chance.shuffle(rows)
        found.append(digests(built(tree, {7: rows}, 0)))
    assert found[0] == found[1] == found[2]


def test_the_error_stands_beside_the_answer() -> None:
    query = query_of("approx_count_distinct(i) as many, 1000 * approx_quantile(x, 0.9) as slow, count(*) as n")
    answers = with_errors(pa.table({"many": [1], "slow": [2.0], "n": [3]}), query)
    assert answers.to_pylist() == [
        {"many": 1, "many_error": "±1.6 % of the count at 95 %",
         "slow": 2.0, "slow_error": "±0.2 % of the records, by rank, always", "n": 3}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("select", "wrong"),
    [
        ("approx_quantile(x)", "approx_quantile without a fraction"),
        ("approx_quantile(x, 2)", "approx_quantile of the fraction 2.0"),
        ("approx_quantile(x, i)", "approx_quantile with the fraction i"),
        ("approx_quantile(k, 0.5)", "approx_quantile of a text"),
        ("approx_count_distinct(i, 5)", "approx_count_distinct with 2 arguments"),
    ],
)
def test_what_cannot_be_selected_says_why(select: str, wrong: str) -> None:
    (text,) = parse_query_file(f'[query]\nname = "q"\nof = "m"\nselect = "{select}"\nwindow = "60s"', "q.toml")
    _, faults = read_query(SelectParser(COLUMNS, sketches=installed()), text)
    assert len(faults) == 1
    assert wrong in faults[0].wrong


def test_a_query_without_the_library_is_refused_at_its_place() -> None:
    text = '[query]\nname = "q"\nof = "m"\nselect = "approx_count_distinct(i) as n"\nwindow = "60s"'
    query, (fault,) = read_query(SelectParser(COLUMNS), parse_query_file(text, "q.toml")[0])
    assert query is None
    assert (fault.line, "tidewheel[sketches]" in fault.remedy) == (4, True)


SKETCHED = """
[query]
name = "keys"
of = "m"
select = "approx_count_distinct(k) as n"
window = "3m"
slide = "1m"
"""


def test_an_audit_derives_the_same_again(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({slot: [event(slot, value) for value in range(3000)] for slot in (100, 101, 102)})
    select = "approx_count_distinct(v) as many, approx_quantile(v, 0.9) as slow, kll_quantile(v, 0.9) as late"
    query = query_of(select, 'revise = "5m"\nkeep = "1h"', EVENTS)
    assert refresh(archive.job, [query]).answers is not None
    assert audited(archive) == []
    assert refresh(archive.job, [query]).due == ()
    (row,) = ask(archive.job, query, None, 1, None).to_pylist()
    assert row["many"] == pytest.approx(3000, rel=0.03)
    assert row["slow"] == pytest.approx(2699, abs=6)
    assert row["late"] == pytest.approx(2699, abs=3 * 40)
    assert row["many_error"] == "±1.6 % of the count at 95 %"
    assert row["late_error"] == "±1.3 % of the records, by rank at 99 %"
    archive.update({101: [event(101, value) for value in range(3000)]})
    assert refresh(archive.job, [query]).answers is not None
    assert audited(archive) == []


def audited(archive: LocalArchive) -> list[Finding]:
    jobs = [derived_job(archive.job, kind) for kind in ("partials", "answers")]
    return [one for job in jobs for one in derived_findings(job, job.snapshot(), list(job.snapshot().files))]


def test_an_audit_finds_a_sketch_of_other_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row is whole and as stored, but not what the records give."""
    archive = LocalArchive(tmp_path).create()
    archive.update({100: [event(100, value) for value in range(1000)]})
    query = query_of("kll_quantile(v, 0.9) as late", 'revise = "5m"\nkeep = "1h"', EVENTS)
    with monkeypatch.context() as patch:
        sketch = KllSketches.sketch
        patch.setattr(KllSketches, "sketch", lambda self, values, sketches: sketch(self, values[:-1], sketches))
        refresh(archive.job, [query])
    assert [finding.kind.value for finding in audited(archive)] == ["changed"]


def test_in_an_environment_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs it is refused with the command that installs it, all else works."""
    asked_archive(tmp_path, SKETCHED)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    packages = environment_without(tmp_path / "packages", "datasketches")
    others = "nothing else is stale\n"  # what became of the other queries
    for command, said in ((["query", "check", "m"], ""), (["refresh", "m"], others)):
        done = tidewheel_in(packages, *command, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, said)
        assert "approx_count_distinct needs a library that is not installed: datasketches" in done.stderr
        assert "pip install 'tidewheel[sketches]'" in done.stderr
    assert not (tmp_path / "table.partials").exists(), "nothing was changed"
    exact = SKETCHED.replace("approx_count_distinct(k)", "approx_quantile(v, 0.5)")
    (tmp_path / "archives" / "queries" / "m.toml").write_text(exact)
    done = tidewheel_in(packages, "refresh", "m", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
