"""Manual pages of TOML files, written from the tables of their fields."""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.indexing.toml.page import Absent, Field, Form
from tidewheel.indexing.toml.text import toml_text


def section_table(form: Form, section: str) -> str:
    """Return a section with its keys, in Markdown."""
    rows = "".join(_row(field) for field in form.fields_of(section))
    header = "| key | meaning | type | default | example |\n|---|---|---|---|---|\n"
    return f"## [{section}]\n\n{form.sections[section]}\n\n{header}{rows}\n"


def full_page(form: Form) -> str:
    """Return a file that sets every key once; of keys that exclude each other, only the first."""
    return "\n".join("\n".join(_example_lines(form, section)) + "\n" for section in form.sections)


def _row(field: Field) -> str:
    cells = (
        f"`{field.key}`",
        field.meaning + " Never changes in place." * field.fixed,
        field.kind.title,
        _default(field),
        f"`{toml_text(field.example)}`",
    )
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _default(field: Field) -> str:
    if field.default is Absent.FAULT:
        return "required"
    if field.default is Absent.DECIDED_BY_RULE:
        return field.default_note
    return f"`{toml_text(field.default)}`"


def _example_lines(form: Form, section: str) -> Iterator[str]:
    """Return a section's lines; tables come last, under headers of their own."""
    fields = [field for field in form.fields_of(section) if not field.alternative]
    yield f"[{section}]"
    for field in fields:
        if not isinstance(field.example, dict):
            yield f"{field.key} = {toml_text(field.example)}"
    for field in fields:
        if isinstance(field.example, dict):
            yield f"\n[{section}.{field.key}]"
            yield from (f"{name} = {toml_text(value)}" for name, value in field.example.items())
