"""Audit rules: what is really in the files against what the ledger says is alive, cell by cell.

A cell is (insertion slot, expiration slot). The rules only compare; who reads the files hands in what was found:

1. Every cell alive by the ledger is in the files with its count and its hash sum: else lost, doubled or changed.
2. Every row lies where its file's generation places its slots, in the generation of its slot's batch: else misplaced.
3. Rows that have expired may lie in a file only as far as the strategy allows: else overdue.
4. The log's range of slots is the file's: else statistics (a narrower one hides records).

What receipts and the ledger must be is in `audit_receipts.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.layouts import Generation, Strategy
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.core.state import FileFact, SubIndex, TableState
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.findings import CellAt, Finding, Flaw, hit_range

PATHS_SHOWN = 3


@dataclass(frozen=True)
class FileContent:
    """The cells of a data file, counted from its rows."""

    fact: FileFact
    cells: Mapping[CellAt, Cell]

    @property
    def rows(self) -> int:
        return sum(cell.rows for cell in self.cells.values())


def content_findings(
    state: TableState, contents: Sequence[FileContent], unread: Sequence[FileFact], *, settled: bool
) -> list[Finding]:
    """Yield the findings of rules 1 to 4.

    `unread` files have unknown rows; `settled`: the newest commit checked the bounds.
    """
    findings = list(_cell_findings(state, contents, unread))
    for content in contents:
        findings += _misplaced(state, content)
        findings += _slot_statistics(content)
    findings += _overdue(state, contents, settled=settled)
    return findings


def _cell_findings(state: TableState, contents: Sequence[FileContent], unread: Sequence[FileFact]) -> Iterator[Finding]:
    found: dict[CellAt, Cell] = {}
    for content in contents:
        for at, cell in content.cells.items():
            if state.watermark is None or at[1] > state.watermark:
                found[at] = found[at].plus(cell) if at in found else cell
    expected = state.ledger.cells()
    suspects = _Suspects(contents, unread)
    for at in sorted(found.keys() | expected.keys()):
        there, known = found.get(at, Cell(0, 0)), expected.get(at, Cell(0, 0))
        if there != known:
            yield _cell_finding(state.definition.axis, at, known, there, suspects.of(at, lost=there.rows < known.rows))


def _cell_finding(axis: TimeAxis, at: CellAt, known: Cell, there: Cell, paths: Sequence[str]) -> Finding:
    cell = f"the cell of slot {axis.name(at[0])} that expires in slot {axis.name(at[1])}"
    where = _listed(paths)
    expected: int | str = known.rows
    found: int | str = there.rows
    if there.rows < known.rows:
        kind, what = Flaw.LOST, f"{known.rows - there.rows} of {known.rows} records are gone from {cell}"
    elif there.rows > known.rows:
        kind, what = Flaw.DOUBLED, f"{counted(there.rows, 'record')} in {cell}, not {known.rows:,}"
    else:
        kind, what = Flaw.CHANGED, f"not what was stored: the {counted(known.rows, 'record')} of {cell}"
        expected, found = f"{known.hash:016x}", f"{there.hash:016x}"
    path = paths[0] if paths else None
    return Finding(kind, f"{what}{where}", at, path, expected, found, (at[0], at[0]))


class _Suspects:
    """The files that may be to blame for a cell: unread ones, else those whose count is off, else all that hold it."""

    def __init__(self, contents: Sequence[FileContent], unread: Sequence[FileFact]) -> None:
        self._unread = unread
        self._holders: dict[CellAt, list[FileContent]] = defaultdict(list)
        for content in contents:
            for at in content.cells:
                self._holders[at].append(content)
        self._miscounted = [content.fact for content in contents if content.rows != content.fact.rows]

    def of(self, at: CellAt, *, lost: bool) -> list[str]:
        if lost:
            for facts in (self._unread, self._miscounted):
                if paths := [fact.path for fact in facts if _covers(fact, at)]:
                    return sorted(paths)
        holders = self._holders.get(at, [])
        off = [content for content in holders if content.rows != content.fact.rows]
        return sorted(content.fact.path for content in off or holders)


def _covers(fact: FileFact, at: CellAt) -> bool:
    return fact.ins_min <= at[0] <= fact.ins_max and fact.exp_min <= at[1] <= fact.exp_max


def _misplaced(state: TableState, content: FileContent) -> Iterator[Finding]:
    fact, axis = content.fact, state.definition.axis
    layout = state.definition.generation(fact.generation).layout
    for at, cell in sorted(content.cells.items()):
        belongs = (fact.generation, layout.row_of(at[0]), layout.column_of(at[1]))
        record = state.ledger.records.get(at[0])
        alive = state.watermark is None or at[1] > state.watermark
        if belongs == fact.subindex and alive and record is not None and record.generation != fact.generation:
            belongs = (record.generation, *belongs[1:])
        if belongs != fact.subindex:
            yield Finding(
                Flaw.MISPLACED,
                f"in sub-index {fact.subindex} instead of {belongs}: {counted(cell.rows, 'record')} of slot "
                f"{axis.name(at[0])}, expiring in slot {axis.name(at[1])}: {fact.path}",
                at,
                fact.path,
                str(belongs),
                str(fact.subindex),
                hit_range(fact),
            )


def _slot_statistics(content: FileContent) -> Iterator[Finding]:
    fact = content.fact
    if not content.cells:
        return
    slots, expirations = [at[0] for at in content.cells], [at[1] for at in content.cells]
    pairs = {
        "ins_slot": ((fact.ins_min, fact.ins_max), (min(slots), max(slots))),
        "exp_slot": ((fact.exp_min, fact.exp_max), (min(expirations), max(expirations))),
    }
    for column, (said, real) in pairs.items():
        if said != real:
            narrower = said[0] > real[0] or said[1] < real[1]
            yield Finding(
                Flaw.STATISTICS,
                f"the log says {column} is from {said[0]} to {said[1]}, it is from {real[0]} to {real[1]}: {fact.path}"
                + ("; records outside are not found" if narrower else ""),
                None,
                fact.path,
                f"{real[0]}..{real[1]}",
                f"{said[0]}..{said[1]}",
            )


def _overdue(state: TableState, contents: Sequence[FileContent], *, settled: bool) -> Iterator[Finding]:
    watermark = state.watermark
    if watermark is None:
        return
    for subindex, members in _by_subindex(contents):
        dead = {one.fact.path: _dead_rows(one, watermark) for one in members}
        rows = sum(one.rows for one in members)
        share = sum(dead.values()) / rows if rows else 0.0
        beyond = _is_beyond(state.definition.generation(subindex[0]), share, settled=settled)
        for one in members:
            gone = dead[one.fact.path]
            if gone and (beyond or gone == one.rows):
                yield Finding(
                    Flaw.OVERDUE,
                    f"{gone} of {one.rows} records in {one.fact.path} expired by slot "
                    f"{state.definition.axis.name(watermark)} and should have left sub-index {subindex}",
                    min(at for at in one.cells if at[1] <= watermark),
                    one.fact.path,
                    0,
                    gone,
                )


def _by_subindex(contents: Sequence[FileContent]) -> list[tuple[SubIndex, list[FileContent]]]:
    groups: dict[SubIndex, list[FileContent]] = defaultdict(list)
    for content in contents:
        groups[content.fact.subindex].append(content)
    return sorted(groups.items())


def _is_beyond(generation: Generation, dead_share: float, *, settled: bool) -> bool:
    """Tell whether a sub-index may not keep expired rows: only no_rebuild may, up to its dead share."""
    keeps = generation.strategy is Strategy.NO_REBUILD
    return not keeps or (settled and dead_share > generation.dead_share_max)


def _dead_rows(content: FileContent, watermark: int) -> int:
    return sum(cell.rows for at, cell in content.cells.items() if at[1] <= watermark)


def file_list_findings(files: Iterable[FileFact], attempts: Iterable[str]) -> list[Finding]:
    """Yield files that are listed twice, or that no committed attempt wrote."""
    known, findings = set(attempts), []
    for path, times in Counter(file.path for file in files).items():
        if times > 1:
            findings.append(Finding(Flaw.DOUBLED, f"{path} is in the log {times} times", None, path, 1, times))
    for file in files:
        # A folder's name is an attempt and a number.
        if file.folder.rpartition("-")[0] not in known:
            message = f"no commit of tidewheel wrote {file.path}, which is in the table"
            findings.append(Finding(Flaw.FOREIGN, message, None, file.path, slots=hit_range(file)))
    return findings


def _listed(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    more = f" and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else ""
    return f": {', '.join(paths[:PATHS_SHOWN])}{more}"
