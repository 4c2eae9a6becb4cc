"""Sharing of one join synopsis: the queries that are answered together, by rules SS3, CS4 and CS5 (chapter 8).

SS3: a generalised synopsis (b, s, g) serves every query of windows up to b that differ by g at most. CS4: queries of
the same windows over an IJ or RJ are one probe; other windows take other intervals and prefixes, so nothing is saved.
CS5: queries of any windows over a BIJ are one scan. All three always pay.

Departs from the source, which lets generalised synopses of every form answer any windows at once: only BIJ does.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidewheel.queries.literature.patterns.join_synopses.basic_interval_join import BasicIntervalJoin, Windows
from tidewheel.queries.literature.patterns.join_synopses.classes import check_windows
from tidewheel.queries.literature.patterns.join_synopses.interval_join import IntervalJoin
from tidewheel.queries.literature.patterns.join_synopses.running_join import RunningJoin
from tidewheel.queries.literature.synopses.values import Value

JoinSynopsis = BasicIntervalJoin | IntervalJoin | RunningJoin
FORMS: dict[str, type[JoinSynopsis]] = {form.letters: form for form in (BasicIntervalJoin, IntervalJoin, RunningJoin)}


def together(synopsis: JoinSynopsis, queries: Mapping[str, Windows]) -> list[list[str]]:
    """Return the groups of queries that are answered at once; one that SS3 does not allow is refused.

    >>> from tidewheel.queries.literature.synopses.values import COUNT
    >>> asked = {"a": (2, 2), "b": (3, 2), "c": (2, 2)}
    >>> together(RunningJoin(COUNT, 4, 1), asked), together(BasicIntervalJoin(COUNT, 4, 1), asked)
    ([['a', 'c'], ['b']], [['a', 'b', 'c']])
    """
    for windows in queries.values():
        check_windows(*windows, synopsis.slots_max, synopsis.wide)
    if isinstance(synopsis, BasicIntervalJoin):
        return [list(queries)]
    found: dict[Windows, list[str]] = {}
    for name, windows in queries.items():
        found.setdefault(windows, []).append(name)
    return list(found.values())


def answers(synopsis: JoinSynopsis, queries: Mapping[str, Windows]) -> dict[str, Value]:
    """Return the answer of each query, every group being probed once."""
    found: dict[str, Value] = {}
    for group in together(synopsis, queries):
        if isinstance(synopsis, BasicIntervalJoin):
            by_windows = synopsis.joint_probe(queries[name] for name in group)
            found |= {name: by_windows[queries[name]] for name in group}
        else:
            found |= dict.fromkeys(group, synopsis.probe(*queries[group[0]]))
    return found
