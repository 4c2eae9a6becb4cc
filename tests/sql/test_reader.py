"""Every read against a list in memory: the rows whose key matches and whose valid_until is after the moment."""

import random
import string
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from deltalake import Field

from tests.support.archives.built_table import HOUR_US, BuiltTable, alive, cells_of
from tests.support.archives.columns import column
from tests.support.archives.stored_cells import cells_by_file, live_cells, stored_cells
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.questions import Probe, Query, Range, Scan
from tidewheel.sql.reader import Reader

NASTY = (
    "",
    "'",
    '"',
    "a'b\"c",
    "line\nbreak",
    "tab\t",
    "é",
    "\U0001f600",
    "z" * 90,
    "ä'; DROP TABLE x; --",
    "NULL",
    "%_",
)
START = datetime(2020, 1, 1, tzinfo=UTC)

# How a value of each type is drawn: few enough that keys repeat, and both ends of the type's range are met.
DRAWN = {
    "string": lambda chance: chance.choice([*NASTY, *string.ascii_lowercase]),
    "long": lambda chance: chance.choice([-(2**63), 2**63 - 1, *range(-15, 15)]),
    "short": lambda chance: chance.randint(-20, 20),
    "double": lambda chance: chance.choice([float("inf"), -0.5, 1e300, *range(20)]) * 1.0,
    "date": lambda chance: date(2020, 1, 1) + timedelta(days=chance.randint(-20, 20)),
    "timestamp": lambda chance: START + timedelta(microseconds=chance.randint(-2000, 2000)),
    "decimal(20,3)": lambda chance: Decimal(chance.randint(-20_000, 20_000)).scaleb(-3).quantize(Decimal("0.001")),
    "boolean": lambda chance: chance.random() < 0.5,
    "binary": lambda chance: bytes([chance.randint(0, 20)]),
}
KEYS = [
    ("string",),
    ("long",),
    ("short",),
    ("double",),
    ("date",),
    ("timestamp",),
    ("decimal(20,3)",),
    ("boolean",),
    ("binary",),
    ("string", "long"),
    ("date", "string", "timestamp"),
]


def build(place, key_types, seed, rows=240, **options):
    """Three commits of random rows in small files, a column added between the second and the third."""
    chance = random.Random(seed)
    fields = [Field(f"key {i}", kind, nullable=False) for i, kind in enumerate(key_types)]
    body = [
        column("text", "string"),
        column("number", "double"),
        column("amount", "decimal(12,2)"),
        column("day", "date"),
    ]
    key = [field.name for field in fields]
    table = BuiltTable.create(place, fields + body, key, row_group_rows=8, file_rows_max=25, classes=(2, 3), **options)
    for slot in range(3):
        if slot == 2:
            table.widen(column("added", "string"))
        table.append([_row(table, chance, key_types, slot) for _ in range(rows // 3)], watermark=slot)
    return table


def _row(table, chance, key_types, slot):
    values = {f"key {i}": DRAWN[kind](chance) for i, kind in enumerate(key_types)}
    if chance.random() < 0.8:
        values["text"] = chance.choice(NASTY)
    if chance.random() < 0.8:
        values |= {
            "number": chance.random(),
            "amount": Decimal(chance.randint(-9999, 9999)).scaleb(-2),
            "day": date(2021, 1, chance.randint(1, 31)),
        }
    if slot == 2:
        values["added"] = chance.choice([None, "new"])
    return table.row(slot, (slot + 1) * HOUR_US + chance.randint(1, 8 * HOUR_US), **values)


def expected(table, names, rows):
    return Counter(tuple(moment(row[n]) if n == "valid_until" else row.get(n) for n in names) for row in rows)


def found(result):
    return Counter(result.rows())


@pytest.fixture(scope="module", params=KEYS, ids=" ".join)
def case(request, tmp_path_factory):
    # A root that would be a pattern, a quote and a URL escape elsewhere.
    place = tmp_path_factory.mktemp("it's [a] # place")
    table = build(place / "archive", request.param, seed=str(request.param))
    with Reader.open(place / "archive", now_us=lambda: 0) as reader:
        yield table, reader, request.param, random.Random(7)


def _names(table):
    return [field.name for field in table.fields]


def _moments(chance):
    return [None, 3 * HOUR_US, 3 * HOUR_US + chance.randint(1, 7 * HOUR_US), 50 * HOUR_US]


def test_probes(case):
    table, reader, kinds, chance = case
    key = [f"key {i}" for i in range(len(kinds))]
    for _ in range(20):
        length = chance.randint(1, len(key))
        values = tuple(DRAWN[kind](chance) for kind in kinds[:length])
        at = chance.choice(_moments(chance))
        rows = [row for row in alive(table.rows, at or 3 * HOUR_US) if tuple(row[n] for n in key[:length]) == values]
        asked = values[0] if length == 1 and chance.random() < 0.5 else values
        assert found(reader.probe(asked, as_of_us=at)) == expected(table, _names(table), rows)


def test_ranges(case):
    table, reader, kinds, chance = case
    key = [f"key {i}" for i in range(len(kinds))]
    for _ in range(20):
        low, high = (tuple(DRAWN[kind](chance) for kind in kinds[: chance.randint(0, len(key))]) for _ in "ab")
        if chance.random() < 0.3 and low and high:
            high = (low[0], *high[1:])
        at = chance.choice(_moments(chance))
        rows = [
            row
            for row in alive(table.rows, at or 3 * HOUR_US)
            if (not low or tuple(row[n] for n in key[: len(low)]) >= low)
            and (not high or tuple(row[n] for n in key[: len(high)]) < high)
        ]
        names = ["valid_until", *key, "added"]
        result = reader.probe_range(low or None, high or None, as_of_us=at, columns=names)
        assert result.columns == tuple(names)
        assert found(result) == expected(table, names, rows)


def test_scans(case):
    table, reader, _, chance = case
    for at in _moments(chance):
        rows = alive(table.rows, at or 3 * HOUR_US)
        assert found(reader.scan(as_of_us=at)) == expected(table, _names(table), rows)
        some = [row for row in rows if row["number"] is not None and row["number"] > 0.5]
        names = ["ins_slot", "row_hash", "amount"]
        result = reader.scan("number > 0.5 -- half of them", names, as_of_us=at)
        assert found(result) == expected(table, names, some)


def test_ad_hoc_sql(case):
    table, reader, _, _ = case
    rows = alive(table.rows, 3 * HOUR_US)
    assert reader.sql("select count(*), count(added) from live").rows() == [
        (len(rows), sum(row.get("added") is not None for row in rows))
    ]
    assert reader.sql("select * from live").columns == (*_names(table), "ins_slot", "exp_slot", "valid_until")


def test_cells(case):
    table, reader, _, _ = case
    assert live_cells(reader) == cells_of(alive(table.rows, 3 * HOUR_US))
    assert live_cells(reader, 5 * HOUR_US) == cells_of(alive(table.rows, 5 * HOUR_US))
    assert stored_cells(reader) == cells_of(table.rows)
    by_file = cells_by_file(reader)
    assert by_file == {path: cells_of(rows) for path, rows in table.rows_by_file.items()}


def test_connections(case):
    table, reader, kinds, chance = case
    row = chance.choice(alive(table.rows, 4 * HOUR_US))
    key = [row[f"key {i}"] for i in range(len(kinds))]
    matching = [r for r in alive(table.rows, 4 * HOUR_US) if [r[f"key {i}"] for i in range(len(kinds))] == key]
    with reader.connect(as_of_us=4 * HOUR_US) as connection:
        marks = ", ".join("?" for _ in key)
        assert connection.execute(f"select count(*) from probe({marks})", key).fetchall() == [(len(matching),)]
        total = connection.execute("select count(*) from probe_range(NULL, NULL)").fetchall()
        assert total == connection.execute("select count(*) from live").fetchall()
        # The caller's own tables can be joined.
        connection.execute("create table mine as select 1 as one")
        assert connection.execute("select one from mine, live limit 1").fetchall() == [(1,)]


def test_explanations(case):
    table, reader, kinds, chance = case
    row = chance.choice(alive(table.rows, 3 * HOUR_US))
    key = tuple(row[f"key {i}"] for i in range(len(kinds)))
    for question in (Probe(key), Range(key[0]), Scan("number > 0.5"), Query("select * from live")):
        told = reader.explain(question)
        access = told.access
        assert access.files_total == len(table.rows_by_file) == len(told.to_json()["files"])
        assert told.rows_found == len(reader.ask(question).rows())
        assert told.row_groups_read <= told.row_groups_total
        assert "read" in "\n".join(told.lines())
    told = reader.explain(Probe(key))
    assert 0 < told.row_groups_read <= told.row_groups_in_bounds <= told.row_groups_total
    expired = reader.explain(Probe(key), as_of_us=50 * HOUR_US)
    assert len(expired.access.expired) == expired.access.files_total
    assert expired.rows_found == 0


def test_files_outside_the_key_are_not_opened(tmp_path):
    table = BuiltTable.create(
        tmp_path, [column("key", "long")], ["key"], classes=(1, 1), file_rows_max=10, row_group_rows=5
    )
    table.append([table.row(0, 9 * HOUR_US, key=key) for key in range(100)], watermark=0)
    with Reader.open(tmp_path, now_us=lambda: 0) as reader:
        told = reader.explain(Probe(37))
        assert [len(told.access.read), len(told.access.outside_key)] == [1, 9]
        assert [told.row_groups_total, told.row_groups_in_bounds, told.row_groups_read] == [2, 1, 1]
        reasons = {file.path: reason for file, reason in told.access.reasons()}
        assert Counter(reasons.values())["may hold an answer"] == 1
        assert "holds the keys 40 to 49" in reasons.values()
        # Half-open: 40 is not asked for, so the file that starts there is not opened.
        assert len(reader.probe_range(30, 40).access.read) == 1
        # A Bloom filter rules out what the bounds admit.
        (tmp_path / "gaps").mkdir()
    gaps = BuiltTable.create(tmp_path / "gaps", [column("key", "long")], ["key"], classes=(1, 1), row_group_rows=500)
    gaps.append([gaps.row(0, 9 * HOUR_US, key=key * 1000) for key in range(500)], watermark=0)
    with Reader.open(tmp_path / "gaps", now_us=lambda: 0) as reader:
        told = reader.explain(Probe(1001))
        assert [told.row_groups_total, told.row_groups_read, len(told.access.without_key)] == [0, 0, 1]
        assert "does not hold the key, by its Bloom filters" in "\n".join(told.lines())
        assert reader.explain(Range(1001, 1002)).row_groups_in_bounds == 1


def test_an_empty_archive_has_columns_and_no_rows(tmp_path):
    BuiltTable.create(tmp_path, [column("key", "string"), column("price", "decimal(9,2)")], ["key"])
    with Reader.open(tmp_path, now_us=lambda: 5) as reader:
        results = [reader.probe("a"), reader.probe_range("a"), reader.scan(), reader.scan("price > 1")]
        for result in results:
            assert result.columns == ("key", "price")
            assert result.rows() == []
            assert str(result.schema.field("price").type) == "decimal128(9, 2)"
            assert result.as_of_us == 5
        assert reader.sql("select count(*) from live").rows() == [(0,)]
        assert live_cells(reader) == stored_cells(reader) == {}
        assert reader.connect().execute("select count(*) from live").fetchall() == [(0,)]
        assert reader.explain(Probe("a")).rows_found == 0


def test_the_clock_decides_what_now_means(tmp_path):
    for clock, count in ((Clock.WALL, 1), (Clock.DATA, 2)):
        table = BuiltTable.create(tmp_path / clock, [column("key", "string")], ["key"], clock=clock)
        table.append([table.row(0, end * HOUR_US, key="a") for end in (2, 9)], watermark=0)
        with Reader.open(tmp_path / clock, now_us=lambda: 5 * HOUR_US) as reader:
            assert len(reader.probe("a").rows()) == count
            assert reader.probe("a").as_of_us == (5 if clock is Clock.WALL else 1) * HOUR_US


@pytest.mark.parametrize("late", [0, 1])
def test_valid_until_is_exclusive_to_the_microsecond(tmp_path, late):
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    table.append([table.row(0, 2 * HOUR_US + 999, key="a")], watermark=0)
    with Reader.open(tmp_path, now_us=lambda: 0) as reader:
        at = 2 * HOUR_US + 998 + late
        for result in (reader.probe("a", as_of_us=at), reader.scan(as_of_us=at), reader.sql("from live", as_of_us=at)):
            assert len(result.rows()) == 1 - late


def test_key_text_is_read_as_the_columns_type(tmp_path):
    for kind, text, value in (
        ("long", "-5", -5),
        ("date", "2020-02-03", date(2020, 2, 3)),
        ("decimal(9,2)", "1.50", Decimal("1.5")),
        ("timestamp", "2020-01-01T00:00:00Z", START),
        ("boolean", "true", True),
        ("binary", "ab", b"ab"),
    ):
        table = BuiltTable.create(tmp_path / kind, [column("key", kind)], ["key"])
        table.append([table.row(0, 9 * HOUR_US, key=value)], watermark=0)
        with Reader.open(tmp_path / kind, now_us=lambda: 0) as reader:
            assert reader.probe(text).rows() == reader.probe(value).rows() == [(value,)]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("long", "ten"),
        ("long", 1.5),
        ("long", True),
        ("long", 2**63),
        ("string", 5),
        ("string", b"a"),
        ("string", None),
        ("string", ("a", "b")),
        ("string", ()),
        ("date", START),
        ("timestamp", datetime(2020, 1, 1)),
        ("timestamp", date(2020, 1, 1)),
        ("decimal(9,2)", Decimal("1.005")),
        ("string", "\ud800"),
    ],
)
def test_a_key_that_cannot_be_is_refused(tmp_path, kind, key):
    BuiltTable.create(tmp_path, [column("key", kind)], ["key"])
    with Reader.open(tmp_path, now_us=lambda: 0) as reader, pytest.raises(InvalidInput, match="key"):
        reader.probe(key)


def test_a_number_for_a_text_key_is_refused_in_words_of_its_column(tmp_path):
    BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    with Reader.open(tmp_path, now_us=lambda: 0) as reader, pytest.raises(InvalidInput) as refused:
        reader.probe(1)
    assert (
        refused.value.message
        == "1 cannot be a value of the key column key, which is of type string: a number is not text"
    )
    assert refused.value.remedy.startswith("give text")


def test_unknown_columns_are_named(tmp_path):
    BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    with Reader.open(tmp_path, now_us=lambda: 0) as reader:
        for columns in (["nope"], []):
            with pytest.raises(InvalidInput, match="known are key, ins_slot"):
                reader.probe("a", columns=columns)
        with pytest.raises(InvalidInput, match="nope"):
            reader.scan("nope = 1")


def test_a_scan_streams_and_does_not_mind_probes(tmp_path):
    table = BuiltTable.create(tmp_path, [column("key", "long")], ["key"])
    table.append([table.row(0, 9 * HOUR_US, key=key) for key in range(70_000)], watermark=0)
    with Reader.open(tmp_path, now_us=lambda: 0) as reader:
        batches = reader.scan().batches()
        rows = next(batches).num_rows
        assert rows < 70_000
        assert reader.probe(77).rows() == [(77,)]
        assert reader.sql("select max(key) from live").rows() == [(69_999,)]
        assert rows + sum(batch.num_rows for batch in batches) == 70_000
