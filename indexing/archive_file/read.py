"""Read an archive file: all of its faults at once, or an `ArchiveFile` in which nothing is left to doubt.

1. Parse the text as TOML. A syntax error is the only fault then: nothing behind it can be trusted.
2. Check each section and key against the table in `archive_fields`, each value by its kind.
3. Check what must hold between keys (`archive_rules`), on the values that passed.
4. Any fault so far: raise one error with all of them in the order of their lines. None: build the result.

The text comes in from outside, and paths and `${ENV:NAME}` references go out as they stand in it: no file and
no environment is touched here.
"""

from __future__ import annotations

from typing import Any

from tidewheel.indexing.archive_file.fields import FORM
from tidewheel.indexing.archive_file.rules import RULES, Settings, settled
from tidewheel.indexing.core.definition import ArchiveFile, Policy, Retention, Schedule, Sharing, Source, SourceKind
from tidewheel.indexing.core.layouts import MEBIBYTE, Generation, Layout
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.toml.page import Page, faulty, page_content


def parse_archive_file(text: str, file_name: str) -> ArchiveFile:
    """Return the archive that a file's text describes; raise one error with all its faults (`values["faults"]`)."""
    page = Page(FORM, file_name, *page_content(text, file_name, FORM.reference))
    faults = [*page.unknown(), *page.read()]
    settings = Settings(page.values, page.given)
    for rule in RULES:
        faults += [page.fault(breach.place, breach.wrong, breach.remedy) for breach in rule(settings)]
    if faults:
        raise faulty(file_name, faults, FORM.reference)
    return _archive_file(settled(settings), settings.source_kind or SourceKind.FILES)


def _archive_file(values: dict[str, Any], source_kind: SourceKind) -> ArchiveFile:
    axis = TimeAxis(values["time.interval"], values["time.epoch"])
    return ArchiveFile(
        name=values["archive.name"],
        path=values["archive.path"],
        key=values["archive.key"],
        expires_at=values["archive.expires_at"],
        inserted_at=values["archive.inserted_at"],
        clock=values["archive.clock"],
        axis=axis,
        max_lifetime_us=values["time.max_lifetime"],
        generation=_generation(values, axis.span(values["time.max_lifetime"])),
        source=_source(values, source_kind),
        policy=Policy(**_named(values, "policy")),
        retention=Retention(**{f"{key}_us": value for key, value in _named(values, "retention").items()}),
        schedule=_schedule(values),
        queries=Sharing(**_named(values, "queries")),
    )


def _generation(values: dict[str, Any], span: int) -> Generation:
    named = _named(values, "layout")
    layout = Layout(
        named["kind"], named["insertion_classes"], named["expiration_classes"], span=span, seed=named["seed"]
    )
    return Generation(
        number=0,
        layout=layout,
        strategy=named["strategy"],
        dead_share_max=named["dead_share_max"],
        runs_max=named["runs_max"],
        target_file_bytes=named["target_file_mb"] * MEBIBYTE,
    )


def _source(values: dict[str, Any], kind: SourceKind) -> Source:
    named = _named(values, "source")
    return Source(kind=kind, lateness_us=named.pop("lateness"), **named)


def _schedule(values: dict[str, Any]) -> Schedule:
    named = _named(values, "schedule")
    return Schedule(
        named["cron"], named["catchup"], named["pool"], freshness_us=named["freshness"], start_us=named["start"]
    )


def _named(values: dict[str, Any], section: str) -> dict[str, Any]:
    """Return a section's values by key; keys are named as the fields of the class they fill."""
    return {field.key: values[field.place] for field in FORM.fields_of(section)}
