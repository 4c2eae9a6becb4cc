"""`[[query.test]]`: rows in, answers out; a test that is written wrongly says so, as does one that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidewheel
from tests.support.archives.asked_archive import asked_archive
from tidewheel.indexing.errors import InvalidInput

QUERY = """
[query]
name = "total"
of = "m"
select = "sum(v) as total, count(*) as n"
group_by = ["k"]
window = "2m"
time = "t"
[[query.test]]
"""
REPORT = "report = 2026-11-18T10:05:00Z\n"
AT = "t = 2026-11-18T10:04:00Z"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tested")
    asked_archive(folder)
    return folder / "archives"


def played(place: Path, test: str) -> dict[str, int]:
    (place / "queries" / "m.toml").write_text(QUERY + test)
    return tidewheel.open(place / "m.toml").queries.test()


def test_rows_in_answers_out(place: Path) -> None:
    rows = (
        f'rows = [{{k = "a", v = 2, {AT}}}, {{k = "a", v = 3, {AT}}}, {{k = "b", v = 9, t = 2026-11-18T10:00:00Z}}]\n'
    )
    assert played(place, REPORT + rows + 'answers = [{k = "a", total = 5, n = 2}]') == {"total": 1}
    assert played(place, REPORT) == {"total": 1}, "no rows, no answers"
    with pytest.raises(InvalidInput, match=r"failed at 2026-11-18T10:05:00Z: answers are .*5.0.*the test says .*6.0"):
        played(place, REPORT + rows + "answers = [{total = 6}]")


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("", "names no report"),
        ('report = "2026-11-18T10:05:00Z"', "report = '2026-11-18T10:05:00Z', which is no moment with a zone"),
        ("report = 2026-11-18T10:05:00", "which is no moment with a zone"),
        ("report = 2026-11-18T10:05:30Z", "has no report at"),
        (REPORT + "rows = 3", "rows = 3, which is no list of rows"),
        (REPORT + "rows = [5]", "which is no list of rows"),
        (REPORT + "answers = [5]", "answers = .5., which is no list of rows"),
        (REPORT + "rows = [{w = 5}]", "has the column w"),
        (REPORT + f'rows = [{{v = "five", {AT}}}]', "values of v that are not int64"),
        (REPORT + f"rows = [{{v = 9223372036854775808, {AT}}}]", "values of v that are not int64|not TOML|too large"),
        (REPORT + 'rows = [{v = 5, t = "now"}]', "t = 'now', which is no moment with a zone"),
        (REPORT + f"rows = [{{v = 5, {AT}, valid_until = 3}}]", "valid_until = 3, which is no moment"),
        (REPORT + "row = []", "has row"),
    ],
)
def test_what_is_written_wrongly_is_told(place: Path, test: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        played(place, test)
