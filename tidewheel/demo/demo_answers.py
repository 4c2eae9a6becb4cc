"""The demonstration's standing queries: answers are given once, and then follow whatever happens to the records."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from tidewheel.demo.flow_stream import FORGOTTEN
from tidewheel.indexing.printable import counted
from tidewheel.views.figures import seconds

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.demo.stage import Stage

SHOWN = "top_talkers"


def stand(stage: Stage, archive: Archive) -> None:
    """The queries stand before the first batch, so that all that comes is counted."""
    stage.chapter("Questions that stand: one small file each", "refresh {}")
    names = ", ".join(one.name for one in archive.queries.check())
    archive.queries.refresh()
    stage.say(f"{names}: from now on, what comes is counted, whether it is stored or has expired by then")


def give(stage: Stage, archive: Archive) -> None:
    """A refresh for all that came, and the newest answer of one query."""
    stage.chapter("The answers to what stands", "refresh {}")
    started = perf_counter()
    done = archive.queries.refresh()
    given = sum(len(one.reports) for one in done.due)
    names = done.names_due
    stage.say(
        f"{counted(given, 'answer')} of {len(names)} queries ({', '.join(names)}), one for every five minutes, "
        f"in {seconds(perf_counter() - started)}"
    )
    stage.number("answers", given)
    if SHOWN in names:
        stage.chapter("The newest answer", f"ask {{}} {SHOWN}")
        stage.answers(archive.queries.ask(SHOWN))


def follow(stage: Stage, archive: Archive, what: str) -> None:
    """A refresh after something happened: which answers it corrects."""
    started = perf_counter()
    done = archive.queries.refresh()
    corrected = sum(len(one.reports) for one in done.due if one.revision)
    name, took = archive.job.require_file().name, seconds(perf_counter() - started)
    made = counted(len(done.stale), "batch", "batches")
    stage.say(
        f"tidewheel refresh {name}: {made} of partials made again, {counted(corrected, 'answer')} corrected and no "
        f"other touched, in {took}"
    )
    stage.number(f"answers_corrected_{what}", corrected)


def check_forgotten(stage: Stage, archive: Archive) -> None:
    """No answer names who was forgotten."""
    if SHOWN not in {one.name for one in archive.queries.check()}:
        return
    named = archive.queries.ask(SHOWN, last=None, where=f"src_ip = '{FORGOTTEN}'").num_rows
    stage.say(f"answers of {SHOWN} that name {FORGOTTEN}: {named}")
    stage.number("answers_naming_forgotten", named)
