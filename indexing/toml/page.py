"""A TOML page whose keys stand in a table of fields: every value checked, all faults collected with their lines.

Archive files and query files are such pages. What must hold between keys is the business of their rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from difflib import get_close_matches
from enum import Enum, auto
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.indexing.toml.kinds import ValueKind
from tidewheel.indexing.toml.lines import KeyPath, key_lines, line_of
from tidewheel.indexing.toml.text import toml_text

_SHOWN_MAX = 60


class Absent(Enum):
    """The meaning of a key that is not in the file, unless it has a fixed default."""

    FAULT = auto()
    DECIDED_BY_RULE = auto()


@dataclass(frozen=True)
class Field:
    """One key: `default` and `example` are written as the file would hold them."""

    section: str
    key: str
    kind: ValueKind
    meaning: str
    example: object
    default: object = Absent.FAULT
    default_note: str = ""
    # Another way to say what another key says: left out of the full example.
    alternative: bool = False
    # What is there was made by it: a later change is refused.
    fixed: bool = False

    @property
    def place(self) -> str:
        return f"{self.section}.{self.key}"


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


@dataclass(frozen=True)
class Form:
    """The keys of a page, and the reference that explains them."""

    fields: Sequence[Field]
    sections: Mapping[str, str]
    reference: str

    def fields_of(self, section: str) -> list[Field]:
        return [field for field in self.fields if field.section == section]


@dataclass
class Page:
    """One page's content with its lines; `read` fills `values` with what passed its check.

    `lines_of` leads from a section to where it stands in the file: ("query", "#2") for the third of several.
    """

    form: Form
    file_name: str
    document: Mapping[str, Any]
    lines: Mapping[KeyPath, int]
    lines_of: Mapping[str, KeyPath] = dataclass_field(default_factory=dict)
    values: dict[str, Any] = dataclass_field(default_factory=dict)

    @property
    def given(self) -> frozenset[str]:
        """Return the places that the file sets."""
        return frozenset(field.place for field in self.form.fields if field.key in self._section(field.section))

    def unknown(self) -> Iterator[Fault]:
        """Return the sections and keys that the table of fields does not know."""
        sections = self.form.sections
        for section, content in self.document.items():
            if section not in sections:
                yield self._unknown_name("section", section, list(sections), (section,))
            elif not isinstance(content, dict):
                yield self._located((section,), f"[{section}]", "not a section", f"write it as [{section}]")
            else:
                known = [field.key for field in self.form.fields_of(section)]
                for key in content:
                    if key not in known:
                        yield self._unknown_name("key", key, known, (section, key))

    def read(self) -> Iterator[Fault]:
        """Check every value, and put it or its default into `values`."""
        for field in self.form.fields:
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
        """Return a fault at "section.key" or "section", with the value there; `within` leads on to its line only."""
        section, _, key = place.partition(".")
        shown = f"[{section}] {key}".rstrip()
        # Options may hold secrets: their faults name them and never show them.
        if key in self._section(section) and key != "options":
            shown += f" = {shortened(toml_text(self._section(section)[key]))}"
        return self._located((*place.split("."), *within), shown, wrong, remedy)

    def _section(self, section: str) -> dict[str, Any]:
        content = self.document.get(section)
        return content if isinstance(content, dict) else {}

    def _unknown_name(self, what: str, name: str, known: list[str], path: KeyPath) -> Fault:
        close = get_close_matches(name, known, n=1)
        remedy = f"did you mean {close[0]}? known are" if close else "known are"
        shown = f"[{path[0]}]" if what == "section" else f"[{path[0]}] {shortened(name)}"
        return self._located(path, shown, f"unknown {what} {shortened(name)}", f"{remedy} {', '.join(known)}")

    def _located(self, path: KeyPath, place: str, wrong: str, remedy: str) -> Fault:
        section, *rest = path
        line = line_of(self.lines, (*self.lines_of.get(section, (section,)), *rest))
        return Fault(self.file_name, line, place, wrong, remedy)


def page_content(text: str, file_name: str, reference: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Return a TOML text's content and the lines of its keys.

    A syntax error is the only fault: the rest cannot be trusted.
    """
    try:
        return tomllib.loads(text), key_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text, file_name, reference) from None
    except (ValueError, RecursionError):
        # Numbers of thousands of digits, and brackets nested that deep.
        fault = Fault(file_name, 1, "TOML", "a number or a nesting beyond all bounds", f"see {reference}")
        raise faulty(file_name, [fault], reference) from None


def faulty(file_name: str, faults: Iterable[Fault], reference: str, so: str = "nothing was changed") -> InvalidInput:
    """Return one error with all faults of a file, in the order of their lines (`values["faults"]`)."""
    ordered = sorted(faults, key=lambda fault: fault.line)
    count = counted(len(ordered), "fault")
    listed = "\n".join(f"  {fault}" for fault in ordered)
    return InvalidInput(
        f"{file_name} {'have' if ', ' in file_name else 'has'} {count}; {so}\n{listed}",
        f"mend the file; {reference} explains every key",
        faults=tuple(ordered),
    )


def shortened(text: str) -> str:
    """Return a text fit for one line of a message."""
    visible = text if text.isprintable() else repr(text)[1:-1]
    return visible if len(visible) <= _SHOWN_MAX else f"{visible[: _SHOWN_MAX - 1]}…"


def _syntax_error(message: str, text: str, file_name: str, reference: str) -> InvalidInput:
    """Return the parser's message, with its place in the form that editors can follow."""
    match = re.fullmatch(r"(?s)(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message)
    wrong, line, column = match.groups() if match else (message, None, None)
    last_line = text.count("\n") + 1
    fault = Fault(
        file_name,
        int(line or last_line),
        f"column {column or len(text) - text.rfind(chr(10))}",
        f"not TOML: {shortened(wrong[:1].lower() + wrong[1:])}",
        "mend this first, other faults show after it",
    )
    return faulty(file_name, [fault], reference)


def _example(field: Field) -> str:
    return f"{field.key} = {toml_text(field.example)}"
