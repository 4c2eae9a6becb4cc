"""Archives as the operator page shows them: read one by one, so that one that is damaged hides no other."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.dags.due import Ranges, due_now
from tidewheel.dags.known_runs import became_of_run, not_begun
from tidewheel.dags.watching import backfill_command, missing_slots, worries
from tidewheel.dags.wording import typed_here
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.printable import one_line

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.pages.facts import Answers, Detail, Gap, Health, Overview
    from tidewheel.queries.standing.query import Query

LOG = logging.getLogger(__name__)
HISTORY_SHOWN = 20
REPORTS_SHOWN = 48


def overview_of(path: Path) -> Overview:
    """One archive by its file; what cannot be read says so and why."""
    from tidewheel.pages.facts import Overview

    try:
        return _overview(_opened(path), path)
    except Exception as error:
        return Overview(path.stem, _not_yet(path) or _unwell(error, path))


def detail_of(path: Path) -> Detail:
    """The same, with all that its own page shows."""
    from tidewheel.pages.facts import Detail, Overview

    try:
        archive = _opened(path)
        return _detail(archive, _overview(archive, path), path)
    except Exception as error:
        return Detail(Overview(path.stem, _not_yet(path) or _unwell(error, path)))


def missing_bounds(path: Path) -> tuple[str, str] | None:
    """From the first missing slot's start to the last one's end."""
    archive = _opened(path)
    gaps = missing_slots(_state(archive), due_now(archive))
    return (iso(archive.axis.start_us(gaps[0][0])), iso(archive.axis.end_us(gaps[-1][1]))) if gaps else None


def _opened(path: Path) -> Archive:
    import tidewheel

    return tidewheel.open(path)


def _overview(archive: Archive, path: Path) -> Overview:
    from tidewheel.pages.facts import Overview

    status, state, due = archive.status(), _state(archive), due_now(archive)
    missing = sum(last - first + 1 for first, last in missing_slots(state, due))
    rules = Counter(one.rule for one in archive.quarantined())
    return Overview(
        path.stem, _health(state, due, status.now_us, str(path)), status, missing, dict(rules.most_common())
    )


def _health(state: TableState, due: Ranges, now_us: int, path: str) -> Health:
    from tidewheel.pages.facts import HEALTHY, LATE, WAITING, Health

    found = worries(state, due, now_us)
    if found:
        why = "; ".join(one.message for one in found)
        gaps = missing_slots(state, due)
        axis, name = state.definition.axis, state.definition.name
        cause = became_of_run(name, axis.start_us(gaps[-1][0])) if gaps else ""
        return Health(LATE, why, typed_here(found[-1].remedy, path), cause)
    if state.watermark is None:
        return Health(WAITING, "nothing was applied yet")
    return Health(HEALTHY)


def _not_yet(path: Path) -> Health | None:
    """Of an archive without a table, if Airflow knows that there was never one: a mount may be missing as well."""
    from tidewheel.pages.facts import WAITING, Health

    try:
        if _opened(path).location.has_log():
            return None
    except Exception:
        return None
    why = not_begun(path.stem)
    return Health(WAITING, f"there is no table yet, the first update creates it: {why}") if why else None


def _unwell(error: Exception, path: Path) -> Health:
    from tidewheel.pages.facts import DAMAGED, UNREADABLE, Health

    if isinstance(error, TidewheelError):
        word = DAMAGED if error.kind == DAMAGED else UNREADABLE
        return Health(word, error.message, typed_here(error.remedy, str(path)))
    LOG.exception("the archive of %s could not be looked at", path)
    return Health(UNREADABLE, f"{type(error).__name__}: {one_line(str(error))}", "see the api-server's log")


def _detail(archive: Archive, overview: Overview, path: Path) -> Detail:
    from tidewheel.pages.facts import Detail

    answers, wrong = _answers(archive)
    return Detail(
        overview,
        archive.axis,
        course=archive.course(),
        gaps=tuple(_gaps(archive, path)),
        history=archive.history(HISTORY_SHOWN),
        answers=answers,
        queries_wrong=wrong,
    )


def _gaps(archive: Archive, path: Path) -> Iterator[Gap]:
    from tidewheel.pages.facts import Gap

    state, axis = _state(archive), archive.axis
    for first, last in missing_slots(state, due_now(archive)):
        command = typed_here(backfill_command(state.definition, first, last), str(path))
        became = became_of_run(state.definition.name, axis.start_us(first))
        yield Gap(axis.name(first), axis.name(last + 1), last - first + 1, command, became)


def _answers(archive: Archive) -> tuple[Sequence[Answers], str]:
    """The newest answers of every standing query; what is wrong with the query files."""
    queries = archive.queries
    try:
        found = [one.query for one in queries.standing()] if queries.are_there() else []
        return [_answered(archive, query) for query in found], queries.wrong.message if queries.wrong else ""
    except TidewheelError as error:
        return (), error.message


def _answered(archive: Archive, query: Query) -> Answers:
    from tidewheel.answer_plot import AnswerPlot, answer_plot
    from tidewheel.local.standing.asking import ask
    from tidewheel.pages.facts import Answers

    try:
        plot = answer_plot(query, ask(archive.job, query, None, REPORTS_SHOWN, None))
    except TidewheelError as error:
        return Answers(query.name, AnswerPlot((), (), ()), f"{error.message}; {error.remedy}")
    return Answers(query.name, plot)


def _state(archive: Archive) -> TableState:
    from tidewheel.storage.ledger_store import state_of

    return state_of(archive.snapshot())
