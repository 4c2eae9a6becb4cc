"""Partials and answers by their names: looked at like any archive, derived again by a deep audit, changed by nobody."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner, Result

import tidewheel
from tests.jobs.test_audit import rewrite
from tests.support.archives.asked_archive import asked_archive, copied_archive, events, told
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.derived import row_hashes
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.derived.put import PartRows, put, redefine
from tidewheel.local.derived.row_hashes import hashes_before, hashes_of
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.stored_queries import answered_queries
from tidewheel.storage.ledger_store import ledger_of

NAMES = ("m.partials", "m.answers")
# What would change an archive, and what is done to its source instead.
CHANGES = {
    "init": "",
    "update --slot 1970-01-01T00:09Z": "tidewheel update m, then ",
    "backfill --missing": "tidewheel backfill m, then ",
    "expire": "tidewheel expire m, then ",
    "migrate": "",
    "forget --key a,b --yes": "tidewheel forget m, then ",
    "undo --yes": "tidewheel undo m, then ",
    "refresh": "",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    asked_archive(folder)
    tidewheel.open(folder / "archives" / "m.toml").queries.refresh()
    return folder


@pytest.fixture
def archive(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    return copied_archive(built, tmp_path, monkeypatch)


def test_definitions_of_earlier_programs_say_the_same(archive: LocalArchive) -> None:
    """They have the queries unpacked; nothing is derived anew for that."""
    tidewheel.open("m").queries.refresh()  # as the copy lies elsewhere
    job, queries = derived_job(archive.job, "answers"), answered_queries(archive.job)
    said = json.loads(job.snapshot().definition.derived)
    plain = json.dumps({**said, "queries": [query.to_json() for query in queries]}, sort_keys=True)
    redefine(job, lambda before: plain, (), ledger_of(job.snapshot()).horizon)
    assert '"sum"' in job.snapshot().definition.derived
    assert answered_queries(archive.job) == queries != []
    version = job.snapshot().version
    tidewheel.open("m").queries.refresh()
    assert job.snapshot().version == version


def test_files_of_which_nothing_stays_are_not_read(archive: LocalArchive) -> None:
    job = derived_job(archive.job, "partials")
    snapshot = job.snapshot()
    keys = ledger_of(snapshot).batches.keys()
    rows = rows_of(job.location, snapshot.files, file_schema(snapshot)).to_table().drop_columns("exp_slot")
    again = put(job, PartRows(rows, dict.fromkeys(keys, ("again",))), snapshot.watermark)
    assert again.receipt is not None
    assert (again.receipt.files_removed, again.receipt.rows_read) == (len(snapshot.files), 0)
    slot, part = min(keys)
    mine = rows.filter((pc.field("ins_slot") == slot) & (pc.field("part") == part))
    once_more = put(job, PartRows(mine, {(slot, part): ("once more",)}), snapshot.watermark)
    assert once_more.receipt is not None
    assert once_more.receipt.rows_read > 0
    snapshot, by_hash = job.snapshot(), [("row_hash", "ascending")]
    stored = rows_of(job.location, snapshot.files, file_schema(snapshot)).to_table(columns=rows.column_names)
    assert stored.sort_by(by_hash).equals(rows.sort_by(by_hash))


def run(*command: str) -> Result:
    return CliRunner().invoke(main, command)


@pytest.mark.parametrize("name", NAMES)
def test_a_derived_archive_is_looked_at_by_its_name(name: str, archive: LocalArchive) -> None:
    assert told("status", name)["name"] == name
    assert [one["version"] for one in told("history", name)["history"]] == [1, 0]
    assert len(told("changes", name, "--since", "-1")["changes"]) == 2
    assert told("forecast", name, "--updates", "2")
    assert told("vacuum", name)
    assert told("audit", name, "--quick")["clean"]
    # A place works as well as a name.
    assert told("status", archive.job.location.uri + name[1:])["name"] == name


@pytest.mark.parametrize("name", NAMES)
def test_a_derived_archive_cannot_be_changed_by_itself(name: str, archive: LocalArchive) -> None:
    for command, first in CHANGES.items():
        words = command.split()
        for place in (name, archive.job.location.uri + name[1:]):
            done = run(words[0], place, *words[1:])
            assert done.exit_code == 2
            assert f"run: {first}tidewheel refresh m" in " ".join(done.output.split())
    assert told("status", name)["version"] == 1


def test_a_name_without_its_archive_is_unknown(archive: LocalArchive) -> None:
    with pytest.raises(InvalidInput, match=r"there is no archive n\.answers"):
        tidewheel.open("n.answers")


def test_the_status_names_the_queries_and_how_far_they_are_behind(archive: LocalArchive) -> None:
    assert {one["name"]: one["lag_us"] for one in told("status", "m")["queries"]} == {
        "total": 0, "by_key": 0, "alive": 0,
    }  # fmt: skip
    archive.update({7: events(7)})
    assert {one["lag_us"] for one in told("status", "m")["queries"]} == {2 * archive.axis.interval_us}
    assert "query total: answered through 1970-01-01T00:06Z, 2m behind the archive" in run("status", "m").output


def test_a_faulty_query_file_does_not_hide_the_status(archive: LocalArchive, tmp_path: Path) -> None:
    (tmp_path / "archives" / "queries" / "m.toml").write_text('[query]\nof = "m"\nselect = 5\nwindow = "1h"')
    done = run("status", "m")
    assert done.exit_code == 0
    assert "tidewheel query check m" in done.output


@pytest.mark.parametrize("name", NAMES)
def test_a_deep_audit_derives_again(name: str, archive: LocalArchive) -> None:
    assert told("audit", name)["clean"]
    archive.update({3: events(3)[:1]})  # stale is not damaged
    assert told("audit", name)["clean"]
    tidewheel.open("m").queries.refresh()
    assert told("audit", name)["clean"]


@pytest.mark.parametrize(("kind", "column"), [("answers", "v_bigint_0"), ("partials", "a_bigint_0")])
@pytest.mark.parametrize("covered_up", [False, True])
def test_a_changed_row_is_found(kind: str, column: str, covered_up: bool, archive: LocalArchive) -> None:
    """Also where its hash was made to fit: nothing but deriving again finds that."""

    def change(table: pa.Table) -> pa.Table:
        values = [None if one is None else one + 1 for one in table.column(column).to_pylist()]
        changed = table.set_column(table.schema.get_field_index(column), column, pa.array(values, pa.int64()))
        if not covered_up:
            return changed
        place = table.schema.get_field_index("row_hash")
        return changed.set_column(place, "row_hash", hashes_of(changed))

    snapshot = derived_job(archive.job, kind).snapshot()
    for fact in snapshot.files:
        rewrite(Path(snapshot.location.child(fact.path)), change)
    report = tidewheel.open(f"m.{kind}").audit(deep=True)
    messages = [one.message for one in report.findings]
    assert any("derived again" in one for one in messages)
    assert covered_up or any("not as stored" in one for one in messages)
    assert "tidewheel refresh m" in report.remedy


@pytest.mark.parametrize("values", [1, 12_000_000])  # slot by slot, and all slots at once
@pytest.mark.parametrize(("kind", "column"), [("answers", "v_bigint_0"), ("partials", "a_bigint_0")])
def test_the_batch_that_changed_is_named_and_no_other(
    kind: str, column: str, values: int, archive: LocalArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidewheel.local.partials.make.VALUES_TOGETHER", values)

    def change(table: pa.Table) -> pa.Table:
        told = zip(table.column(column).to_pylist(), table.column("ins_slot").to_pylist(), strict=True)
        changed = [value if value is None or slot != 3 else value + 1 for value, slot in told]
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, pa.array(changed, pa.int64()))
        return table.set_column(table.schema.get_field_index("row_hash"), "row_hash", hashes_of(table))

    snapshot = derived_job(archive.job, kind).snapshot()
    for fact in snapshot.files:
        rewrite(Path(snapshot.location.child(fact.path)), change)
    messages = [one.message for one in tidewheel.open(f"m.{kind}").audit(deep=True).findings]
    assert {one.split(" has ")[0].split(" at ")[1] for one in messages if "derived again" in one} == {
        archive.axis.name(3)
    }


def test_a_column_more_leaves_the_hashes_of_rows_as_they_are(archive: LocalArchive, tmp_path: Path) -> None:
    queries = tmp_path / "archives" / "queries" / "more.toml"
    queries.write_text('[query]\nof = "m"\nselect = "max(x) as x, min(k) as k"\nwindow = "2m"\nslide = "1m"')
    before = derived_job(archive.job, "answers").snapshot()
    tidewheel.open("m").queries.refresh()
    after = derived_job(archive.job, "answers").snapshot()
    assert len(after.columns) > len(before.columns)
    assert told("audit", "m.answers")["clean"]


def test_rows_of_earlier_programs_are_audited_by_the_hash_that_these_gave_them(archive: LocalArchive) -> None:
    def rehashed(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index("row_hash")
        return table.set_column(place, "row_hash", hashes_before(table))

    snapshot = derived_job(archive.job, "answers").snapshot()
    for fact in snapshot.files:
        rewrite(Path(snapshot.location.child(fact.path)), rehashed)
    messages = [one.message for one in tidewheel.open("m.answers").audit(deep=True).findings]
    assert messages  # the ledger's sums are of other hashes; no row is found changed
    assert not any("not as stored" in one for one in messages)


VALUES = [
    (pa.int64(), [0, 1, -1, 2**62]),
    (pa.bool_(), [True, False]),
    (pa.float64(), [0.0, -0.0, 1.0, math.inf, math.nan]),
    (pa.string(), ["", "a", "ab", "ba", "a\0", "\0a"]),
    (pa.binary(), [b"", b"\0", b"\0\0"]),
    (pa.decimal128(38, 0), [Decimal(0), Decimal(1), Decimal(-1), Decimal(2**64), Decimal(2**64 + 1)]),
    (pa.timestamp("us", "UTC"), [0, 1]),
    (pa.date32(), [0, 1]),
    (pa.list_(pa.int64()), [[], [0], [0, 0], [1, 2], [2, 1], [None], [1, None]]),
    (pa.struct([("p", pa.int64()), ("q", pa.int64())]), [{"p": 1, "q": 2}, {"p": 2, "q": 1}, {"p": 1, "q": None}]),
    (pa.list_(pa.struct([("p", pa.int64())])), [[], [{"p": 1}], [{"p": 1}, {"p": 2}], [{"p": 2}, {"p": 1}]]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda one: str(one) if isinstance(one, pa.DataType) else "")
def test_different_values_have_different_hashes(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array([*values, None], kind)
    hashes = hashes_of(pa.table({"c": column})).to_pylist()
    assert len(set(hashes)) == len(values) + 1
    assert hashes[-1] == 0
    assert hashes_of(pa.table({"c": column.slice(1)})).to_pylist() == hashes[1:]
    assert hashes_of(pa.table({"d": column})).to_pylist()[:-1] != hashes[:-1]


def test_a_hash_is_the_same_for_ever() -> None:
    rows = pa.table({"a": [1, -1], "b": ["x", None], "l": [[{"u": Decimal(5)}], []], "f": [0.5, math.inf]})
    assert hashes_of(rows).to_pylist() == [3339760250701744177, -8315548934543452919]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda one: str(one) if isinstance(one, pa.DataType) else "")
def test_hashes_do_not_depend_on_the_blocks_in_which_they_are_made(
    kind: pa.DataType, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"c": pa.chunked_array([[*values, None], values, [None]], kind), "i": range(2 * len(values) + 2)})
    whole = hashes_of(rows)
    for size in (1, 2, 3):
        monkeypatch.setattr(row_hashes, "BLOCK_ROWS", size)
        assert hashes_of(rows) == whole


def test_hashes_do_not_depend_on_null_columns_or_their_order() -> None:
    few = pa.table({"a": [1, None], "b": ["x", "y"], "f": [float("nan"), 0.5]})
    more = pa.table({"b": ["x", "y"], "n": pa.nulls(2, pa.int64()), "f": [float("nan"), 0.5], "a": [1, None]})
    assert hashes_of(few) == hashes_of(more)
    assert len(set(hashes_of(few).to_pylist())) == 2
