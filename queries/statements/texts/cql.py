"""CQL with the thesis's additions (Golab 2006, section 3.2.5), read as a statement.

    SELECT [DISTINCT] Istream-restore(A.x, B.y) | Wstream(*)[ROWS 10] | k, SUM(a)
    FROM S [RANGE 1 minute INTERNAL SLIDE 10 sec] AS A, T [ROWS 5], U [PARTITION BY k ROWS 2], V [NOW], NRR(N), REL(R)
    WHERE A.k = T.k AND A.v > 10 AND NOT EXISTS (SELECT * FROM W [RANGE 5] WHERE W.k = A.k)
    GROUP BY A.k     ...  EXCEPT ALL | UNION ALL  SELECT ...

Sources are joined in the order written, as far as equalities connect them; relations come last; other conditions are
selections above, where they are right over count windows too. A Wstream makes its input windows INTERNAL: that may be
left away, and EXTERNAL is an error there. `SUM(Wstream(SUM(a))[ROWS 10])` folds the last values of an inner aggregate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements import plan as plans
from tidewheel.queries.statements.conditions import Comparison
from tidewheel.queries.statements.legality import WSTREAM, Illegal, check
from tidewheel.queries.statements.statement import Output, Statement
from tidewheel.queries.statements.texts.syntax import (
    AbsentText,
    ConditionText,
    Item,
    SelectText,
    SourceText,
    read_select,
)
from tidewheel.queries.statements.texts.words import Words

Schemas = Mapping[str, Sequence[str]]  # the columns of streams and relations


@dataclass(frozen=True)
class Read:
    """A text as a statement; `outer` folds the values that a Wstream keeps."""

    statement: Statement
    outer: str = ""


def read_cql(text: str, schemas: Schemas) -> Read:
    """Return the statement of a text; an illegal one is refused with its reason.

    >>> text = "SELECT Istream(*) FROM S [RANGE 6] A, T [RANGE 6] WHERE A.k = T.k"
    >>> found = read_cql(text, {"S": ["k"], "T": ["k"]}).statement
    >>> found.plan.title, found.output.value
    ('⋈ A.k = T.k', 'Istream')
    """
    words = Words(text)
    first = read_select(words)
    plan = _Translation(schemas).plan(first)
    while words.peek() in ("except", "union"):
        is_except = words.takes("except") or not words.takes("union")
        words.take("all")
        other = _Translation(schemas).plan(read_select(words))
        plan = _less(plan, other) if is_except else plans.Union(plan, other)
    words.end()
    chosen = first.chosen
    statement = Statement(plan, chosen.output, chosen.restore, chosen.rows, chosen.length)
    check(statement)
    return Read(statement, chosen.outer)


def _less(plan: plans.Operator, other: plans.Operator) -> plans.Operator:
    if len(plan.columns) != len(other.columns):
        raise InvalidInput(f"EXCEPT ALL of {len(plan.columns)} and {len(other.columns)} columns", "select as many")
    return plans.Negation(plan, other, tuple(zip(plan.columns, other.columns, strict=True)), bag=True)


class _Translation:
    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def plan(self, select: SelectText) -> plans.Operator:
        inner = select.chosen.output is Output.WSTREAM
        leaves = [self._leaf(one, internal=inner) for one in select.sources if one.kind == "stream"]
        relations = [self._relation(one) for one in select.sources if one.kind != "stream"]
        if not leaves:
            raise InvalidInput("a query text without a stream", "name a stream in FROM, beside relations")
        columns = [column for one in leaves for column in one.columns]
        columns += [column for one in relations for column in one.columns]
        where = [compared(one, columns) for one in select.where]
        plan = _joined(leaves, relations, where)
        for absent in select.absent:
            plan = self._without(plan, absent)
        return _shaped(plan, select)

    def _fields(self, name: str) -> tuple[str, ...]:
        if name not in self._schemas:
            raise InvalidInput(f"no stream or relation is named {name}", f"there are {', '.join(self._schemas)}")
        return tuple(self._schemas[name])

    def _relation(self, one: SourceText) -> plans.Relation:
        return plans.Relation(one.name, self._fields(one.name), retroactive=one.kind == "rel")

    def _leaf(self, one: SourceText, *, internal: bool = False) -> plans.Operator:
        stream = plans.Stream(one.name, self._fields(one.name), one.alias)
        window = one.window
        if internal and window.internal is False:
            raise Illegal(WSTREAM)
        if window.rows is not None:
            per = tuple(found_column(name, stream.columns) for name in window.per)
            return plans.CountWindow(stream, window.rows, per, window.slide)
        if window.length is not None:
            return plans.TimeWindow(stream, window.length, internal or bool(window.internal), window.slide)
        return stream

    def _without(self, plan: plans.Operator, absent: AbsentText) -> plans.Operator:
        """Return the plan less the rows that have a match in the subquery."""
        inner = self._leaf(absent.source)
        found = [compared(one, [*inner.columns, *plan.columns]) for one in absent.where]
        own = tuple(one for one in found if set(one.columns) <= set(inner.columns))
        across = [one for one in found if one not in own]
        if not across or any(one.sign != "=" for one in across):
            raise InvalidInput("NOT EXISTS without an equality between both queries", "compare a column with =")
        pairs = tuple(_pair(one, plan.columns) for one in across)
        return plans.Negation(plan, plans.Select(inner, own) if own else inner, pairs)


def found_column(name: str, columns: Iterable[str]) -> str:
    """Return the column of a name, which may leave its stream away where that is clear."""
    every = list(dict.fromkeys(columns))
    fitting = [one for one in every if one.lower() == name.lower() or one.split(".")[1].lower() == name.lower()]
    if len(fitting) != 1:
        how = "no column is" if not fitting else "several columns are"
        raise InvalidInput(f"{how} named {name}", f"there are {', '.join(every)}")
    return fitting[0]


def compared(one: ConditionText, columns: Sequence[str]) -> Comparison:
    value = found_column(str(one.value), columns) if one.with_column else one.value
    return Comparison(found_column(one.column, columns), one.sign, value, one.with_column)


def _pair(one: Comparison, left: Sequence[str]) -> tuple[str, str]:
    return (one.column, one.value) if one.column in left else (one.value, one.column)


def _joined(
    leaves: Sequence[plans.Operator], relations: Sequence[plans.Relation], where: list[Comparison]
) -> plans.Operator:
    plan, *waiting = leaves
    left = list(where)
    while waiting:
        following = next((one for one in waiting if _pairs(plan.columns, one.columns, left)), None)
        if following is None:
            raise InvalidInput("a join without an equality", f"compare a column of {waiting[0].columns} with =")
        waiting.remove(following)
        pairs, left = _taken(plan.columns, following.columns, left)
        plan = plans.Join(plan, following, pairs)
    for relation in relations:
        pairs, left = _taken(plan.columns, relation.columns, left)
        if not pairs:
            raise InvalidInput(f"relation {relation.name} without an equality", "compare one of its columns with =")
        plan = plans.RelationJoin(plan, relation, pairs)
    return plans.Select(plan, tuple(left)) if left else plan


def _pairs(left: Sequence[str], right: Sequence[str], where: Iterable[Comparison]) -> list[Comparison]:
    """Return the equalities between the columns of both sides."""
    sides = (set(left), set(right))
    return [
        one for one in where if one.with_column and one.sign == "=" and all(side & set(one.columns) for side in sides)
    ]


def _taken(left: Sequence[str], right: Sequence[str], where: list[Comparison]) -> tuple[plans.Pairs, list[Comparison]]:
    found = _pairs(left, right, where)
    return tuple(_pair(one, left) for one in found), [one for one in where if one not in found]


def _shaped(plan: plans.Operator, select: SelectText) -> plans.Operator:
    """Return the plan with what is selected: aggregates, distinct values, or some columns."""
    items = select.chosen.items
    columns = [found_column(one.column, plan.columns) for one in items if not one.function and one.column != "*"]
    if select.by or any(one.function for one in items):
        return _grouped(plan, select, columns)
    kept = tuple(columns) or plan.columns
    if select.distinct:
        return plans.Distinct(plan, kept)
    return plan if kept == plan.columns else plans.Project(plan, kept)


def _grouped(plan: plans.Operator, select: SelectText, columns: Sequence[str]) -> plans.Operator:
    by = tuple(found_column(name, plan.columns) for name in select.by)
    if set(columns) - set(by):
        raise InvalidInput(f"{', '.join(columns)} beside aggregates", "GROUP BY what is selected by itself")
    return plans.GroupBy(plan, by, tuple(_fold(one, plan) for one in select.chosen.items if one.function))


def _fold(one: Item, plan: plans.Operator) -> plans.Fold:
    """Return the aggregate of an item; a count is one of rows, whatever it names."""
    return plans.Fold(one.function, "" if one.function == "count" else found_column(one.column, plan.columns))
