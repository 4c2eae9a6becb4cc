"""A key that is named has the digest of its records, whatever its type, as a value and as the text printed of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from tests.old_archives.contents import KEY_KINDS, OLD_ARCHIVES
from tests.support.archives.built_table import BuiltTable
from tests.support.archives.columns import column
from tests.whole.test_old_archives import Unpacked, comparable
from tidewheel.cli import main
from tidewheel.hands import Hands
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.expressions import keyed_digest
from tidewheel.jobs.data.key_digests import key_digests
from tidewheel.sql.results.json_values import json_value

DELTA_KINDS = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}


@pytest.mark.parametrize("name", KEY_KINDS)
def test_every_type_of_key(tmp_path: Path, spark: SparkSession, name: str) -> None:
    kind = KEY_KINDS[name]
    field = column("key", DELTA_KINDS.get(kind.spark, kind.spark).replace(",", ", "))
    snapshot = BuiltTable.create(tmp_path / "table", [field], ["key"]).snapshot
    pq.write_table(pa.table({"key": pa.array(kind.values, kind.arrow)}), tmp_path / "records.parquet")
    records = spark.read.parquet(str(tmp_path / "records.parquet"))
    digest = keyed_digest(["key"], snapshot.definition.salt)
    found = [row[0] for row in records.selectExpr(f"{digest} as digest").collect()]
    assert len(set(found)) == len(set(map(repr, kind.values)))
    assert Hands().record_digests(snapshot, ["key"], pa.table({"key": pa.array(kind.values, kind.arrow)})) == found
    values = pa.array(kind.values, kind.arrow).to_pylist()
    for stored, value in zip(found, values, strict=True):
        as_value, as_text = ({*key_digests(spark, snapshot, [(one,)])} for one in (value, printed(value)))
        assert stored in as_value, value
        assert as_text == as_value, value
        same = {one for one, other in zip(found, values, strict=True) if comparable(other) == comparable(value)}
        assert as_value == same, value


def printed(value: Any) -> str:
    """A value as `probe` prints it."""
    plain = json_value(value)
    return plain if isinstance(plain, str) else json.dumps(plain)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("named", [b"\xff\xfe", "0xfffe"])
def test_bytes_that_are_no_text_are_forgotten(tmp_path: Path, named: Any) -> None:
    old = Unpacked.of(OLD_ARCHIVES["binary"], tmp_path)
    before = old.expected()
    forgotten = old.open().forget([[named]])
    old.forgotten[b"\xff\xfe",] = 9
    rows = sum((before - old.expected()).values())
    assert rows > 0
    assert forgotten.rows_found >= rows
    old.check_reads()
    again = old.open().forget([[named]])
    assert again.found_nothing


@pytest.mark.usefixtures("spark")
def test_the_command_line_names_what_it_prints(tmp_path: Path) -> None:
    old = Unpacked.of(OLD_ARCHIVES["binary_double"], tmp_path)
    path = str(old.place / "table")
    printed_keys = sorted({tuple(row["key" + n] for n in "01") for row in scanned(path)}, key=str)
    for first, second in printed_keys:
        key = f"{first},{json.dumps(second) if not isinstance(second, str) else second}"
        expected = [row for row in scanned(path) if (row["key0"], str(row["key1"])) == (first, str(second))]
        found = document("probe", path, "--json", "--", key)["rows"]
        # A probe finds both zeros.
        same = [row for row in found if (row["key0"], str(row["key1"])) == (first, str(second))]
        assert sorted(row["body"] for row in same) == [
            row["body"] for row in expected if str(row["key1"]) == str(second)
        ]
    first, second = next((a, b) for a, b in printed_keys if b == "NaN")
    told = run("forget", path, "--key", f"{first},{second}", "--yes", "--json")
    assert json.loads(told.stdout)["rows_found"] > 0
    assert [row for row in scanned(path) if (row["key0"], row["key1"]) == (first, second)] == []
    nothing = run("forget", path, "--key", "0x99,1.25", "--yes", "--json")
    assert (nothing.exit_code, json.loads(nothing.stdout)["rows_found"]) == (0, 0)
    assert "NOTHING FOUND" in nothing.stderr
    typed = [sys.executable, "-m", "tidewheel.cli", "forget", path, "--key", "0x99,1.25", "--yes"]
    done = subprocess.run(typed, capture_output=True, text=True, check=True)
    assert done.stderr.count("NOTHING FOUND") == 1
    assert "found no record" not in done.stderr, "said once"
    wrong = run("forget", path, "--key", "0x9,1.25", "--yes")
    assert wrong.exit_code == 2
    assert "two hex digits" in wrong.stderr


def scanned(path: str) -> list[dict[str, Any]]:
    return sorted(document("scan", path, "--json")["rows"], key=lambda row: row["body"])


def document(*words: str) -> dict[str, Any]:
    answer = run(*words)
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def run(*words: str) -> Any:
    return CliRunner().invoke(main, list(words))


def test_what_is_no_value_of_the_type_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    snapshot = BuiltTable.create(tmp_path, [column("key", "long")], ["key"]).snapshot
    for key in (("x",), (1.5,), (b"1",), (True,), (None,), (2**63,), (1, 2), ()):
        with pytest.raises(InvalidInput):
            key_digests(spark, snapshot, [key])
