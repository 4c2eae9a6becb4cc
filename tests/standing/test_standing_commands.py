"""Commands of standing queries at their edges: very many answers at once, files edited while a refresh runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import tidewheel
from tests.support.archives.asked_archive import asked_archive, events
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.local.standing.compile import understood
from tidewheel.local.standing.refresh import Refresh
from tidewheel.queries.standing.bounds import REPORTS_MAX, reports_missing
from tidewheel.queries.standing.query_file import parse_query_file
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


RANKED = """
[query]
name = "ranked"
of = "m"
select = "sum(v) as total"
group_by = ["k"]
order_by = "sum(v) desc"
limit = 2
window = "2m"
revise = "5m"
keep = "1h"
"""


def test_answers_stand_in_the_order_that_the_query_gives_them(place: Path) -> None:
    place.write_text(RANKED)
    queries = tidewheel.open("m").queries
    queries.refresh()
    assert set(zip(*[iter(queries.ask("ranked", last=None).column("k").to_pylist())] * 2, strict=True)) == {("b", "a")}
    place.write_text(RANKED.replace("desc", "asc"))
    queries.refresh()
    assert queries.ask("ranked").column("total").to_pylist() == [11, 20]


def test_what_is_missing_from_an_answer_is_told_with_it(place: Path) -> None:
    place.write_text(RANKED)
    told = CliRunner().invoke(main, ["ask", "m", "ranked", "--last", "9"])
    assert "refresh it first" in told.output
    CliRunner().invoke(main, ["refresh", "m"])
    told = CliRunner().invoke(main, ["ask", "m", "ranked", "--last", "9"])
    assert "not all of these answers count every record" in " ".join(told.output.split())
    assert "not all" not in CliRunner().invoke(main, ["ask", "m", "ranked"]).output
    nothing = CliRunner().invoke(main, ["ask", "m", "ranked", "--where", "total < 0"])
    assert "tidewheel query explain m ranked tells why" in " ".join(nothing.output.split())


def test_answers_that_leave_with_their_query_are_told(place: Path) -> None:
    def said(*options: str) -> str:
        return CliRunner().invoke(main, ["refresh", "m", *options]).output

    before = place.read_text()
    assert "removed" not in said()
    place.write_text(before.replace('name = "total"', 'name = "renamed"').replace("max(v)", "min(v)"))
    assert "earlier answers would be removed, as nobody asks for them any more: by_key, total" in said("--dry-run")
    assert json.loads(said("--json"))["answers_dropped_of"] == ["by_key", "total"]
    place.write_text(before.replace("max(v)", "min(v)"))
    assert "earlier answers were removed, as nobody asks for them any more: renamed" in said()
    place.unlink()
    told = said()
    assert "by_key, total" in told
    assert "nothing is stale" in told
    assert "removed" not in said()


def test_explain_says_which_slots_have_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = asked_archive(tmp_path, RANKED)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    CliRunner().invoke(main, ["refresh", "m"])
    assert "1 slot not wholly: before the archive's first batch" in explained("ranked")
    for slot in (8, 9):
        archive.update({slot: events(slot)})
    CliRunner().invoke(main, ["refresh", "m"])
    assert "2 slots not wholly: no batch came, or it was undone" in explained("ranked")


# What techniques would cost.

SHARED = """
[[query]]
name = "long"
of = "m"
select = "sum(v) as total, gcd(v) as divisor"
window = "5m"
slide = "1m"

[[query]]
name = "short"
of = "m"
select = "max(v) as most"
window = "3m"
slide = "1m"
"""


def explained(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["query", "explain", "m", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def refusal(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 2
    return " ".join(done.output.split())


def test_explain_tells_what_each_technique_would_cost(place: Path) -> None:
    place.write_text(SHARED)
    lines = {line.split("  ")[0]: line.split() for line in explained("short").splitlines() if "advised" in line}
    assert lines.keys() == {"Panes"}
    rows = json.loads(explained("short", "--json"))["techniques"]
    figures = {row["technique"]: (row["operations_per_fragment"], row["operations_at_worst"], row["state_values"])
               for row in rows if not row["refused"]}  # fmt: skip
    assert figures == {
        "Panes": (2, 2, 3), "FlatFAT": (3, 3, 8), "B-Int": (1.75, 3, 8), "TwoStacks": (2, 3, 6), "DABA": (2, 2, 6),
        "FlatFIT": (1.5, 2, 6), "SlickDeque (Non-Inv)": (2 - 2 / 3, 2, 6),
    }  # fmt: skip
    text = " ".join(explained("short").split())
    assert "technique SlickDeque (Inv) needs an operation with an inverse; 'max' has none" in text
    both = json.loads(explained("long", "--shared", "--json"))
    assert both["fragments_per_window"] == [3, 5]
    assert [row["technique"] for row in both["techniques"] if row["refused"]] == [
        "Panes (Inv)", "TwoStacks", "DABA", "SlickDeque (Inv)", "SlickDeque (Non-Inv)",
    ]  # fmt: skip
    (one,) = json.loads(explained("long", "--technique", "FlatFIT", "--json"))["techniques"]
    assert one["technique"] == "FlatFIT"


def test_what_a_technique_would_get_wrong_is_refused(place: Path) -> None:
    place.write_text(SHARED)
    for technique, name, said in (
        ("SlickDeque (Inv)", "short",
         "technique SlickDeque (Inv) needs an operation with an inverse; 'max' has none (use SlickDeque (Non-Inv))"),
        ("Panes (Inv)", "long",
         "technique Panes (Inv) needs an operation with an inverse; 'gcd' has none (use FlatFIT)"),
        ("SlickDeque (Non-Inv)", "long", "technique SlickDeque (Non-Inv) needs a selection-type operation; "),
        ("Slick", "long", "unknown technique 'Slick'"),
    ):  # fmt: skip
        assert said in refusal("query", "explain", "m", name, "--technique", technique)
        place.write_text(SHARED.replace(f'name = "{name}"', f'name = "{name}"\ntechnique = "{technique}"'))
        assert said in refusal("query", "check", "m")
        assert said in refusal("refresh", "m")
        place.write_text(SHARED)
    for kind in ("partials", "answers"):  # the refreshes gave the other query its answers, and a tree of its own
        shutil.rmtree(place.parent.parent.parent / f"table.{kind}")
    for technique in ("Panes (Inv)", "TwoStacks", "DABA"):
        asked = SHARED.replace(", gcd(v) as divisor", "")
        place.write_text(asked)
        said = f"technique {technique} answers one range only; this plan needs 3, 5 partials"
        assert said in refusal("query", "explain", "m", "long", "--technique", technique, "--shared")
        assert technique in explained("long", "--technique", technique)


def test_what_leaves_in_no_order_has_no_technique(place: Path) -> None:
    assert "windows with individual lifetimes are not first-in first-out" in " ".join(explained("alive").split())
    said = "windows with individual lifetimes are not first-in first-out; use an invertible operation"
    assert said in refusal("query", "explain", "m", "alive", "--technique", "FlatFAT")


def test_a_second_query_of_a_name_is_not_written(place: Path) -> None:
    queries = tidewheel.open("m").queries
    for replace in (False, True):
        with pytest.raises(InvalidInput, match=r"has a query by_key already, in .*m\.toml"):
            queries.new("by_key", replace=replace)
    assert queries.new("fresh") == queries.new("fresh", replace=True)


def test_a_misspelt_archive_hides_no_other_fault(place: Path) -> None:
    """All that is wrong with it is told at once, if it is this archive that is meant."""
    place.with_name("n.toml").write_text(RANKED.replace('of = "m"', 'of = "mm"').replace("sum(v)", "sum(nothing)"))
    told = " ".join(CliRunner().invoke(main, ["query", "check", "m"]).output.split())
    assert "there is no archive file of that name" in told
    assert 'Referenced column "nothing" not found' in told
    place.with_name("n.toml").write_text(RANKED.replace('of = "m"', 'of = "elsewhere"\nkee = 1').replace("v)", "w)"))
    told = " ".join(CliRunner().invoke(main, ["query", "check", "m"]).output.split())
    assert "unknown key kee" in told
    assert '"w"' not in told


def test_explain_begins_with_what_is_covered(place: Path) -> None:
    CliRunner().invoke(main, ["refresh", "m"])
    lines = CliRunner().invoke(main, ["query", "explain", "m", "total"]).output.splitlines()
    found = [
        next(at for at, line in enumerate(lines) if line.startswith(word)) for word in ("slots:", "nothing", "tree")
    ]
    assert found == sorted(found)
    assert found[0] == 1


def test_what_is_alive_is_asked_at_ends_of_slots_wherever_they_begin(tmp_path: Path) -> None:
    """Without an offset; one that is given has to fit."""
    archive = LocalArchive(tmp_path, axis=TimeAxis(60_000_000, 7_000_000)).create()
    live = 'of = "m"\nselect = "count(*) as n"\nwindow = "live"\nslide = "3m"\n'
    (query,) = understood(parse_query_file(f"[query]\n{live}", "live.toml"), archive.job.snapshot()).sound()
    assert query.terms.offset_us == 7_000_000
    with pytest.raises(InvalidInput, match="an offset that fits"):
        understood(parse_query_file(f'[query]\n{live}offset = "0s"', "live.toml"), archive.job.snapshot()).sound()
