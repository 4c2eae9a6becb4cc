"""Standing queries: lists of them, what a refresh did, answers, and what stands behind a query."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.printable import counted
from tidewheel.queries.standing.meaning import call_text
from tidewheel.queries.standing.query import Query, name_of_part
from tidewheel.views.figures import count, short_iso, slots_name
from tidewheel.views.rows import value_text
from tidewheel.views.tables import Rows, long_table, plain_table

if TYPE_CHECKING:
    import pyarrow as pa

    from tidewheel.local.standing.explain import Explained, Standing
    from tidewheel.local.standing.outcome import Refreshed

ROWS_SHOWN = 100
QUERIES_SHOWN = 10


def queries_view(queries: Sequence[Query]) -> RenderableType:
    """The queries as they are understood."""
    if not queries:
        return "no query asks this archive; write one: tidewheel query new ARCHIVE NAME"
    headers = ("query", "answers", "by", "window", "slide", "counts")
    return long_table(headers, [_query_row(query) for query in queries], left=(0, 1, 2, 5))


def _query_row(query: Query) -> tuple[str, ...]:
    return (
        query.name,
        ", ".join(f"{one.name} {one.sql_type}" for one in query.outputs),
        ", ".join(one.name for one in query.groups),
        _window(query),
        duration_text(query.terms.slide_us),
        query.terms.counts.value,
    )


def standing_view(told: Sequence[Standing]) -> RenderableType:
    """The queries with how far their answers reach."""
    if not told:
        return "no query asks this archive; write one: tidewheel query new ARCHIVE NAME"
    headers = ("query", "window", "slide", "slots answered", "through", "behind")
    return long_table(headers, [_standing_row(one) for one in told], left=(0, 4))


def _standing_row(one: Standing) -> tuple[str, ...]:
    through = "" if one.given_through is None else iso(one.axis.end_us(one.given_through))
    slide = duration_text(one.query.terms.slide_us)
    behind = duration_text(one.lag_us) if one.lag_us else ""
    return one.query.name, _window(one.query), slide, count(one.slots_given), through, behind


def lag_view(told: Sequence[Standing], archive: str) -> RenderableType:
    """Show how far the answers of an archive's queries reach, those furthest behind first."""
    ordered = sorted(told, key=lambda one: (one.given_through is not None, -(one.lag_us or 0), one.query.name))
    lines = [f"query {one.query.name}: {_reach(one, archive)}" for one in ordered[:QUERIES_SHOWN]]
    hidden = len(told) - QUERIES_SHOWN
    return "\n".join(
        [*lines, f"and {hidden} more queries: tidewheel query list {shlex.quote(archive)}"] if hidden > 0 else lines
    )


def _reach(one: Standing, archive: str) -> str:
    if one.given_through is None:
        return f"not answered yet; run: tidewheel refresh {shlex.quote(archive)}"
    through = f"answered through {short_iso(one.axis.end_us(one.given_through))}"
    return f"{through}, {duration_text(one.lag_us)} behind the archive" if one.lag_us else through


def refreshed_view(done: Refreshed, axis: TimeAxis, *, dry_run: bool) -> RenderableType:
    """Show what was stale and due, with the reasons, and the versions that came of it."""
    gone = _dropped_line(done, dry_run=dry_run)
    if not (done.stale or done.due or done.answers_erased):
        rest = _left_line(done) or ("nothing else is stale" if done.wrong else "nothing is stale")
        return "\n".join(filter(None, (gone, rest)))
    table = _redone_table(done, axis)
    if dry_run:
        follow = f"; of {counted(done.missing, 'missing answer')} those are given whose windows can be read"
        told = f"nothing was changed{follow if done.missing else ''}"
        return Group(table, *filter(None, (gone, told)))
    erased = f"{counted(done.answers_erased, 'answer')} erased: forgotten; " if done.answers_erased else ""
    return Group(table, *filter(None, (gone, erased + _versions(done), _left_line(done))))


def _redone_table(done: Refreshed, axis: TimeAxis) -> RenderableType:
    table = plain_table("what", "part", "slots", "why", left=(0, 1, 2, 3))
    slots: dict[tuple[str, str, str], list[int]] = {}
    for stale in done.stale:
        slots.setdefault(("partials", stale.tree, stale.why), []).append(stale.slot)
    for due in done.due:
        slots.setdefault(("answers", name_of_part(due.part), due.why), []).append(due.slot)
    for (what, part, why), mine in sorted(slots.items(), key=lambda row: (row[0][0] != "partials", row[0])):
        table.add_row(what, part, slots_name(axis, tuple(sorted(mine))), why)
    return table


def _dropped_line(done: Refreshed, *, dry_run: bool) -> str:
    """Name the queries whose answers are removed."""
    if not done.dropped:
        return ""
    names = ", ".join(done.names_dropped)
    return f"earlier answers {'would be' if dry_run else 'were'} removed, as nobody asks for them any more: {names}"


def _versions(done: Refreshed) -> str:
    return ", ".join(
        f"{name} at version {outcome.version}"
        for name, outcome in (("partials", done.partials), ("answers", done.answers))
        if outcome is not None and outcome.version is not None
    )


def followed_line(done: Refreshed) -> str:
    """The same of a refresh behind an update, in a line."""
    gone = _dropped_line(done, dry_run=False)
    if not (done.stale or done.due or done.answers_erased):
        rest = "nothing else is stale" if done.wrong else "nothing is stale"
        return f"standing queries: {'; '.join(filter(None, (gone, rest)))}"
    given, corrected = counted(done.answers_given, "answer"), done.answers_corrected
    did = [f"{given} given" + (f", {count(corrected)} of them corrected" if corrected else "")]
    did += [f"{count(done.answers_erased)} erased"] * bool(done.answers_erased)
    return f"standing queries: {'; '.join(filter(None, (*did, gone, _versions(done))))}"


def _left_line(done: Refreshed) -> str:
    """Tell what there was no time for."""
    left = done.left
    if not left:
        return ""
    waits = [f"{counted(left.partials, 'batch', 'batches')} of partials"] * bool(left.partials)
    waits += [counted(left.answers, "answer")] * bool(left.answers)
    waits += [f"up to {counted(left.older, 'older answer')} of new queries"] * bool(left.older)
    late = f", up to {counted(left.slots_late, 'slot')} late" if left.slots_late else ""
    return f"the budget is used up; {' and '.join(waits)} wait{late}: refresh again"


def explained_view(told: Explained) -> RenderableType:
    """Show the tree, the slots and the pending work of a query."""
    tree = told.tree
    covered = ", ".join(f"{number} cover {cover}" for cover, number in told.covered.items() if number)
    reasons = Counter([*(one.why for one in told.stale), *(one.why for one in told.due)])
    redone = [f"a refresh would redo {number}: {why}" for why, number in sorted(reasons.items())]
    lines = [
        f"query {told.query.name}: window {_window(told.query)}, slide {duration_text(told.query.terms.slide_us)}",
        f"slots: {covered or 'none'}",
        *(f"  {counted(slots, 'slot')} not wholly: {why}" for why, slots in told.reasons.items()),
        *(redone or ["nothing is stale"]),
        f"tree {tree.name} serves {', '.join(told.served)}",
        f"  {told.tree_why}",
        f"  by {', '.join(one.name for one in tree.groups) or 'nothing'}; "
        f"{counted(len(tree.slices.edges), 'fragment')} in {duration_text(tree.slices.period)}; "
        f"accumulators of {', '.join(call_text(call) for call in tree.calls)}",
        *(f"  {text} is approximate: {error}" for text, error in told.errors.items()),
        f"  {count(told.partial_rows)} partial rows, kept {duration_text(tree.horizon_us)} back",
        f"  folded by {told.way}",
    ]
    return Group("\n".join(lines), "", *_techniques(told))


def _techniques(told: Explained) -> Iterator[RenderableType]:
    """Show the cost of each technique, then the reasons for which others are refused."""
    fitting = [(one, one.cost) for one in told.techniques if one.cost]
    if fitting:
        counts, edges = " or ".join(map(count, told.plan.counts)), count(len(told.plan.edges))
        every = duration_text(told.plan.period)
        yield f"{counts} fragments in a window, {edges} more every {every}; for each group, a technique takes"
        table = plain_table("technique", "operations per fragment", "at worst", "values kept", "", left=(0, 4))
        for one, cost in fitting:
            advice = f"advised for {', '.join(one.advised)}" if one.advised else ""
            table.add_row(one.technique, _mean(cost.mean), _whole(cost.worst), count(cost.values), advice)
        yield table
    refused = dict.fromkeys(one.refused for one in told.techniques if one.refused)
    if refused:
        yield "\n".join([f"{'no other' if fitting else 'no'} technique folds it, as", *(f"  {one}" for one in refused)])


def _mean(mean: float | None) -> str:
    return "not counted" if mean is None else f"{mean:,.2f}"


def _whole(worst: int | None) -> str:
    return "" if worst is None else count(worst)


def shown_view(sql: str, part: str, columns: Mapping[str, str]) -> RenderableType:
    """A query as SQL, with a comment that says where its answers are stored."""
    stored = ", ".join(f"{name} is {column}" for name, column in columns.items())
    return Text(f"{sql}\n-- in the answers' table where part = '{part}': {stored}", no_wrap=True, overflow="ignore")


def tests_view(tested: Mapping[str, int]) -> str:
    """The tests that passed, by query."""
    if not tested:
        return "no query file holds a test; write [[query.test]] with rows, report and answers"
    queries = counted(len(tested), "query", "queries")
    return f"{counted(sum(tested.values()), 'test')} of {queries} passed"


def answers_document(name: str, answers: pa.Table) -> dict[str, Any]:
    """For machines: the answers."""
    from tidewheel.sql.results.json_values import json_value
    from tidewheel.storage.python_values import dicts

    return {
        "query": name,
        "answers": [{key: json_value(value) for key, value in row.items()} for row in dicts(answers)],
    }


def answers_view(answers: pa.Table) -> RenderableType:
    """The answers as a table."""
    from tidewheel.storage.python_values import dicts

    if not answers.num_rows:
        return "no answer"
    shown = dicts(answers.slice(0, ROWS_SHOWN))
    table = Rows(answers.column_names, [[_shown(name, value) for name, value in row.items()] for row in shown])
    if answers.num_rows > ROWS_SHOWN:
        return Group(table, f"and {answers.num_rows - ROWS_SHOWN} more; --json gives all")
    return table


def lacking(name: str, archive: str, answers: pa.Table) -> str:
    """Return a warning that no answer is there, or that some are not complete."""
    why = f"tidewheel query explain {archive} {name} tells why"
    if not answers.num_rows:
        return f"query {name} has no answer here: {why} where that is not meant"
    least = min(answers.column("complete").to_pylist())
    return "" if least == 1 else f"not all of these answers count every record of their window: {why}"


def _shown(name: str, value: Any) -> str:
    if name == "complete" and value is not None:
        return f"{value if value == 1 else min(value, 0.999):.3g}"  # what is not complete never shows as 1
    return value_text(value)


def _window(query: Query) -> str:
    window_us = query.terms.window_us
    return "live" if window_us is None else duration_text(window_us)
