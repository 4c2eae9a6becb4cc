"""The page of all archives: a line for each, those that need somebody first."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.status import Status
from tidewheel.pages.facts import HEALTHY, Overview
from tidewheel.pages.markup import Content, Markup, element, table
from tidewheel.pages.shell import commands, page
from tidewheel.views.figures import count, short_iso, size, through_name

_MINUTE_US = 60_000_000
_HEADERS = ("archive", "health", "why, and what to do", "applied through", "lag", "missing", "live", "dead",
            "for vacuum", "expired now, gone by", "quarantined")  # fmt: skip


def overview_page(archives: Sequence[Overview]) -> str:
    ordered = sorted(archives, key=lambda one: (one.health.rank, one.name))
    well = sum(one.health.word == HEALTHY for one in archives)
    said = f"{counted(len(archives), 'archive')}, {well} healthy" if archives else "no archive that you may see"
    return page(
        "Archives",
        element("h1", "Archives"),
        element("p", said, class_="dim"),
        table(_HEADERS, map(_row, ordered), class_="archives"),
    )


def _row(archive: Overview) -> Markup:
    health = archive.health
    why = element("td", health.why, element("br") if health.remedy else None, commands(health.remedy), class_="why")
    cells = [
        element("td", element("a", archive.name, href=f"archives/{quote(archive.name, safe='')}")),
        element("td", element("span", health.word, class_="word")),
        why,
        *(element("td", one) for one in _figures(archive)),
    ]
    return element("tr", *cells, class_=health.word)


def _figures(archive: Overview) -> Sequence[Content]:
    status = archive.status
    if status is None:
        return [""] * (len(_HEADERS) - 3)
    return (
        through_name(status.axis, status.watermark),
        lag_text(status),
        counted(archive.slots_missing, "slot") if archive.slots_missing else "none",
        f"{count(status.rows_live)}, {size(status.bytes_live)}",
        f"{count(status.rows_dead)}, {size(status.bytes_stored - status.bytes_live)}",
        "" if status.awaiting is None else size(status.awaiting.bytes),
        gone_text(status),
        count(archive.records_quarantined),
    )


def lag_text(status: Status) -> str:
    """How far the archive is behind the present, to the second."""
    if status.lag_us is None:
        return "historic" if status.watermark is not None else ""
    return duration_text(max(0, status.lag_us) // 1_000_000 * 1_000_000)


def gone_text(status: Status) -> str:
    """When the bytes of what expires now are gone: up to the next full minute, never too early."""
    return short_iso(-(-status.deadline.gone_us // _MINUTE_US) * _MINUTE_US)
