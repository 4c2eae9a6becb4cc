"""A handle and the versions of the table: it follows, it stays, it goes back; and what is gone or damaged is named."""

import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable, alive
from tests.support.archives.columns import column
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.sql import reader as reader_module
from tidewheel.sql.read_faults import FileGone
from tidewheel.sql.reader import Reader
from tidewheel.storage.ledger_store import fold_into_ledger


@pytest.fixture
def table(tmp_path):
    """Slots 0 to 2, one update each; what has expired leaves with the files that hold nothing else."""
    table = BuiltTable.create(tmp_path / "archive", [column("key", "long")], ["key"], classes=(1, 4), file_rows_max=5)
    for slot in range(3):
        ends = [(slot + 1 + life) * HOUR_US - 7 for life in (1, 2, 3, 4)]
        fresh = [table.row(slot, end, key=10 * slot + i) for i, end in enumerate(ends)]
        expired = [path for path, rows in table.rows_by_file.items() if max(r["exp_slot"] for r in rows) <= slot]
        table.append(fresh, watermark=slot, removed=expired)
    return table


def open_reader(table, **options):
    return Reader.open(table.location, now_us=lambda: 0, **options)


def keys(result):
    return sorted(row[0] for row in result.rows())


def keys_alive(rows, as_of_us):
    return sorted(row["key"] for row in alive(rows, as_of_us))


def test_an_open_handle_follows_the_table(table):
    with open_reader(table) as reader:
        before = reader.scan()
        assert (before.version, before.as_of_us) == (3, 3 * HOUR_US)
        table.append([table.row(3, 9 * HOUR_US, key=77)], watermark=3)
        assert reader.probe(77).version == 4
        assert keys(reader.scan()) == keys_alive(table.rows, 4 * HOUR_US)
        assert not reader.refresh()
        # The stream that was open still answers for its own version.
        assert 77 not in keys(before)


def test_a_pinned_handle_stays(table):
    with open_reader(table, version=3) as reader:
        table.append([table.row(3, 9 * HOUR_US, key=77)], watermark=3)
        assert not reader.refresh()
        assert reader.probe(77).rows() == []
        assert reader.scan().version == 3
        with pytest.raises(InvalidInput, match=r"version 3 answers for moments from 1970-01-01T03:00:00Z on"):
            reader.scan(as_of_us=3 * HOUR_US - 1)


def test_following_costs_a_look_and_no_log(table, monkeypatch):
    with open_reader(table) as reader:
        reader.probe(1)
        monkeypatch.setattr(reader_module, "open_snapshot", None)
        assert reader.probe(20).version == 3


def test_a_handle_that_slept_through_a_log_cleaning_wakes_up(table):
    with open_reader(table) as reader:
        for slot in range(3, 6):
            table.append([table.row(slot, 20 * HOUR_US, key=slot)], watermark=slot)
        table.snapshot.table.create_checkpoint()
        for version in range(6):
            table.path(f"_delta_log/{version:020d}.json").unlink()
        assert reader.probe(5).version == 6


@pytest.mark.parametrize("folded", [False, True])
def test_time_travel_goes_by_watermark(table, folded):
    rows = {2: [], 3: list(table.rows)}
    if folded:
        assert fold_into_ledger(table.snapshot, every=1)
    with open_reader(table) as reader:
        assert keys(reader.scan(as_of_us=3 * HOUR_US)) == keys_alive(rows[3], 3 * HOUR_US)
        for at, version in ((3 * HOUR_US - 1, 2), (2 * HOUR_US, 2), (2 * HOUR_US - 1, 1), (HOUR_US, 1)):
            result = reader.scan(as_of_us=at)
            assert result.version == version
            # Slots 0 to version - 1 are applied; each has four records that live 1 to 4 slots.
            ends = {10 * s + i: (s + 2 + i) * HOUR_US - 7 for s in range(version) for i in range(4)}
            assert keys(result) == sorted(key for key, end in ends.items() if end > at)
            assert reader.probe(0, as_of_us=at).version == version
        assert reader.version == 3


def test_before_the_first_update_nothing_is_claimed(table):
    with (
        open_reader(table) as reader,
        pytest.raises(InvalidInput, match=r"no version .* answers for .*00:59:59\.999999Z"),
    ):
        reader.probe(0, as_of_us=HOUR_US - 1)


def test_a_version_whose_files_were_vacuumed_is_refused(table):
    with open_reader(table) as reader, open_reader(table, version=1) as pinned:
        stored = {fact.path for fact in table.snapshot.files}
        for file in table.path("").rglob("*.parquet"):
            if table.location.relative(str(file)) not in stored:
                file.unlink()
        for read in (
            lambda: reader.scan(as_of_us=HOUR_US),
            lambda: pinned.probe(0),
            lambda: pinned.sql("from live").rows(),
        ):
            with pytest.raises(InvalidInput, match=r"version 1 .* outlived the grace period"):
                read()
        assert keys(reader.scan()) == keys_alive(table.rows, 3 * HOUR_US)


def test_versions_that_never_were_or_were_cleaned_away(table):
    with pytest.raises(InvalidInput, match=r"version 99 .* does not exist"):
        open_reader(table, version=99)
    table.snapshot.table.create_checkpoint()
    for version in range(3):
        table.path(f"_delta_log/{version:020d}.json").unlink()
    with pytest.raises(InvalidInput, match=r"version 1 .* no longer in the log"):
        open_reader(table, version=1)


def test_a_vacuum_between_the_look_and_the_read_is_met_by_the_next_version(table, monkeypatch):
    with open_reader(table) as reader:
        old = list(table.rows_by_file)
        table.append([table.row(3, 9 * HOUR_US, key=77)], watermark=3, removed=old)
        for path in old:
            table.path(path).unlink()
        monkeypatch.setattr(Reader, "refresh", lambda self: False)
        assert reader.version == 3
        assert keys(reader.scan()) == [77]
        assert reader.version == 4


READS = {
    "probe": lambda reader: reader.probe(20),
    "range": lambda reader: reader.probe_range(20, 21),
    "scan": lambda reader: reader.scan().rows(),
    "sql": lambda reader: reader.sql("select max(key) from live").rows(),
    "stored": lambda reader: reader.session().stored("built").to_arrow_table(),
    "connect": lambda reader: reader.connect().execute("select key from live").fetchall(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_missing_file_is_named(table, read):
    victim = next(path for path, rows in table.rows_by_file.items() if any(row["key"] == 20 for row in rows))
    table.path(victim).unlink()
    with open_reader(table) as reader, pytest.raises(FileGone, match=f"{victim}.* is gone"):
        read(reader)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("kept", [0, 3, -1])
def test_a_file_cut_short_is_named(table, read, kept):
    victim = next(path for path, rows in table.rows_by_file.items() if any(row["key"] == 20 for row in rows))
    content = table.path(victim).read_bytes()
    table.path(victim).write_bytes(content[: kept if kept >= 0 else len(content) - 40])
    with open_reader(table) as reader, pytest.raises(Damaged, match=f"{victim}.*bytes, the log says {len(content)}"):
        read(reader)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_file_replaced_by_another_that_can_be_read_is_named(table, read):
    victim = next(path for path, rows in table.rows_by_file.items() if any(row["key"] == 20 for row in rows))
    size, rows = table.path(victim).stat().st_size, pq.read_table(table.path(victim), partitioning=None)
    with open_reader(table) as reader:
        read(reader)
        pq.write_table(pa.concat_tables([rows] * 100), table.path(victim), compression="none")
        with pytest.raises(Damaged, match=f"{victim}.*bytes, the log says {size}"):
            read(reader)


def test_a_file_overwritten_in_place_is_named(table):
    victim = next(path for path, rows in table.rows_by_file.items() if any(row["key"] == 20 for row in rows))
    table.path(victim).write_bytes(b"x" * table.path(victim).stat().st_size)
    with open_reader(table) as reader, pytest.raises(Damaged, match=f"{victim} cannot be read"):
        reader.probe(20)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *((f"{3:020d}.checkpoint.parquet", way) for way in ("removed", "emptied", "halved")),
        *((f"{2:020d}.json", way) for way in ("removed", "halved")),
        *((f"{3:020d}.json", way) for way in ("emptied", "halved")),
    ],
)
def test_a_file_of_the_log_that_keeps_it_from_being_opened_is_named(table, name, way):
    path = table.path(f"_delta_log/{name}")
    if "checkpoint" in name:
        table.snapshot.table.create_checkpoint()
    whole = path.read_bytes()
    if way == "removed":
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2 if way == "halved" else 0])
    with pytest.raises(Damaged, match=name):
        open_reader(table).scan().rows()
    if "checkpoint" in name:
        # The way out that the error names.
        path.unlink(missing_ok=True)
        path.with_name("_last_checkpoint").unlink()
        assert keys(open_reader(table).scan()) == keys_alive(table.rows, 3 * HOUR_US)


def _alter_log(table, change):
    """Rewrite the table's protocol or metadata behind its back."""
    entry = table.path(f"_delta_log/{0:020d}.json")
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        change(line)
    entry.write_text("\n".join(map(json.dumps, lines)) + "\n")


def _set(kind, **values):
    def change(line):
        if kind in line:
            line[kind].update(values)

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_set("protocol", minReaderVersion=2, minWriterVersion=5), "reader version 2"),
        (
            _set(
                "protocol",
                minReaderVersion=3,
                minWriterVersion=7,
                readerFeatures=["deletionVectors"],
                writerFeatures=["deletionVectors"],
            ),
            "deletionVectors",
        ),
        (
            _set(
                "protocol",
                minReaderVersion=3,
                minWriterVersion=7,
                readerFeatures=["fromTheFuture"],
                writerFeatures=["fromTheFuture"],
            ),
            "fromTheFuture",
        ),
        (_set("protocol", minReaderVersion=99), "99"),
        (_set("protocol", minWriterVersion=7, writerFeatures=["rowTracking"]), "rowTracking"),
        (_set("metaData", configuration={"delta.columnMapping.mode": "name"}), "columnMapping"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_unknown_features_are_refused(table, change, named):
    _alter_log(table, change)
    with pytest.raises((InvalidInput, Damaged), match=named):
        open_reader(table)


def _alter_definition(table, old, new):
    def change(line):
        for field in json.loads(line.get("metaData", {}).get("schemaString", '{"fields": []}'))["fields"]:
            if "tidewheel" in field["metadata"]:
                text = line["metaData"]["schemaString"]
                assert old in text
                line["metaData"]["schemaString"] = text.replace(old, new)

    _alter_log(table, change)


def test_a_newer_format_is_refused(table):
    _alter_definition(table, '\\"format_version\\": 1', '\\"format_version\\": 2')
    with pytest.raises(InvalidInput, match="format version 2"):
        open_reader(table)


@pytest.mark.parametrize(
    ("old", "new"), [("format_version", "format_versiom"), ('\\"interval_us\\": 3', '\\"interval_us\\": -3')]
)
def test_a_definition_that_never_was_is_damage(table, old, new):
    _alter_definition(table, old, new)
    with pytest.raises(Damaged, match="the definition in the Delta log"):
        open_reader(table)


def test_what_is_no_archive_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InvalidInput, match="no archive at"):
            Reader.open(place, now_us=lambda: 0)


def test_readers_and_a_writer_at_once(tmp_path):
    """Every answer is one whole version: each commit replaces all rows, so no mixture may ever be seen."""
    table = BuiltTable.create(tmp_path, [column("key", "long"), column("round", "long")], ["key"], classes=(1, 2))
    table.append([table.row(0, 30 * HOUR_US + i, key=i, round=0) for i in range(8)], watermark=0)
    faults, done = [], threading.Event()

    def read(reader, ask):
        while not done.is_set():
            rows = ask(reader).rows()
            if len(rows) != 8 or len({row[-1] for row in rows}) != 1:
                faults.append(rows)

    asks = (
        lambda reader: reader.probe_range(0, 99),
        lambda reader: reader.scan(columns=["key", "round"]),
        lambda reader: reader.sql("select key, round from live"),
    )
    with Reader.open(tmp_path, now_us=lambda: 0) as shared:
        threads = [threading.Thread(target=read, args=(shared, ask)) for ask in asks]
        for thread in threads:
            thread.start()
        for number in range(1, 8):
            rows = [table.row(0, 30 * HOUR_US + i, key=i, round=number) for i in range(8)]
            table.append(rows, watermark=0, removed=list(table.rows_by_file))
        done.set()
        for thread in threads:
            thread.join()
        assert not faults
        assert shared.probe(3).rows() == [(3, 7)]


def test_a_long_lived_handle_does_not_hoard_footers(table, monkeypatch):
    monkeypatch.setattr(reader_module, "FOOTERS_KEPT_MIN", 20)
    with open_reader(table) as reader:
        for slot in range(3, 23):
            table.append(
                [table.row(slot, (slot + 9) * HOUR_US, key=slot)], watermark=slot, removed=list(table.rows_by_file)
            )
            assert keys(reader.probe(slot)) == [slot]
            assert len(reader._footers) <= 21
        assert reader.probe(22).as_of_us == 23 * HOUR_US, iso(23 * HOUR_US)
