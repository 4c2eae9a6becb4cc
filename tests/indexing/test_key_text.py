"""Keys as text: the same in probe, in forget, in files of keys and in Airflow; what is no key says how to write one."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.key_text import key_values, keys_in, whole_key

FLIGHT = ("carrier", "number")
FIELDS = [column("carrier", "string"), column("number", "long"), column("day", "date")]


@pytest.mark.parametrize("seed", range(20))
def test_what_csv_writes_is_read(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        values = ["".join(chance.choices('a,"é \n\r\u2028', k=chance.randrange(6))) for _ in FLIGHT]
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerow(values)
        assert whole_key(text.getvalue().removesuffix("\r\n"), FLIGHT) == tuple(values), f"seed {seed}"


def test_a_key_of_one_column_is_its_text() -> None:
    for text in ("a,b", '"', "", " x ", "a\nb"):
        assert key_values(text, ["host"]) == (text,)


@pytest.mark.parametrize("text", ["", "UA,1545,3", 'UA,"1545', "UA\n1545", "x" * 200_000 + ",1"])
def test_what_is_no_key_says_how_to_write_one(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        key_values(text, FLIGHT)
    assert "carrier,number" in caught.value.remedy


def test_a_part_of_a_key_does_for_probes_alone() -> None:
    assert key_values("UA", FLIGHT) == ("UA",)
    with pytest.raises(InvalidInput, match="1 of the 2 values"):
        whole_key("UA", FLIGHT)


def test_a_line_of_a_file_ends_with_a_line_feed() -> None:
    assert keys_in("a\u2028b\n\n c \n") == ["a\u2028b", " c "]


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three flights of two carriers; of the number 1545 there are two."""
    root = tmp_path_factory.mktemp("flights") / "flights"
    table = BuiltTable.create(root, FIELDS, FLIGHT)
    known = [("UA", 1545), ("UA", -7), ("A,B", 1545)]
    table.append(
        [table.row(0, 5 * HOUR_US, carrier=carrier, number=number, day=None) for carrier, number in known], watermark=0
    )
    return str(root)


def numbers(*words: str) -> list[tuple[str, int]]:
    answer = run("probe", "--json", *words)
    assert answer.exit_code == 0, answer.output
    return sorted((row["carrier"], row["number"]) for row in json.loads(answer.stdout)["rows"])


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_a_composite_key_on_the_command_line(flights: str) -> None:
    assert numbers(flights, "UA,1545") == numbers(flights, "UA", "1545") == [("UA", 1545)]
    assert numbers(flights, '"A,B",1545') == numbers(flights, "A,B", "1545") == [("A,B", 1545)]
    assert numbers(flights, "UA") == [("UA", -7), ("UA", 1545)]
    assert numbers(flights, "--range", "UA,-7", "UA,1545") == [("UA", -7)]
    assert numbers(flights, "UA,-7") == numbers(flights, "--", "UA", "-7") == [("UA", -7)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["UA,xyz"], ["'xyz'", "key column number", "a whole number that fits, such as 42"]),
        (["UA,1,2"], ["3 values", "carrier,number"]),
        (["UA", "1", "2"], ["3 values", "carrier, number"]),
        (["UA", "-7"], ["No such option", "behind --", "probe ARCHIVE -- -5"]),
    ],
)
def test_a_wrong_key_says_what_to_do(flights: str, words: list[str], said: list[str]) -> None:
    answer = run("probe", flights, *words)
    assert answer.exit_code == 2
    assert all(word in answer.stderr for word in said), answer.stderr


def test_forget_wants_the_whole_key(flights: str) -> None:
    answer = run("forget", flights, "--key", "UA", "--yes")
    assert (answer.exit_code, "1 of the 2 values" in answer.stderr) == (2, True)


def test_a_key_below_zero_in_a_process_of_its_own(flights: str, tmp_path: Path) -> None:
    """What stands behind -- comes through the shell and the program's own entry as well."""
    words = [sys.executable, "-m", "tidewheel.cli", "probe", flights, "--json", "--", "UA", "-7"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, len(json.loads(done.stdout)["rows"])) == (0, 1), done.stderr
