"""Aurora's boxes (SQuAl), written as calls with their inputs behind, read as a statement.

    Filter(v > 3 AND k = 'a')(S)        Map(k, v)(S)                 Union()(S, T)
    Aggregate(sum(v), Size 10, Advance 5, By k)(S)                   BSort(Slack 2)(S)
    Join(S.k = T.k, Size 10)(S, T)      a band join: tuples at most 10 apart

A band join is a join of windows: |ts1 - ts2| <= 10 says that the older tuple lives for 10 ticks more, length 11. BSort
changes no plan: it tells the slack of its stream, for the buffer before the query. Resample interpolates between
tuples, which no plan does: it is refused, and is an operator by itself (`literature/patterns/resample.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements import plan as plans
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.legality import check
from tidewheel.queries.statements.statement import Statement
from tidewheel.queries.statements.texts.cql import Schemas, compared, found_column
from tidewheel.queries.statements.texts.syntax import FOLDS, read_conditions
from tidewheel.queries.statements.texts.words import Words


@dataclass(frozen=True)
class Boxes:
    """A diagram of boxes as a statement, and how late the tuples of which stream may be."""

    statement: Statement
    slack: dict[str, int] = field(default_factory=dict)


def read_boxes(text: str, schemas: Schemas) -> Boxes:
    """
    >>> found = read_boxes("Join(S.k = T.k, Size 10)(BSort(Slack 2)(S), T)", {"S": ["k"], "T": ["k"]})
    >>> found.statement.plan.title, found.slack
    ('⋈ S.k = T.k', {'S': 2})
    """
    words = Words(text)
    reader = _Reader(words, schemas)
    plan = reader.box()
    words.end()
    statement = Statement(plan)
    check(statement)
    return Boxes(statement, reader.slack)


class _Reader:
    def __init__(self, words: Words, schemas: Schemas) -> None:
        self._words, self._schemas = words, schemas
        self.slack: dict[str, int] = {}

    def box(self) -> plans.Operator:
        """Take a box with its inputs, or a stream."""
        name = self._words.name()
        boxes: dict[str, Callable[[], plans.Operator]] = {
            "filter": self._filter,
            "map": self._map,
            "union": self._union,
            "aggregate": self._aggregate,
            "bsort": self._sort,
            "join": self._join,
            "resample": lambda: _refuse(name, "it interpolates: play it by itself, as `Resample`"),
            "connection": lambda: _refuse(name, "a connection point keeps history: name the archive's stream"),
        }
        if not self._words.takes("("):
            return self._stream(name)
        if name.lower() not in boxes:
            _refuse(name, f"boxes are {', '.join(boxes)}")
        return boxes[name.lower()]()

    def _stream(self, name: str) -> plans.Operator:
        if name not in self._schemas:
            raise InvalidInput(f"no stream is named {name}", f"there are {', '.join(self._schemas)}")
        return plans.Stream(name, tuple(self._schemas[name]))

    def _input(self) -> plans.Operator:
        self._words.take(")", "(")
        found = self.box()
        self._words.take(")")
        return found

    def _inputs(self) -> tuple[plans.Operator, plans.Operator]:
        self._words.take(")", "(")
        left = self.box()
        self._words.take(",")
        right = self.box()
        self._words.take(")")
        return left, right

    def _filter(self) -> plans.Operator:
        texts = read_conditions(self._words)
        below = self._input()
        return plans.Select(below, tuple(compared(one, below.columns) for one in texts))

    def _map(self) -> plans.Operator:
        names = self._words.names()
        below = self._input()
        return plans.Project(below, tuple(found_column(name, below.columns) for name in names))

    def _union(self) -> plans.Operator:
        return plans.Union(*self._inputs())

    def _sort(self) -> plans.Operator:
        self._words.take("slack")
        slack = self._words.number()
        below = self._input()
        if not isinstance(below, plans.Stream):
            raise InvalidInput("BSort over a box", "what a box gives is in order: sort its streams")
        self.slack[below.name] = slack
        return below

    def _aggregate(self) -> plans.Operator:
        words = self._words
        function = words.name().lower()
        if function not in FOLDS:
            words.fail("an aggregate")
        words.take("(")
        column = "" if words.takes("*") else words.name()
        words.take(")", ",", "size")
        size = words.time()
        advance = words.time() if words.takes(",", "advance") else size
        by = words.names() if words.takes(",", "by") else ()
        below = plans.TimeWindow(self._input(), size, slide=advance)
        fold = plans.Fold(function, found_column(column, below.columns) if function != "count" else "")
        return plans.GroupBy(below, tuple(found_column(name, below.columns) for name in by), (fold,))

    def _join(self) -> plans.Operator:
        texts = read_conditions(self._words)
        self._words.take(",", "size")
        size = self._words.time()
        left, right = (plans.TimeWindow(one, size + 1) for one in self._inputs())
        pairs = [self._pair(compared(one, (*left.columns, *right.columns)), left) for one in texts]
        return plans.Join(left, right, tuple(pairs))

    @staticmethod
    def _pair(one: Comparison, left: plans.Operator) -> tuple[str, str]:
        if not one.with_column or one.sign != "=":
            raise InvalidInput(f"a join by {one}", "compare a column of either input with =; the Size is the band")
        return (one.column, one.value) if one.column in left.columns else (one.value, one.column)


def _refuse(name: str, why: str) -> plans.Operator:
    raise InvalidInput(f"box {name} is not read as a plan", why)
