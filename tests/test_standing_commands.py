"""Commands of standing queries at their edges: very many answers at once, files edited while a refresh runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.asked_archive import asked_archive
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.indexing.ledger import Ledger
from tidewheel.indexing.receipts import Batch
from tidewheel.indexing.slots import TimeAxis
from tidewheel.local.standing.refresh import Refresh
from tidewheel.queries.standing.bounds import REPORTS_MAX, reports_missing
from tidewheel.standing import StandingQueries

OFTEN = """
[query]
of = "m"
select = "count(*) as n"
window = "1m"
slide = "1ms"
time = "t"
revise = "5m"
keep = "1h"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    asked_archive(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    return tmp_path / "archives" / "queries" / "m.toml"


def test_very_many_answers_want_a_confirmation(place: Path) -> None:
    place.write_text(OFTEN)
    queries = tidewheel.open("m").queries
    with pytest.raises(Refused, match=r"up to 360,000 answers, most of them of m \(360,000\)") as refused:
        queries.refresh()
    assert "tidewheel refresh m --allow-many" in refused.value.remedy
    assert queries.refresh(dry_run=True).partials is None
    assert not (place.parent.parent.parent / "table.answers").exists()


def test_what_was_given_counts_no_more(place: Path) -> None:
    queries = tidewheel.open("m").queries
    (total, *_) = queries.check()
    axis = TimeAxis(60_000_000)
    source = Ledger(batches={(slot, ""): Batch("a", 1) for slot in range(10)})
    assert reports_missing(axis, Ledger(), Ledger(), total) == 0
    assert reports_missing(axis, source, Ledger(), total) == 10
    assert reports_missing(axis, source, Ledger(applied_parts={total.part: ((0, 6),)}), total) == 3
    assert REPORTS_MAX > 10_000


def test_a_file_edited_while_a_refresh_runs_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refresh goes on with what it has read; the next one follows the file."""
    run = Refresh.run

    def edited(self: Refresh) -> object:
        place.write_text(place.read_text().replace("max(v)", "min(v)"))
        return run(self)

    with monkeypatch.context() as patch:
        patch.setattr(Refresh, "run", edited)
        done = CliRunner().invoke(main, ["refresh", "m"])
    assert done.exit_code == 0
    assert "edited meanwhile" in " ".join(done.output.split())
    assert "edited" not in CliRunner().invoke(main, ["refresh", "m"]).output
    assert tidewheel.open("m").queries.ask("by_key", where="k = 'b'").num_rows == 1
    place.write_text("[query")
    with pytest.raises(InvalidInput, match="not TOML"):
        StandingQueries(tidewheel.open("m")).refresh()
