"""`query show` prints SQL that runs as it is printed, and gives the answer of the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import ARCHIVE_FILE, told
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.cli import main
from tidewheel.local.partials.distinct_sketches import installed
from tidewheel.queries.aggregates import MAKERS

NAMES = [name for name, maker in MAKERS.items() if installed() or not maker.sketched]
_LIFE = 'revise = "5m"\nkeep = "1h"\n'
QUERIES = "".join(
    f'[[query]]\nname = "{name}"\nof = "m"\nselect = "{select}"\n{_LIFE}{more}\n'
    for name, select, more in (
        ("by_record", "sum(v) as total", 'window = "3m"\ntime = "t"\nahead = "1m"\nwhere = "v > 1"'),
        ("grouped", "sum(v) as total", 'window = "4m"\ngroup_by = ["upper(k) as \\"k k\\""]\nhaving = "total > 2"'),
        ("alive", "count(*) as n", 'window = "live"'),
        ("largest", "max(v) as m", 'window = "3m"\ngroup_by = ["k"]\norder_by = "max(v) desc, k"\nlimit = 1'),
    )
)


def call(name: str) -> str:
    """A call of an aggregate of the catalogue."""
    maker = MAKERS[name]
    column = {"bool_and": "v > 3", "bool_or": "v > 3"}.get(name, "v")
    if name == "count_rows":
        return "count(*)"
    more = [*["v"] * name.startswith("arg_"), *["100"] * maker.limited, *["0.5"] * maker.fractional]
    return f"{name}({', '.join([column, *more])})"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive all of whose records are alive; some lie ahead of their slot."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "archives" / "queries").mkdir(parents=True)
    (folder / "archives" / "m.toml").write_text(ARCHIVE_FILE)
    each = (
        f'[[query]]\nname = "each"\nof = "m"\nselect = "{", ".join(f"{call(name)} as c_{name}" for name in NAMES)}"\n'
    )
    (folder / "archives" / "queries" / "m.toml").write_text(f'{QUERIES}{each}window = "4m"\ntime = "t"\n{_LIFE}')
    archive = LocalArchive(folder).create()
    for slot in range(4):
        at_us, until_us = slot * MINUTE_US + 1, 20 * MINUTE_US + 1
        archive.update({slot: [Event("a", slot + 1, at_us, until_us), Event("b", 7, at_us + 100_000_000, until_us)]})
    return folder


@pytest.fixture
def named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(place / "archives"))
    done = CliRunner().invoke(main, ["refresh", "m"])
    assert done.exit_code == 0, done.output


def printed(name: str) -> list[dict[str, Any]]:
    """What the SQL that is shown gives, as a user types it."""
    sql = CliRunner().invoke(main, ["query", "show", "m", name]).output
    rows = told("sql", "m", sql)
    return list(rows["rows"] if isinstance(rows, dict) else rows)


def asked(name: str, columns: list[str]) -> list[dict[str, Any]]:
    return [{column: row[column] for column in columns} for row in told("ask", "m", name)["answers"]]


@pytest.mark.parametrize("name", ["by_record", "grouped", "alive", "largest"])
def test_it_gives_the_answer(named: None, name: str) -> None:
    found = printed(name)
    assert found
    assert sorted(map(str, found)) == sorted(map(str, asked(name, list(found[0]))))


def test_it_says_every_aggregate(named: None) -> None:
    """In DuckDB's words; quantiles by sketches are near."""
    (found,), (answered,) = printed("each"), asked("each", [f"c_{name}" for name in NAMES])
    for name in NAMES:
        one, other = found[f"c_{name}"], answered[f"c_{name}"]
        if isinstance(one, list):
            assert other == one, name
        else:
            assert float(other) == pytest.approx(float(one), rel=0.5 if "quantile" in name else 1e-9), name


def test_it_says_where_the_answers_are(named: None, place: Path) -> None:
    shown = told("query", "show", "m", "grouped")
    assert shown["columns"] == {"k k": "g_varchar_0", "total": "v_decimal_38_0_0"}
    rows = told("sql", "m.answers", f"select v_decimal_38_0_0 as v from live where part = '{shown['part']}'")
    assert len(rows["rows"] if isinstance(rows, dict) else rows) > 0
