"""The status of an archive on one page: where it stands, what is missing, the grid, and the deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidewheel.figures.heatmap import HeatMap
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.printable import counted
from tidewheel.indexing.rules.deadline import Deadline, Part
from tidewheel.indexing.rules.due import Ranges, slots_in
from tidewheel.indexing.rules.health import HEALTHY, OVERDUE
from tidewheel.indexing.rules.status import Status
from tidewheel.views.figures import count, share, short_iso, size, through_name

_GAPS_SHOWN = 5


def status_view(status: Status, backfill: str) -> RenderableType:
    """Everything, the grid in the middle; `backfill` is the command that fills what is missing."""
    facts = Table.grid(padding=(0, 2))
    for name, text in _facts(status, backfill):
        facts.add_row(name, text)
    deadline = Table.grid(padding=(0, 2))
    for name, text in _deadline(status.deadline):
        deadline.add_row(name, text)
    return Group(facts, "", HeatMap(status.generations, status.grid), "", deadline)


def _facts(status: Status, backfill: str) -> Iterator[tuple[str, Text | str]]:
    yield "archive", Text.assemble((status.name, "bold"), f" at {status.path}, version {status.version}")
    yield "health", _health(status)
    yield "applied", _applied(status)
    if status.watermark != status.applied:
        yield "expired", f"through {through_name(status.axis, status.watermark)}"
    yield "missing", _missing(status, backfill)
    if status.lost:
        yield "lost", _lost(status)
    if status.set_aside != {}:
        yield "set aside", _set_aside(status)
    dead, stored = status.rows_dead, status.rows_live + status.rows_dead
    leaving = f"{count(dead)} dead ({share(dead, stored)} of what is stored)" if dead else "none dead"
    yield "records", f"{count(status.rows_live)} live, {leaving}"
    yield "stored", f"{size(status.bytes_stored)} in {counted(status.files, 'file')}"
    if status.awaiting is not None:
        waiting = status.awaiting
        yield "for vacuum", f"{size(waiting.bytes)} in {counted(waiting.files, 'file')} no longer in the archive"
    yield from _care(status)
    if status.holds:
        yield (
            "held",
            "; ".join(f"version {one.version} until {short_iso(one.until_us)} by {one.holder}" for one in status.holds),
        )


def _care(status: Status) -> Iterator[tuple[str, Text | str]]:
    if (vacuumed := status.vacuumed) is not None:
        yield "vacuumed", f"{short_iso(vacuumed.at_us)}, {size(vacuumed.bytes)} deleted"
    if (audited := status.audited) is not None:
        what = Text(f"{counted(audited.findings, 'finding')}", style="bold red") if audited.findings else Text("clean")
        yield "audited", Text.assemble(f"{short_iso(audited.at_us)}, ", what, "" if audited.deep else ", a quick one")


def _health(status: Status) -> Text:
    """The word, and each worry on a line of its own with what to do."""
    health = status.health
    colour = {HEALTHY: "green", OVERDUE: "bold red"}.get(health.word, "yellow")
    told = [f"{one.message}\n  {one.remedy}" for one in health.worries] + ([health.said] if health.said else [])
    return Text("\n".join([health.word, *told]), style=colour)


def _applied(status: Status) -> Text | str:
    through = through_name(status.axis, status.applied)
    if status.applied is None:
        return through
    if status.lag_us is None:
        return f"through {through} (historic data: its end is the present)"
    return f"through {through}, {duration_text(_seconds(max(0, status.lag_us)))} behind now"


def _missing(status: Status, backfill: str) -> Text | str:
    """List the missing slots by the schedule, if one is known; slots that it does not owe are told as well."""
    if not status.missing and not status.slots_missing:
        return "no slot"
    if status.slots_missing or not status.has_schedule:
        gaps = status.missing_due.slots if status.has_schedule else status.missing
        return Text(f"{_listed(status, gaps)}; fill them: {backfill}", style="yellow")
    return f"none that was due; never brought were {_listed(status, status.missing)}; fill them: {backfill}"


def _listed(status: Status, gaps: Ranges) -> str:
    axis = status.axis
    shown = [f"{short_iso(axis.start_us(a))} to {short_iso(axis.end_us(b))}" for a, b in gaps[:_GAPS_SHOWN]]
    more = len(gaps) - len(shown)
    return f"{counted(slots_in(gaps), 'slot')}: {', '.join(shown)}{f' and {more} more gaps' if more else ''}"


def _set_aside(status: Status) -> Text:
    if status.set_aside is None:
        return Text(f"the quarantine cannot be read; see: tidewheel audit {status.name}", style="bold red")
    rules = ", ".join(f"{rule} {count(records)}" for rule, records in status.set_aside.items())
    records = counted(sum(status.set_aside.values()), "record")
    return Text(f"{records} in quarantine ({rules}); see them: tidewheel quarantine {status.name}", style="yellow")


def _lost(status: Status) -> Text:
    messages, (first, _) = sum(lost for _, lost in status.lost), status.lost[0]
    slots = f"{counted(len(status.lost), 'slot')}, the first {short_iso(status.axis.start_us(first))}"
    return Text(f"{counted(messages, 'message')} of {slots}: gone from the topic when read", style="bold red")


def _deadline(deadline: Deadline) -> Iterator[tuple[str, Text | str]]:
    """When the bytes of what expires now are gone, and the parts that add up to it."""
    gone, data = short_iso(_minute(deadline.gone_us)), short_iso(_minute(deadline.data_gone_us))
    if deadline.log_gone_us > deadline.data_gone_us:
        yield "deadline", Text.assemble("what expires now is gone by ", (gone, "bold"), f" (its data files by {data})")
    else:
        yield "deadline", Text.assemble("what expires now is gone by ", (gone, "bold"))
    yield "  data", _parts(deadline.data)
    yield "  log", _parts(deadline.log)
    if deadline.unstored:
        yield "  not stored", f"{_parts(deadline.unstored)}, at the latest, after it came"
    for assumption in deadline.assumes:
        yield "  if", Text(assumption, style="dim")


def _parts(parts: Sequence[Part]) -> str:
    return " + ".join(f"{part.name} {duration_text(_seconds(part.duration_us))}" for part in parts if part.duration_us)


def _minute(moment_us: int) -> int:
    """Up to the next full minute: a deadline is never told too early."""
    return -(-moment_us // 60_000_000) * 60_000_000


def _seconds(duration_us: int) -> int:
    return -(-duration_us // 1_000_000) * 1_000_000
