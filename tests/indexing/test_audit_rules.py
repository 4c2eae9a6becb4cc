"""Audit rules on tables in memory: silent after any history, and each finds what it is for."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.archives.small_archive import generation_of, random_batch
from tests.support.models.model_table import ModelTable, cells_of, definition_of
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.rules.audit import FileContent, content_findings, file_list_findings
from tidewheel.indexing.rules.audit_receipts import ledger_findings, receipt_findings
from tidewheel.indexing.rules.findings import Finding, Flaw, backfill_options, backfill_range

SPAN = 5


def contents_of(table: ModelTable) -> list[FileContent]:
    return [FileContent(fact, cells_of(records)) for fact, records in table.files.values()]


def findings_of(table: ModelTable, contents: list[FileContent] | None = None) -> list[Finding]:
    settled = bool(table.receipts) and table.receipts[-1][1].operation in (Deed.UPDATE, Deed.EXPIRE)
    return [
        *content_findings(table.state(), contents_of(table) if contents is None else contents, [], settled=settled),
        *ledger_findings(table.ledger, table.receipts, SPAN),
    ]


def random_generation(chance: random.Random, number: int) -> Generation:
    kind = chance.choice(["round_robin", "chronological", "randomized"])
    strategy = chance.choice(["rebuild", "no_rebuild", "expire_rebuild"])
    generation = generation_of(
        kind, chance.randint(1, 3), chance.randint(1, 3), strategy, span=SPAN,
        dead_share_max=chance.choice([0.0, 0.3, 0.6]), runs_max=chance.choice([1, 3, 16]),
    )  # fmt: skip
    return replace(generation, number=number)


@pytest.mark.parametrize("seed", range(300))
def test_no_history_gives_a_finding(seed: int) -> None:
    chance = random.Random(seed)
    table = ModelTable(definition_of(random_generation(chance, 0), SPAN), rows_max_per_file=chance.choice([3, 50]))
    newest = barrier = 0
    for _ in range(chance.randrange(3, 15)):
        kind = chance.choices(["next", "back", "jump", "expire", "forget", "migrate", "undo"], [8, 5, 1, 1, 1, 1, 1])[0]
        if kind == "forget":
            table.forget(f"k{chance.randrange(6)}")
        elif kind == "migrate":
            number = table.definition.current.number + 1
            table.migrate(random_generation(chance, number), relocate=chance.random() < 0.5)
        elif kind == "undo":
            if table.version > max(barrier, 1):
                table.undo(chance.randrange(max(barrier, 1), table.version))
        elif kind == "expire":
            newest += chance.randrange(3)
            table.update({}, expire_through=newest)
        else:
            slot = newest + {"next": 1, "back": -chance.randrange(SPAN), "jump": chance.randrange(2, 2 * SPAN)}[kind]
            newest = max(newest, slot)
            table.update({slot: random_batch(chance, slot, SPAN, rows=chance.choice([0, 1, 8]))})
        barrier = table.version if kind in ("forget", "migrate") else barrier
        assert findings_of(table) == [], f"after {kind}"


def small_table(strategy: str = "expire_rebuild") -> ModelTable:
    table = ModelTable(definition_of(generation_of(strategy=strategy, span=SPAN), SPAN))
    table.update({1: [Record(1, 3, "a"), Record(1, 3, "b"), Record(1, 4, "c")]})
    return table


def damaged(table: ModelTable, change: Callable[[dict[tuple[int, int], Cell]], None]) -> list[Finding]:
    """The findings when the file that holds cell (1, 3) is not what it was."""
    contents = []
    for content in contents_of(table):
        cells = dict(content.cells)
        if (1, 3) in cells:
            change(cells)
        contents.append(FileContent(content.fact, cells))
    return findings_of(table, contents)


def test_lost_doubled_and_changed_name_cell_and_file() -> None:
    table = small_table()
    path = next(content.fact.path for content in contents_of(table) if (1, 3) in content.cells)
    cell = Cell(2, 7)
    cases: dict[Flaw, Callable[[dict[tuple[int, int], Cell]], None]] = {
        Flaw.LOST: lambda cells: cells.update({(1, 3): Cell(1, 5)}),
        Flaw.DOUBLED: lambda cells: cells.update({(1, 3): Cell(3, 5)}),
        Flaw.CHANGED: lambda cells: cells.update({(1, 3): cell}),
    }
    for kind, change in cases.items():
        findings = damaged(table, change)
        assert [(one.kind, one.cell, one.path, one.slots) for one in findings] == [(kind, (1, 3), path, (1, 1))]


def test_an_unread_file_is_the_suspect_of_what_is_lost() -> None:
    table = small_table()
    contents = contents_of(table)
    gone = next(content for content in contents if (1, 4) in content.cells)
    rest = [content for content in contents if content is not gone]
    findings = content_findings(table.state(), rest, [gone.fact], settled=True)
    assert [(one.kind, one.cell, one.path) for one in findings] == [(Flaw.LOST, (1, 4), gone.fact.path)]


def test_a_row_in_a_wrong_place_is_misplaced() -> None:
    table = small_table()
    contents = [FileContent(replace(c.fact, g=1 - c.fact.g), c.cells) for c in contents_of(table)]
    assert {one.kind for one in findings_of(table, contents)} == {Flaw.MISPLACED}
    newer = replace(table.definition.current, number=1)
    table.definition = table.definition.with_generation(newer)
    contents = [FileContent(replace(c.fact, generation=1), c.cells) for c in contents_of(table)]
    assert {one.kind for one in findings_of(table, contents)} == {Flaw.MISPLACED}, "the ledger says generation 0"


def test_expired_rows_are_overdue_where_the_strategy_would_have_removed_them() -> None:
    for strategy, kinds in (
        ("rebuild", {Flaw.OVERDUE}),
        ("expire_rebuild", {Flaw.OVERDUE}),
        ("no_rebuild", set()),
    ):
        table = small_table(strategy)
        content = next(content for content in contents_of(table) if (1, 3) in content.cells)
        # One dead row of three, in the same column.
        dead = FileContent(replace(content.fact, rows=3, exp_min=1), {**content.cells, (1, 1): Cell(1, 9)})
        others = [one for one in contents_of(table) if one.fact != content.fact]
        found = content_findings(table.state(), [dead, *others], [], settled=True)
        assert {one.kind for one in found} == kinds
        assert [one.path for one in found if kinds] == [dead.fact.path] * len(kinds)
        all_dead = FileContent(replace(dead.fact, path="a2", exp_max=1, rows=1), {(1, 1): Cell(1, 9)})
        found = content_findings(table.state(), [*contents_of(table), all_dead], [], settled=False)
        assert {one.kind for one in found} == {Flaw.OVERDUE}, "a file that expired whole is dropped by every strategy"


def test_a_dead_share_above_the_bound_is_overdue_once_an_update_has_looked() -> None:
    table = small_table("no_rebuild")
    content = next(content for content in contents_of(table) if (1, 3) in content.cells)
    dead = FileContent(replace(content.fact, rows=7, exp_min=1), {**content.cells, (1, 1): Cell(5, 9)})
    others = [one for one in contents_of(table) if one.fact != content.fact]
    assert [one.kind for one in content_findings(table.state(), [dead, *others], [], settled=True)] == [Flaw.OVERDUE]
    assert content_findings(table.state(), [dead, *others], [], settled=False) == []


def test_slots_outside_the_logs_range_are_found() -> None:
    table = small_table()
    contents = [FileContent(replace(c.fact, exp_max=c.fact.exp_max + 1), c.cells) for c in contents_of(table)]
    assert {one.kind for one in findings_of(table, contents)} == {Flaw.STATISTICS}


def test_the_chain_of_receipts() -> None:
    def receipt(head: int, watermark: int | None, operation: Deed = Deed.EXPIRE) -> Receipt:
        return Receipt(operation, f"run-{head}", head, watermark, 0, 0)

    def said(*receipts: tuple[int, Receipt], **state: int | None) -> list[str]:
        newest = {"version": receipts[-1][0], "head": receipts[-1][1].head, "watermark": receipts[-1][1].watermark}
        found = receipt_findings(receipts, **{**newest, **state})  # type: ignore[arg-type]
        return [f"{one.kind.value}: {one.message}" for one in found]

    start = (0, receipt(0, None, Deed.INIT))
    assert said(start, (1, receipt(1, 5)), (2, receipt(2, 3, Deed.UNDO))) == []
    assert said(start, (2, receipt(1, 5))) == [
        "foreign: no receipt of version 1: something else committed it, or it was lost"
    ]
    assert "went back from 5 to 3" in said(start, (1, receipt(1, 5)), (2, receipt(2, 3)))[0]
    assert "head 3 follows head 1" in said(start, (1, receipt(1, 5)), (2, receipt(3, 5)))[0]
    assert "the table's head is 7" in said(start, head=7)[0]
    assert "the table's watermark is slot 9" in said(start, watermark=9)[0]
    assert "not of init" in said((0, receipt(0, None)))[0]


def test_files_listed_twice_or_of_nobody() -> None:
    table = small_table()
    fact = replace(contents_of(table)[0].fact, path="run-7-1/x")
    assert file_list_findings([fact], ["run-7"]) == []
    assert [one.kind for one in file_list_findings([fact, fact], ["run-7"])] == [Flaw.DOUBLED]
    assert [one.kind for one in file_list_findings([fact], ["run-8"])] == [Flaw.FOREIGN]


def test_one_backfill_brings_all_damaged_slots_in_one_commit() -> None:
    findings = [
        Finding(Flaw.LOST, "", slots=(3, 3)),
        Finding(Flaw.MISSING_FILE, "", slots=(1, 4)),
        Finding(Flaw.FOREIGN, ""),
    ]
    slots = backfill_range(findings)
    assert slots == (1, 4)
    assert " ".join(backfill_options(TimeAxis(60_000_000), slots)) == (
        "--from 1970-01-01T00:01:00Z --to 1970-01-01T00:05:00Z --each 4"
    )
    assert backfill_range([Finding(Flaw.FOREIGN, "")]) is None
