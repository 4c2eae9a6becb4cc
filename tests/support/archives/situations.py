"""Archives in the situations that an operator must tell apart, each made of a file and of batches fed without Spark.

Slots are hours that begin at a minute of their own, such that half of one is over: an hour that ends while a test asks
would make another situation. Hours are named by how long before that one they start. Each batch is committed five
minutes after its hour, unless a situation says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.archives.feeding import create, feed
from tests.support.archives.columns import column
from tidewheel.archive import Archive
from tidewheel.commits.clock import now_us
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.hands import archive_job
from tidewheel.indexing.core.slots import TimeAxis, iso, moment
from tidewheel.resolve import read_archive_file, resolve
from tidewheel.storage.location import Location

HOUR_US, MINUTE_US = 3_600_000_000, 60_000_000
FIELDS = [column("k", "string"), column("t", "timestamp"), column("v", "long")]
FILE = """
[archive]
name = "{name}"
path = "{path}"
key = ["k"]
inserted_at = "t"
expires_at = "t + interval 2 days"
[time]
interval = "1h"
epoch = 1970-01-01T00:{minute:02}:00Z
max_lifetime = "3d"
[layout]
expiration_classes = 2
[source]
path = "../source/{name}/{{slot}}.json"
format = "json"
schema = "k string, t timestamp, v bigint"
[retention]
grace = "6h"
vacuum_period = "{vacuum_period}"
[schedule]
cron = "{minute} * * * *"
{schedule}
"""
QUERY = """
[[query]]
name = "{name}_total"
of = "{name}"
select = "sum(v) as total"
group_by = ["k"]
window = "2h"
slide = "1h"
keep = "3d"
"""


@dataclass(frozen=True)
class Situations:
    """`archives/`, `tables/` and `source/` in a folder."""

    folder: Path
    now_us: int  # where the hour began that is under way
    store: str = "../tables"  # where the tables lie
    names: list[str] = field(default_factory=list)

    @staticmethod
    def in_folder(folder: Path, store: str = "../tables") -> Situations:
        began_us = now_us() - HOUR_US // 2
        return Situations(folder, began_us - began_us % MINUTE_US, store)

    def path(self, name: str) -> Path:
        return self.folder / "archives" / f"{name}.toml"

    def write(
        self, name: str, *, freshness: str = "2h", since: int | None = None, vacuum_period: str = "6h", path: str = ""
    ) -> Path:
        """The file of an archive; its schedule makes up for what it missed `since` so many hours ago, or never."""
        lines = [f'freshness = "{freshness}"'] if freshness else []
        if since is None:
            lines.append("catchup = false")
        else:
            lines.append(f"start = {iso(self.now_us - since * HOUR_US)}")
        written = self.path(name)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(
            FILE.format(
                name=name,
                path=path or f"{self.store}/{name}",
                vacuum_period=vacuum_period,
                minute=self.now_us // MINUTE_US % 60,
                schedule="\n".join(lines),
            )
        )
        self.names.append(name)
        return written

    def feed(self, name: str, hours: Iterable[int], committed_us: int | None = None) -> None:
        """The batches of some hours, in this order, one commit each."""
        file = read_archive_file(self.path(name))
        for hour in hours:
            start_us = self.now_us - hour * HOUR_US
            at_us = start_us + HOUR_US + 5 * MINUTE_US if committed_us is None else committed_us
            job = archive_job(Location.of(file.path), clock=lambda at_us=at_us: at_us)  # type: ignore[misc]
            if not job.location.has_log():
                create(job, FIELDS, file.definition("salt"))
            slot = file.axis.slot_of(start_us)
            feed(job, [slot], rows(file.axis, slot))

    def land(self, name: str, hours: Collection[int]) -> None:
        """The files that the source of an archive waits for."""
        folder = self.folder / "source" / name
        folder.mkdir(parents=True, exist_ok=True)
        axis = read_archive_file(self.path(name)).axis
        for hour in hours:
            (folder / f"{axis.slot_of(self.now_us - hour * HOUR_US)}.json").touch()

    def ask(self, name: str) -> None:
        """A standing query of an archive, and its answers so far."""
        folder = self.folder / "archives" / "queries"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.toml").write_text(QUERY.format(name=name))
        self.opened(name).queries.refresh()

    def opened(self, name: str, at_us: int | None = None) -> Archive:
        clock: Callable[[], int] | None = None if at_us is None else lambda: at_us
        return Archive(resolve(self.path(name)), clock=clock)


def rows(axis: TimeAxis, slot: int, lives_us: int = 48 * HOUR_US) -> pa.Table:
    """Three records of a slot, that live for so long."""
    keys, times, start_us = ["a", "b", "c"], pa.timestamp("us", "UTC"), axis.start_us(slot)
    until_us = start_us + lives_us + 1
    return pa.table(
        {
            "k": pa.array(keys),
            "t": pa.array([start_us + 1] * 3, times),
            "v": pa.array([1, 2, 3], pa.int64()),
            "ins_slot": pa.array([slot] * 3, pa.int64()),
            "exp_slot": pa.array([axis.expiration_slot_of(until_us)] * 3, pa.int64()),
            "valid_until": pa.array([until_us] * 3, times),
            "row_hash": pa.array([hash((slot, key)) % (1 << 62) for key in keys], pa.int64()),
        }
    )


def fresh(one: Situations, name: str) -> None:
    one.write(name)
    one.feed(name, (3, 2, 1))


def late(one: Situations, name: str) -> None:
    """Nothing made up for, and expiry went on without batches."""
    one.write(name)
    one.feed(name, (8, 7, 6))
    one.land(name, range(1, 6))
    one.opened(name).expire(iso(one.now_us - 2 * HOUR_US))


def dead_source(one: Situations, name: str) -> None:
    one.write(name, since=9)
    one.feed(name, (8, 7, 6))


def catching_up(one: Situations, name: str) -> None:
    one.write(name, since=30)
    one.land(name, range(1, 31))
    for hour in range(30, 20, -1):
        one.feed(name, [hour], committed_us=one.now_us - hour * MINUTE_US)


def waiting_in_source(one: Situations, name: str) -> None:
    """Three runs are not over yet, and a vacuum period is."""
    one.write(name, freshness="", since=9, vacuum_period="30m")
    one.feed(name, (5, 4, 3))
    one.opened(name, one.now_us - 1).expire(iso(one.now_us - 2 * HOUR_US))


def gap(one: Situations, name: str) -> None:
    one.write(name, since=9)
    one.land(name, range(1, 10))
    one.feed(name, (9, 8, 7, 6, 4, 3, 2, 1))


def quarantine(one: Situations, name: str) -> None:
    """Two records of the newest hour were set aside."""
    fresh(one, name)
    archive = one.opened(name)
    [(_, receipt)] = archive.history(1)
    slot, attempt = receipt.slots[0].slot, receipt.attempt
    place = QUARANTINE.location(archive.location)
    if place.is_local:
        Path(place.uri).mkdir(parents=True)
    row = {"slot": slot, "attempt": attempt, "rule": "null_key", "quarantined_at": moment(receipt.committed_us)}
    table = pa.Table.from_pylist([{**row, "record": "{}"}] * 2)
    write_deltalake(place.delta_uri, table, storage_options=place.storage_options)


def unreachable_store(one: Situations, name: str) -> None:
    one.write(name, path="s3a://nowhere/table")


def broken_file(one: Situations, name: str) -> None:
    path = one.write(name)
    path.write_text(path.read_text().replace('"1h"', '"1x"'))


def failing_refresh(one: Situations, name: str) -> None:
    """Nothing is forgotten; answers stay behind what was applied."""
    one.write(name)
    one.feed(name, (9, 8, 7, 6))
    one.ask(name)
    one.feed(name, (5, 4, 3, 2, 1))


def erasure_overdue(one: Situations, name: str) -> None:
    one.write(name, vacuum_period="30m")
    one.feed(name, (3, 2, 1))
    one.ask(name)
    one.opened(name, one.now_us - 31 * MINUTE_US).forget(keys=[["a"]])


Make = Callable[[Situations, str], None]
# How each is made, the word that all must say of it, and whether the task `watch` fails.
SITUATIONS: Mapping[str, tuple[Make, str, bool]] = {
    "fresh": (fresh, "healthy", False),
    "late": (late, "late", True),
    "paused": (late, "late", True),
    "dead_source": (dead_source, "late", True),
    "catching_up": (catching_up, "catching up", False),
    "waiting_in_source": (waiting_in_source, "waiting", False),
    "gap": (gap, "late", True),
    "quarantine": (quarantine, "healthy", False),
    "unreachable_store": (unreachable_store, "unreadable", True),
    "broken_file": (broken_file, "unreadable", True),
    "failing_refresh": (failing_refresh, "late", True),
    "erasure_overdue": (erasure_overdue, "overdue", True),
}
