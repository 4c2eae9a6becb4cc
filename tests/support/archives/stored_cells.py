"""Count and hash sum of every cell, read with DuckDB."""

from __future__ import annotations

from duckdb import DuckDBPyRelation

from tidewheel.indexing.core.cells import HASH_MODULUS, Cell
from tidewheel.sql.reader import Reader
from tidewheel.sql.session import Session

CellsAt = dict[tuple[int, int], Cell]


def live_cells(reader: Reader, as_of_us: int | None = None) -> CellsAt:
    """The cells of what is alive; its rows are known by their place in the files of the same version."""
    session = reader.session(as_of_us)
    return _cells(_stored(session).filter(f"valid_until > make_timestamptz({session.as_of_us})"))


def stored_cells(reader: Reader) -> CellsAt:
    return _cells(_stored(reader.session()))


def cells_by_file(reader: Reader) -> dict[str, CellsAt]:
    session = reader.session()
    (name,) = session.pinned
    return {file.path: _cells(session.stored(name, [file])) for file in session.only.files}


def _stored(session: Session) -> DuckDBPyRelation:
    (name,) = session.pinned
    return session.stored(name)


def _cells(records: DuckDBPyRelation) -> CellsAt:
    rows = records.aggregate("ins_slot, exp_slot, count(*), CAST(sum(row_hash) AS VARCHAR)").fetchall()
    return {(ins, exp): Cell(count, int(total) % HASH_MODULUS) for ins, exp, count, total in rows}
