"""The page of one archive: how it is, what is missing, where its records lie, what was done, what its queries say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.care import Audited
from tidewheel.indexing.rules.course import Course
from tidewheel.indexing.rules.status import Status
from tidewheel.pages.curves import curve, curves
from tidewheel.pages.facts import Detail, Gap, Overview
from tidewheel.pages.grid import grids
from tidewheel.pages.markup import Content, Markup, element, table, together
from tidewheel.pages.overview import gone_text, lag_text, why
from tidewheel.pages.shell import page
from tidewheel.views.figures import count, short_iso, size, through_name
from tidewheel.views.outcomes import deed_text


def detail_page(detail: Detail) -> str:
    overview = detail.overview
    parts = [
        element("p", element("a", "all archives", href="../")),
        element("h1", overview.name),
        _health(overview),
    ]
    if overview.status is not None and detail.axis is not None:
        parts += _sections(detail, overview.status, detail.axis)
    return page(f"Archive {overview.name}", *parts)


def _health(overview: Overview) -> Markup:
    action = f"{quote(overview.name, safe='')}/backfill"
    word = element("p", element("span", overview.health.word, class_="word"))
    return element("div", word, why(overview, action), class_=f"health {overview.health.word}")


def _sections(detail: Detail, status: Status, axis: TimeAxis) -> Iterator[Markup]:
    yield table((), [(element("span", name, class_="dim"), said) for name, said in _facts(status)])
    if detail.gaps:
        yield from _gaps(detail.gaps)
    if len(detail.course.ahead) > 1:
        yield element("h2", "Live records")
        yield _course(detail.course)
    yield element("h2", "Sub-indices")
    yield grids(status)
    if detail.answers or detail.queries_wrong:
        yield from _standing_queries(detail)
    yield element("h2", "Quarantine")
    yield from _quarantine(status.name, detail.overview.quarantined or {})
    yield element("h2", "History")
    yield _history(detail, axis)


def _gaps(gaps: Sequence[Gap]) -> Iterator[Markup]:
    yield element("h2", "Missing slots")
    rows = [(counted(gap.slots, "slot"), gap.start, gap.end, gap.run, element("code", gap.command)) for gap in gaps]
    yield table(("", "from", "to", "what became of it", "when their data is there, bring them with"), rows)


def _standing_queries(detail: Detail) -> Iterator[Markup]:
    yield element("h2", "Standing queries")
    if detail.queries_wrong:
        yield element("div", element("p", detail.queries_wrong), class_="health late")
    for one in detail.answers:
        yield element("h3", one.name)
        yield element("p", one.said, class_="dim") if one.said else curves(one.plot)


def _quarantine(name: str, rules: Mapping[str, int]) -> Iterator[Markup]:
    if not rules:
        yield element("p", "nothing is in quarantine", class_="dim")
        return
    yield table(("rule", "records"), [(rule, count(number)) for rule, number in rules.items()])
    yield element("p", "see them: ", element("code", f"tidewheel quarantine {name}"), class_="dim")


def _course(course: Course) -> Markup:
    series = {"stored until now": course.past, "of these, still alive then": course.ahead}
    drawn = curve("after each slot", series, sorted({*course.past, *course.ahead}), set(), {})
    last_us, left = list(course.ahead.items())[-1]
    said = f"if nothing more came, {counted(left, 'record')} would be left at {short_iso(last_us)}"
    return together([drawn, element("p", said, class_="dim")])


def _facts(status: Status) -> Iterator[tuple[str, Content]]:
    yield "table", together([element("code", status.path), f", version {status.version}"])
    yield "applied through", through_name(status.axis, status.applied)
    yield "behind now", lag_text(status)
    yield "expired through", through_name(status.axis, status.watermark)
    yield "live", f"{counted(status.rows_live, 'record')}, {size(status.bytes_live)}"
    dead = f"{counted(status.rows_dead, 'record')}, {size(status.bytes_stored - status.bytes_live)}"
    yield "dead, still stored", dead
    if status.awaiting is not None:
        yield "for vacuum", f"{size(status.awaiting.bytes)} in {counted(status.awaiting.files, 'file')}"
    if (vacuumed := status.vacuumed) is not None:
        yield "last vacuum", f"{short_iso(_minute(vacuumed.at_us))}, {size(vacuumed.bytes)} deleted"
    else:
        yield "last vacuum", "none noted"
    yield "last audit", _audit_text(status.audited)
    for hold in status.holds:
        yield "held", f"version {hold.version} until {short_iso(hold.until_us)} by {hold.holder}"
    deadline = status.deadline
    yield (
        "what expires now is gone by",
        f"{gone_text(deadline.gone_us)} (its data files by {gone_text(deadline.data_gone_us)})",
    )


def _audit_text(audited: Audited | None) -> Content:
    if audited is None:
        return "none noted"
    what = f"{counted(audited.findings, 'finding')}: see tidewheel audit" if audited.findings else "clean"
    at = short_iso(_minute(audited.at_us))
    return together(
        [f"{at}, ", element("b", what) if audited.findings else what, "" if audited.deep else ", a quick one"]
    )


def _minute(at_us: int) -> int:
    return at_us - at_us % 60_000_000


def _history(detail: Detail, axis: TimeAxis) -> Markup:
    rows = [(str(version), *_commit(receipt, axis)) for version, receipt in detail.history]
    return table(("version", "committed", "what", "stored", "set aside", "files", "bytes", "rewritten"), rows)


def _commit(receipt: Receipt, axis: TimeAxis) -> tuple[str, ...]:
    return (
        short_iso(_minute(receipt.committed_us)),
        deed_text(receipt, axis),
        count(sum(one.stored for one in receipt.slots)) if receipt.slots else "",
        count(sum(one.quarantined for one in receipt.slots)) if receipt.slots else "",
        f"+{receipt.files_added} -{receipt.files_removed}",
        f"+{size(receipt.bytes_added)} -{size(receipt.bytes_removed)}",
        counted(receipt.rows_rewritten, "row") if receipt.rows_rewritten else "",
    )
