"""The page of all archives: a line for each, those that need somebody first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.status import Status
from tidewheel.pages.facts import Overview
from tidewheel.pages.markup import Content, Markup, element, table, together
from tidewheel.pages.shell import button, commands, page, paragraphs
from tidewheel.views.figures import count, short_iso, size, through_name

_MINUTE_US = 60_000_000
_HEADERS = ("archive", "health", "why, and what to do", "behind", "live", "dead", "for vacuum",
            "bytes gone by", "quarantined")  # fmt: skip


def overview_page(archives: Sequence[Overview]) -> str:
    ordered = sorted(archives, key=lambda one: (one.health.rank, one.name))
    return page(
        "Archives",
        element("h1", "Archives"),
        _counts([one.health.word for one in ordered]),
        table(_HEADERS, map(_row, ordered), class_="archives"),
    )


def _counts(words: Sequence[str]) -> Markup:
    """How many of each health, the worst first."""
    if not words:
        return element("p", "no archive that you may see", class_="dim")
    counted_words = (
        element("span", f"{number} {word}", class_=f"word {word}") for word, number in Counter(words).items()
    )
    return element("p", *counted_words, class_="counts")


def _row(archive: Overview) -> Markup:
    place = f"archives/{quote(archive.name, safe='')}"
    cells = [
        element("td", element("a", archive.name, href=place)),
        element("td", element("span", archive.health.word, class_="word")),
        element("td", why(archive, f"{place}/backfill"), class_="why"),
        *(element("td", one) for one in _figures(archive)),
    ]
    return element("tr", *cells, class_=archive.health.word)


def why(archive: Overview, action: str) -> Markup:
    """The cause first, as far as Airflow knows it; where there is a button, no command is needed beside it."""
    health = archive.health
    return together(
        [
            element("p", health.cause, class_="cause") if health.cause else None,
            paragraphs(health.why),
            element("p", commands(health.remedy)) if health.remedy and not archive.bring.offered else None,
            bring(archive, action),
        ]
    )


def _figures(archive: Overview) -> Sequence[Content]:
    status = archive.status
    if status is None:
        return [""] * (len(_HEADERS) - 3)
    through = through_name(status.axis, status.applied)
    return (
        _two(element("span", lag_text(status), class_="lag"), f"through {through}" if through else ""),
        _two(count(status.rows_live), size(status.bytes_live)),
        _two(count(status.rows_dead), size(status.bytes_stored - status.bytes_live)) if status.rows_dead else "none",
        "" if status.awaiting is None else size(status.awaiting.bytes),
        _two(gone_text(status.deadline.data_gone_us), _log_text(status)),
        count(archive.records_quarantined) if archive.records_quarantined else "none",
    )


def _two(first: Content, second: str) -> Markup:
    return together([first, element("div", second, class_="dim")])


def bring(archive: Overview, action: str) -> Markup | None:
    """The button that brings what is missing, for who may press it; or who is at it, or what stands in its way."""
    if archive.bring.offered:
        return button(f"bring {counted(archive.slots_to_bring, 'missing slot')}", action)
    return element("p", archive.bring.said, class_="dim") if archive.bring.said else None


def lag_text(status: Status) -> str:
    """How old the newest batch is, to the second."""
    if status.lag_us is None:
        return "historic" if status.applied is not None else ""
    return duration_text(max(0, status.lag_us) // 1_000_000 * 1_000_000)


def gone_text(gone_us: int) -> str:
    """When bytes of what expires now are gone: up to the next full minute, never too early."""
    return short_iso(-(-gone_us // _MINUTE_US) * _MINUTE_US)


def _log_text(status: Status) -> str:
    """Tell when the log loses its quotes of records, if that is later than the data files."""
    deadline = status.deadline
    is_later = deadline.log_gone_us > deadline.data_gone_us
    return f"from the log by {gone_text(deadline.log_gone_us)}" if is_later else ""
