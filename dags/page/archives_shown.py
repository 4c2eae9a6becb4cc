"""Archives as the operator page shows them: read one by one, so that one that is damaged hides no other."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.dags.tasks.wording import typed_here
from tidewheel.dags.watch.known_runs import became_of_run, not_begun, pause_said
from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.rules.health import DAMAGED, UNREADABLE, WAITING, backfill_command, pressing

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.indexing.rules.status import Status
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


def detail_of(path: Path, overview: Overview) -> Detail:
    """The same, with all that its own page shows."""
    from tidewheel.pages.facts import Detail, Overview

    if overview.status is None:
        return Detail(overview)
    try:
        return _detail(_opened(path), overview, path)
    except Exception as error:
        return Detail(Overview(path.stem, _not_yet(path) or _unwell(error, path)))


def missing_bounds(path: Path) -> tuple[int, int] | None:
    """From the start of the first missing slot that a backfill could bring to the end of the last one."""
    archive = _opened(path)
    gaps = pressing(archive.status(listing=False))
    return (archive.axis.start_us(gaps[0][0]), archive.axis.end_us(gaps[-1][1])) if gaps else None


def _opened(path: Path) -> Archive:
    import tidewheel

    return tidewheel.open(path)


def _overview(archive: Archive, path: Path) -> Overview:
    from tidewheel.pages.facts import Overview

    status = archive.status()
    rules = Counter(one.rule for one in archive.quarantined())
    return Overview(
        path.stem,
        _health(status, str(path)),
        status,
        slots_missing=status.slots_missing,
        to_bring=pressing(status),
        quarantined=dict(rules.most_common()),
    )


def _health(status: Status, path: str) -> Health:
    from tidewheel.pages.facts import Health

    found = status.health
    said = [*(one.message for one in found.worries), *([found.said] if found.said else [])]
    remedy = typed_here(found.worries[-1].remedy, path) if found.worries else ""
    return Health(found.word, "; ".join(said), remedy, _cause(status))


def _cause(status: Status) -> str:
    """Tell what became of the run that should have brought the missing slots, or why no run will bring them."""
    paused, gaps = pause_said(status.name), pressing(status)
    if gaps:
        became = became_of_run(status.name, status.axis.start_us(gaps[-1][0]))
    elif status.freshness.is_over and status.applied_through_us is not None:
        became = became_of_run(status.name, status.applied_through_us)
    else:
        became = ""
    return "; ".join(dict.fromkeys(one for one in (paused, became) if one))


def _not_yet(path: Path) -> Health | None:
    """Return the health of an archive that never had a table, if Airflow is sure: a mount may be missing as well."""
    from tidewheel.pages.facts import Health

    try:
        archive = _opened(path)
        if archive.location.has_log():
            return None
    except Exception:
        return None
    why = not_begun(path.stem)
    return Health(WAITING, f"there is no table yet, the first update creates it: {why}") if why else None


def _unwell(error: Exception, path: Path) -> Health:
    from tidewheel.pages.facts import Health

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
        gaps=tuple(_gaps(overview.status, path)) if overview.status is not None else (),
        history=archive.history(HISTORY_SHOWN),
        answers=answers,
        queries_wrong=wrong,
    )


def _gaps(status: Status, path: Path) -> Iterator[Gap]:
    from tidewheel.pages.facts import Gap

    missing, axis = status.missing_due, status.axis
    for first, last in missing.slots:
        command = typed_here(backfill_command(status.name, axis, first, last), str(path))
        became = became_of_run(status.name, axis.start_us(first))
        absent = "its batch is not there" if missing.is_absent(first) else ""
        said = "; ".join(one for one in (became, absent) if one)
        yield Gap(axis.name(first), axis.name(last + 1), last - first + 1, command, said)


def _answers(archive: Archive) -> tuple[Sequence[Answers], str]:
    """The newest answers of every standing query; what is wrong with the query files."""
    queries = archive.queries
    try:
        found = [one.query for one in queries.standing()] if queries.are_there() else []
        return [_answered(archive, query) for query in found], queries.wrong.message if queries.wrong else ""
    except TidewheelError as error:
        return (), error.message


def _answered(archive: Archive, query: Query) -> Answers:
    from tidewheel.figures.answer_plot import AnswerPlot, answer_plot
    from tidewheel.local.standing.ask import ask
    from tidewheel.pages.facts import Answers

    try:
        plot = answer_plot(query, ask(archive.job, query, None, REPORTS_SHOWN, None))
    except TidewheelError as error:
        return Answers(query.name, AnswerPlot((), (), ()), f"{error.message}; {error.remedy}")
    return Answers(query.name, plot)
