"""Write the old archives, with the program that is installed: `python -m tests.old_archives.make FOLDER [NAME...]`.

The packed ones beside this file were written by the program of commit 548f668, the first whose archives people may
have. They are never written anew: later programs must read, mend and write them as they are. An archive of a later
format gets fixtures of its own.
"""

from __future__ import annotations

import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.old_archives.contents import (
    EPOCH,
    INTERVAL,
    KINDS,
    OLD_ARCHIVES,
    SLOT_CORRECTED,
    SLOT_LAST,
    SLOTS_READY,
    SPAN,
    STRATEGIES,
    OldArchive,
)
from tidewheel.archive import Archive
from tidewheel.indexing.core.layouts import LayoutKind, Strategy
from tidewheel.resolve import resolve

FORGOTTEN_THROUGH = 7
VACUUM_DELAY_US = 2 * 3600 * 1_000_000
_FILE = """\
[archive]
name = "{name}"
path = "table"
key = [{key}]
inserted_at = "ins"
expires_at = "until"
clock = "data"

[time]
interval = "1m"
max_lifetime = "{span}m"

[layout]
kind = "{kind}"
insertion_classes = {g}
expiration_classes = {e}
strategy = "{strategy}"

[source]
path = "batches/{{slot}}.parquet"
format = "parquet"
schema = "{schema}"

[retention]
grace = "1h"
vacuum_period = "1h"
"""


def make(one: OldArchive, folder: Path) -> None:
    """One archive below a folder: its file, its batches, its table, and a file of what is alive."""
    place = folder / one.name
    (place / "batches").mkdir(parents=True)
    batches = {slot: one.rows(slot) for slot in (*range(SLOT_LAST + 1), *SLOTS_READY)}
    for slot, rows in batches.items():
        pq.write_table(pa.Table.from_pylist(rows, one.schema), place / "batches" / f"{slot}.parquet")
    _write_file(one, place, one.number)
    archive = _opened(place)
    archive.create()
    archive.update(_at(0), _at(3), **_CONFIRMED)
    for slot in range(3, FORGOTTEN_THROUGH + 1):
        archive.update(_at(slot), **_CONFIRMED)
    archive.forget([one.forgotten_text])
    _write_file(one, place, one.number + 1)
    archive = _opened(place)
    archive.migrate(rebuild=one.relocates)
    archive.update(_at(8), **_CONFIRMED)
    batches[SLOT_CORRECTED] = one.rows(SLOT_CORRECTED, edition=1)
    corrected = pa.Table.from_pylist(batches[SLOT_CORRECTED], one.schema)
    pq.write_table(corrected, place / "batches" / f"{SLOT_CORRECTED}.parquet")
    archive.update(_at(SLOT_CORRECTED), **_CONFIRMED)
    archive.update(_at(SLOT_LAST), **_CONFIRMED)
    if one.number % 2 == 0:
        later = time.time_ns() // 1000 + VACUUM_DELAY_US
        Archive(resolve(str(place / "archive.toml")), clock=lambda: later).vacuum()
    applied = {slot: batches[slot] for slot in range(SLOT_LAST + 1)}
    alive = one.alive(applied, SLOT_LAST, FORGOTTEN_THROUGH)
    pq.write_table(pa.Table.from_pylist(alive, one.schema.append(pa.field("ins_slot", pa.int64()))),
                   place / "alive.parquet")  # fmt: skip


_CONFIRMED: dict[str, Any] = {"allow_future": True, "allow_jump": True, "allow_shrink": True}


def _opened(place: Path) -> Archive:
    return Archive(resolve(str(place / "archive.toml")))


def _at(slot: int) -> str:
    return (EPOCH + slot * INTERVAL).isoformat().replace("+00:00", "Z")


def _write_file(one: OldArchive, place: Path, number: int) -> None:
    """The archive file, with the layout and the strategy of a number."""
    kind = KINDS[number % len(KINDS)]
    g, e = {"wave_by_insertion": (3, 1), "wave_by_expiration": (1, 3)}.get(kind, (2, 2))
    text = _FILE.format(
        name=one.name,
        key=", ".join(f'"{name}"' for name in one.key_columns),
        span=SPAN,
        kind=LayoutKind(kind).value,
        g=g,
        e=e,
        strategy=Strategy(STRATEGIES[number % len(STRATEGIES)]).value,
        schema=one.schema_text,
    )
    (place / "archive.toml").write_text(text, encoding="utf-8")


def pack(place: Path, into: Path) -> None:
    """An archive's folder as one file; the moments of its files are part of it."""
    with tarfile.open(into, "w:xz", preset=9) as packed:
        packed.add(place, place.name, filter=_without_owner)


def _without_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0])
    for name in arguments[1:] or OLD_ARCHIVES:
        make(OLD_ARCHIVES[name], folder)
        pack(folder / name, folder / f"{name}.tar.xz")
        print(name, (folder / f"{name}.tar.xz").stat().st_size, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
