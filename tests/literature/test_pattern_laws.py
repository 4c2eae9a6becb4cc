"""Laws of plans as engines show them: what commutes with a window, and what does not."""

from __future__ import annotations

import ast
import random
import re
from pathlib import Path

import pytest

from tests.literature.test_pattern_engines import bags, disagreements
from tests.support.models.statement_plans import random_history
from tidewheel.queries.literature.patterns.approach import approach_named
from tidewheel.queries.literature.patterns.engine import Engine, played
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.plan import CountWindow, Fold, GroupBy, Select, Stream, TimeWindow, Union, window

UPA = approach_named("UPA(10)")


def test_selections_commute_with_time_windows_and_not_with_count_windows() -> None:
    """R1: below a count window another tuple takes the place of the one that a selection drops."""
    stream, holds = Stream("A", ("k", "v")), (Comparison("A.v", ">", 0),)
    above, below = Select(TimeWindow(stream, 7), holds), TimeWindow(Select(stream, holds), 7)
    counted, filtered = Select(CountWindow(stream, 4), holds), CountWindow(Select(stream, holds), 4)
    differing = 0
    for seed in range(10):
        history = random_history(random.Random(seed), above, 40)
        answers = [bags(played(Engine(plan, UPA), history.arrivals, (), 50)) for plan in (above, below)]
        assert answers[0] == answers[1]
        two = [bags(played(Engine(plan, UPA), history.arrivals, (), 50)) for plan in (counted, filtered)]
        differing += two[0] != two[1]
        assert not disagreements(filtered, history, 50, [UPA])
    assert differing == 10


def test_demultiplexing_is_grouping_and_multiplexing_a_union() -> None:
    """Tribeca's operators: a union of the parts of a stream by key is the stream again."""
    stream = window("A", 9, "k", "v")
    parts = [TimeWindow(Select(Stream("A", ("k", "v")), (Comparison("A.k", "=", key),)), 9) for key in range(3)]
    multiplexed = Union(Union(parts[0], parts[1]), parts[2])
    counts = GroupBy(stream, ("A.k",), (Fold("count"),))
    for seed in range(5):
        history = random_history(random.Random(seed), stream, 40)
        whole, parts_, groups = (
            bags(played(Engine(plan, UPA), history.arrivals, (), 50)) for plan in (stream, multiplexed, counts)
        )
        assert whole == parts_
        for rows, counted in zip(whole, groups, strict=True):
            sizes = {key: sum(held for row, held in rows.items() if row[0] == key) for key in range(3)}
            assert dict(counted.keys()) == {key: size for key, size in sizes.items() if size}


SHELF = Path(__file__).parents[2] / "queries" / "literature"
FOLDERS = [SHELF / "patterns" / name for name in ("operators", "sketches", "join_synopses")]
OTHERS = "bounded_memory chunks clocks decay engine internal jumping reports resample stores unit_time_cost wave_index"
VALUES = ("__init__.py", "operator.py", "hashing.py")
ALGORITHMS = [
    *(path for folder in FOLDERS for path in sorted(folder.glob("*.py")) if path.name not in VALUES),
    *(SHELF / "patterns" / f"{name}.py" for name in OTHERS.split()),
    *(SHELF / "state" / f"{name}.py" for name in ("calendar_queue", "deletion_directory")),
]


@pytest.mark.parametrize("path", ALGORITHMS, ids=lambda path: path.stem)
def test_each_file_says_where_it_departs_from_what_was_printed(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert len(re.findall(r"^(?:Departs from|Follows|No listing is printed).+", text, re.MULTILINE)) == 1
