"""A small archive with every kind of file, and every way to damage one of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of, random_batch
from tidewheel.indexing.core.oracle import Record
from tidewheel.jobs.audit.compare import AuditReport, audit
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import fold_into_ledger

SPAN = 4
WAYS = ("removed", "emptied", "halved", "cut", "flipped", "older")
KINDS = {
    "data": re.compile(r"run-.*/[^.][^/]*\.parquet"),  # of the newest version, or taken out and waiting for grace
    "checksum": re.compile(r".*/\.[^/]*\.crc"),
    "log entry": re.compile(r"_delta_log/\d+\.json"),
    "checkpoint": re.compile(r"_delta_log/\d+\.checkpoint\.parquet"),
    "last checkpoint": re.compile(r"(.*/)?_last_checkpoint"),
    "ledger": re.compile(r"_tidewheel/ledger/.*"),
    "quarantine": re.compile(r"_tidewheel/quarantine/.*"),
}


@dataclass(frozen=True)
class Damage:
    """One file, damaged in one way."""

    path: str
    way: str

    @property
    def kind(self) -> str:
        return next(kind for kind, pattern in KINDS.items() if pattern.fullmatch(self.path))

    def do(self, root: Path, seed: int) -> bool:
        """Damage the file; False if the way changes nothing of it."""
        path = root / self.path
        whole = path.read_bytes()
        changed = self._changed(whole, path, random.Random(f"{seed} {self}"))
        if changed == whole:
            return False
        if changed is None:
            path.unlink()
        else:
            path.write_bytes(changed)
        return True

    def _changed(self, whole: bytes, path: Path, chance: random.Random) -> bytes | None:
        if self.way == "removed":
            return None
        if self.way == "emptied":
            return b""
        if self.way == "halved":
            return whole[: len(whole) // 2]
        if self.way == "cut":
            # The last line of a text, the last bytes of anything else.
            return whole[: whole.rstrip(b"\n").rfind(b"\n") + 1] if path.suffix == ".json" else whole[:-20]
        if self.way == "flipped":
            at = chance.randrange(len(whole))
            return whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :]
        return _older(path)


def _older(path: Path) -> bytes:
    """The file of the same kind that was written before it; the same bytes if it is the first."""
    pattern = "*.parquet" if path.suffix == ".parquet" else f"*{path.suffix}"
    folder = path.parents[3] if path.parent.name.startswith("e=") else path.parent
    kin = sorted(
        (one for one in folder.parent.rglob(pattern) if one.parent.name == path.parent.name),
        key=lambda one: (one.stat().st_mtime_ns, one.name),
    )
    at = kin.index(path) if path in kin else 0
    return kin[max(0, at - 1)].read_bytes()


def built(folder: Path) -> SmallArchive:
    """Slots 0 to 5 in four commits, one record in quarantine; ledger and checkpoint at versions 2 and 3."""
    chance = random.Random(3)
    archive = SmallArchive(folder, generation_of(span=SPAN), SPAN).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in range(3)})
    for slot in (3, 4):
        records = random_batch(chance, slot, SPAN)
        archive.write(slot, [*records, Record(slot, 200, "too long", 1)])
        update(archive.job, [slot], confirmed=EVERYTHING)
        archive.oracle.update({slot: records})
        fold_into_ledger(archive.snapshot(), every=1)
        archive.snapshot().table.create_checkpoint()
    archive.update({5: random_batch(chance, 5, SPAN)})
    archive.write(6, batch_of_six())
    return archive


def batch_of_six() -> list[Record]:
    """What the source has for the slot that comes next."""
    return random_batch(random.Random(6), 6, SPAN)


def damages(archive: SmallArchive) -> Iterator[Damage]:
    root = Path(archive.job.location.uri)
    for path in sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()):
        yield from (Damage(path, way) for way in WAYS)


def bring_back(archive: SmallArchive, report: AuditReport) -> AuditReport:
    """Do what the remedy says; its slots in one commit."""
    match = re.fullmatch(r"tidewheel backfill small\.toml --from (\S+) --to (\S+) --each (\d+)", report.remedy)
    assert match is not None, report.remedy
    slots = [slot for slot in range(-1, 10) if match[1] <= archive.axis.name(slot) < match[2]]
    assert len(slots) == int(match[3])
    update(archive.job, slots, confirmed=EVERYTHING)
    return audit(archive.job, deep=False)
