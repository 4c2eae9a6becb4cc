"""What every contender must answer: records folded by 5 minutes, groups and predicate, and a window's fragments folded.

Nothing clever, and nothing of ours: numpy over dense arrays, one row for each 5 minutes, one column for each group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.standing.stream import AXIS, GROUPS, KEYS, PREDICATES, PROTOCOLS, REGIONS
from tidewheel.queries.standing.query import Query

# By report: the groups' values, and the outputs in order.
Answers = dict[tuple[str, int], dict[tuple[Any, ...], tuple[Any, ...]]]
Rows = Mapping[str, Any]
_SIZES = {"key": KEYS, "region": REGIONS, "protocol": PROTOCOLS}
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_HOLDS: dict[str, Callable[[Rows], Any]] = {
    "": lambda rows: np.ones(len(rows["v"]), bool),
    PREDICATES[0]: lambda rows: rows["protocol"] == 1,
    PREDICATES[1]: lambda rows: rows["v"] >= 900,
    PREDICATES[2]: lambda rows: rows["region"] < 5,
}


class Oracle:
    """The records of the slots from a first one on, as they are now."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.count = first, last - first + 1
        self.slots: dict[int, Rows] = {}
        self._of_bucket: dict[int, set[int]] = {}
        self._folded = {(groups, where): _Folded(self.count, _width(groups)) for groups in GROUPS for where in _HOLDS}

    def put(self, slot: int, rows: pa.Table) -> None:
        """These are now all records that a slot brought."""
        given = _arrays(rows)
        before = self.slots.get(slot)
        self.slots[slot] = given
        touched = {*np.unique(given["bucket"]).tolist(), *(np.unique(before["bucket"]).tolist() if before else ())}
        for bucket in touched:
            self._of_bucket.setdefault(bucket, set()).add(slot)
            self._fold(bucket)

    def forget(self, key: int) -> None:
        """No record of a key is there any more."""
        for slot, rows in self.slots.items():
            self.slots[slot] = {name: values[rows["key"] != key] for name, values in rows.items()}
        for bucket in self._of_bucket:
            self._fold(bucket)

    def _fold(self, bucket: int) -> None:
        place = bucket - self.first
        if not 0 <= place < self.count:
            return
        of_bucket = [self.slots[slot] for slot in sorted(self._of_bucket[bucket])]
        some = [{name: values[rows["bucket"] == bucket] for name, values in rows.items()} for rows in of_bucket]
        here = {name: np.concatenate([rows[name] for rows in some]) for name in _arrays(None)}
        for (groups, where), folded in self._folded.items():
            holds = _HOLDS[where](here)
            codes = np.zeros(int(holds.sum()), np.int64)
            for one in groups:
                codes = codes * _SIZES[one] + here[one][holds]
            folded.put(place, codes, here["v"][holds], here["x"][holds])

    def answers(self, wanted: Iterable[tuple[Query, int]]) -> Answers:
        """Of each query and report; without windows that nothing lies in."""
        found: Answers = {}
        for query, at_us in wanted:
            assert query.terms.window_us is not None
            end = at_us // AXIS.interval_us - self.first
            start = end - query.terms.window_us // AXIS.interval_us
            groups = tuple(one.name for one in query.groups)
            folded = self._folded[groups, query.where].over(max(0, start), max(0, end))
            there = np.flatnonzero(folded["count_rows"])
            if len(there):
                outputs = zip(*(folded[call.aggregate][there].tolist() for call in query.calls), strict=True)
                found[query.name, at_us] = dict(zip(_values(groups, there), outputs, strict=True))
        return found


class _Folded:
    """The accumulators of one group-by and predicate."""

    def __init__(self, rows: int, groups: int) -> None:
        self.count, self.total = np.zeros((rows, groups), np.int64), np.zeros((rows, groups), np.int64)
        self.most, self.least = np.full((rows, groups), _LEAST), np.full((rows, groups), _MOST)
        self.floats = np.zeros((rows, groups))

    def put(self, place: int, codes: Any, v: Any, x: Any) -> None:
        width = self.count.shape[1]
        self.count[place] = np.bincount(codes, minlength=width)
        self.total[place] = np.bincount(codes, v, minlength=width)  # far below 2^53
        self.floats[place] = np.bincount(codes, x, minlength=width)
        self.most[place], self.least[place] = _LEAST, _MOST
        np.maximum.at(self.most[place], codes, v)
        np.minimum.at(self.least[place], codes, v)

    def over(self, start: int, end: int) -> dict[str, Any]:
        count = self.count[start:end].sum(axis=0)
        return {
            "count_rows": count,
            "sum": self.total[start:end].sum(axis=0),
            "max": self.most[start:end].max(axis=0, initial=_LEAST),
            "min": self.least[start:end].min(axis=0, initial=_MOST),
            "avg": self.floats[start:end].sum(axis=0) / np.maximum(count, 1),
        }


def answers_of(found: Sequence[tuple[Query, int, pa.Table]]) -> Answers:
    """Tables of answers by report and group: a negative report stands for a column of that name, the last."""
    answers: Answers = {}
    for query, at_us, table in found:
        keys, outputs = len(query.groups), len(query.groups) + len(query.calls)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        if at_us >= 0:
            answers[query.name, at_us] = {row[:keys]: row[keys:outputs] for row in rows}
            continue
        for row in rows:
            answers.setdefault((query.name, row[-1]), {})[row[:keys]] = row[keys:outputs]
    return answers


def same(found: Answers, true: Answers) -> list[str]:
    """Where answers differ, beyond the rounding of floats added up in another order."""
    wrong = [f"{key}: not asked or not answered" for key in found.keys() ^ true.keys()]
    for key in found.keys() & true.keys():
        mine, others = found[key], true[key]
        if mine.keys() != others.keys():
            wrong.append(f"{key}: other groups {sorted(mine.keys() ^ others.keys())[:3]}")
            continue
        wrong += [
            f"{key} {group}: {mine[group]} and {others[group]}"
            for group in mine
            if mine[group] != others[group] and not _alike(mine[group], others[group])
        ]
    return wrong


def nothing_empty(found: Answers) -> Answers:
    """Answers without those of empty windows, which a query without groups has and rivals may leave out."""
    return {key: rows for key, rows in found.items() if any(any(row) for row in rows.values())}


def _alike(mine: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(
        one == two or (one is not None and two is not None and abs(float(one) - float(two)) <= 1e-9 * abs(float(two)))
        for one, two in zip(mine, others, strict=True)
    )


def _arrays(rows: pa.Table | None) -> Rows:
    names = ("bucket", "key", "region", "protocol", "v", "x")
    if rows is None:
        return dict.fromkeys(names)
    moments = rows.column("moment").cast(pa.int64()).to_numpy()
    keys = np.array([int(one[1:]) for one in rows.column("key").to_pylist()], np.int64)
    columns = {name: rows.column(name).to_numpy() for name in names[2:]}
    return {"bucket": moments // AXIS.interval_us, "key": keys, **columns}


def _width(groups: Sequence[str]) -> int:
    return int(np.prod([_SIZES[one] for one in groups], dtype=np.int64))


def _values(groups: Sequence[str], codes: Any) -> list[tuple[Any, ...]]:
    """The groups that numbers stand for."""
    columns: list[list[Any]] = []
    for one in reversed(groups):
        codes, values = codes // _SIZES[one], (codes % _SIZES[one]).tolist()
        columns.insert(0, [f"k{value:04}" for value in values] if one == "key" else values)
    return list(zip(*columns, strict=True)) if columns else [()]
