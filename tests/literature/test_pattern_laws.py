"""Laws of plans as engines show them: what commutes with a window, and what does not."""

from __future__ import annotations

import random

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
