"""Read an archive file: all of its faults at once, or an `ArchiveFile` in which nothing is left to doubt.

1. Parse the text as TOML. A syntax error is the only fault then: nothing behind it can be trusted.
2. Check each section and key against the table in `archive_fields`, each value by its kind.
3. Check what must hold between keys (`archive_rules`), on the values that passed.
4. Any fault so far: raise one error with all of them in the order of their lines. None: build the result.

The text comes in from outside, and paths and `${ENV:NAME}` references go out as they stand in it: no file and
no environment is touched here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tidewheel.indexing.archive_fields import FIELDS, SECTIONS, Absent, Field, fields_of
from tidewheel.indexing.archive_rules import RULES, Settings, settled
from tidewheel.indexing.definition import ArchiveFile, Policy, Retention, Schedule, Source, SourceKind
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.layouts import MEBIBYTE, Generation, Layout
from tidewheel.indexing.slots import TimeAxis
from tidewheel.indexing.toml_lines import key_lines, line_of
from tidewheel.indexing.toml_text import toml_text

_SHOWN_MAX = 60
_REFERENCE = "docs/archive-file.md"


@dataclass(frozen=True)
class Fault:
    """One thing to mend; `place` is the section, key and value as messages show them."""

    file_name: str
    line: int
    place: str
    wrong: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file_name}:{self.line} {self.place}: {self.wrong}; {self.remedy}"


def parse_archive_file(text: str, file_name: str) -> ArchiveFile:
    """The archive that a file's text describes; `InvalidInput` with all its faults (`values["faults"]`)."""
    page = _Page(text, file_name)
    faults = [*page.unknown(), *page.read()]
    settings = Settings(page.values, page.given)
    for rule in RULES:
        faults += [page.fault(breach.place, breach.wrong, breach.remedy) for breach in rule(settings)]
    if faults:
        raise _error(file_name, sorted(faults, key=lambda fault: fault.line))
    return _archive_file(settled(settings), settings.source_kind or SourceKind.FILES)


class _Page:
    """One file's content with its lines; `read` fills `values` with what passed its check."""

    def __init__(self, text: str, file_name: str) -> None:
        self._file_name = file_name
        self._document = _document(text, file_name)
        self._lines = key_lines(text)
        self.values: dict[str, Any] = {}

    @property
    def given(self) -> frozenset[str]:
        """The places that the file sets."""
        return frozenset(field.place for field in FIELDS if field.key in self._section(field.section))

    def unknown(self) -> Iterator[Fault]:
        """Sections and keys that the table of fields does not know."""
        for section, content in self._document.items():
            if section not in SECTIONS:
                yield self._unknown_name("section", section, list(SECTIONS), (section,))
            elif not isinstance(content, dict):
                yield self._located((section,), f"[{section}]", "not a section", f"write it as [{section}]")
            else:
                known = [field.key for field in fields_of(section)]
                for key in content:
                    if key not in known:
                        yield self._unknown_name("key", key, known, (section, key))

    def read(self) -> Iterator[Fault]:
        """Check every value, and put it or its default into `values`."""
        for field in FIELDS:
            content = self._section(field.section)
            if field.key not in content and field.default is Absent.FAULT:
                yield self.fault(field.place, "required", f"add a line such as {_example(field)}")
            elif field.key in content or not isinstance(field.default, Absent):
                try:
                    self.values[field.place] = field.kind.check(content.get(field.key, field.default))
                except InvalidInput as error:
                    for part in error.values.get("each", (error,)):
                        yield self.fault(field.place, part.message, part.remedy, part.values.get("within", ()))

    def fault(self, place: str, wrong: str, remedy: str, within: tuple[str, ...] = ()) -> Fault:
        """A fault at "section.key" or "section", with the value there; `within` leads on to its line only."""
        section, _, key = place.partition(".")
        shown = f"[{section}] {key}".rstrip()
        # Options may hold secrets: their faults name them and never show them.
        if key in self._section(section) and key != "options":
            shown += f" = {_shortened(toml_text(self._section(section)[key]))}"
        return self._located((*place.split("."), *within), shown, wrong, remedy)

    def _section(self, section: str) -> dict[str, Any]:
        content = self._document.get(section)
        return content if isinstance(content, dict) else {}

    def _unknown_name(self, what: str, name: str, known: list[str], path: tuple[str, ...]) -> Fault:
        close = get_close_matches(name, known, n=1)
        remedy = f"did you mean {close[0]}? known are" if close else "known are"
        shown = f"[{path[0]}]" if what == "section" else f"[{path[0]}] {_shortened(name)}"
        return self._located(path, shown, f"unknown {what} {_shortened(name)}", f"{remedy} {', '.join(known)}")

    def _located(self, path: tuple[str, ...], place: str, wrong: str, remedy: str) -> Fault:
        return Fault(self._file_name, line_of(self._lines, path), place, wrong, remedy)


def _document(text: str, file_name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text, file_name) from None
    except (ValueError, RecursionError):
        # Numbers of thousands of digits, and brackets nested that deep.
        fault = Fault(file_name, 1, "TOML", "a number or a nesting beyond all bounds", f"see {_REFERENCE}")
        raise _error(file_name, [fault]) from None


def _syntax_error(message: str, text: str, file_name: str) -> InvalidInput:
    """The parser's message, with its place in the form that editors can follow."""
    match = re.fullmatch(r"(?s)(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message)
    wrong, line, column = match.groups() if match else (message, None, None)
    last_line = text.count("\n") + 1
    fault = Fault(
        file_name,
        int(line or last_line),
        f"column {column or len(text) - text.rfind(chr(10))}",
        f"not TOML: {_shortened(wrong[:1].lower() + wrong[1:])}",
        "mend this first, other faults show after it",
    )
    return _error(file_name, [fault])


def _error(file_name: str, faults: list[Fault]) -> InvalidInput:
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    listed = "\n".join(f"  {fault}" for fault in faults)
    return InvalidInput(
        f"{file_name} has {count}; nothing was changed\n{listed}",
        f"mend the file; {_REFERENCE} explains every key",
        faults=tuple(faults),
    )


def _example(field: Field) -> str:
    return f"{field.key} = {toml_text(field.example)}"


def _shortened(text: str) -> str:
    """A text fit for one line of a message."""
    visible = text if text.isprintable() else repr(text)[1:-1]
    return visible if len(visible) <= _SHOWN_MAX else f"{visible[: _SHOWN_MAX - 1]}…"


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
        source=Source(kind=source_kind, **_named(values, "source")),
        policy=Policy(**_named(values, "policy")),
        retention=Retention(**{f"{key}_us": value for key, value in _named(values, "retention").items()}),
        schedule=_schedule(values),
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


def _schedule(values: dict[str, Any]) -> Schedule:
    named = _named(values, "schedule")
    return Schedule(
        named["cron"], named["catchup"], named["pool"], freshness_us=named["freshness"], start_us=named["start"]
    )


def _named(values: dict[str, Any], section: str) -> dict[str, Any]:
    """A section's values by key; keys are named as the fields of the class they fill."""
    return {field.key: values[field.place] for field in fields_of(section)}
