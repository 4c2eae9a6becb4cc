"""The manual page of the command line, docs/cli.md, written from the help of the commands themselves.

`python -m tidewheel.cli_reference` writes it and the other generated pages into docs/. Every example stands in
the help of its command, where a test runs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from tidewheel.cli import main
from tidewheel.commands import LEAVES
from tidewheel.indexing.archive_file.reference import archive_file_reference
from tidewheel.queries.standing.query_reference import query_file_reference

_OPENING = """\
# The command line

This page is generated from `tidewheel COMMAND --help`; `make docs` writes it anew.

"""


def cli_reference() -> str:
    """The whole page, in Markdown."""
    return _OPENING + _group_text() + "".join(_command_text(name, command) for name, command in LEAVES.items())


def examples_of(command: click.Command) -> list[str]:
    """The command lines of a help text's examples."""
    _, _, examples = inspect.cleandoc(command.help or "").partition("Examples:")
    return [line.strip() for line in examples.splitlines() if line.strip()]


def _group_text() -> str:
    lines = [f"- [`{name}`](#{name.replace(' ', '-')}): {command.short_help}" for name, command in LEAVES.items()]
    return f"{_prose(main.help or '')}\n\n## Commands\n\n" + "\n".join(lines) + "\n\n"


def _command_text(name: str, command: click.Command) -> str:
    """One command: what it does, how it is called, its options, its examples."""
    context = click.Context(command, info_name=f"tidewheel {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    prose, _, _ = (command.help or "").partition("Examples:")
    options = "\n".join(_option_rows(command, context))
    examples = "\n".join(examples_of(command))
    return (
        f"## {name}\n\n{_prose(prose)}\n\n```text\n{' '.join(usage.split())}\n```\n\n"
        f"| option | meaning |\n|---|---|\n{options}\n\n```sh\n{examples}\n```\n\n"
    )


def _option_rows(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            name, meaning = (part.replace("|", "&#124;") for part in record)
            yield f"| `{name}` | {' '.join(meaning.split())} |"


def _prose(text: str) -> str:
    """Return help text as Markdown: paragraphs, and below a mark that keeps click from wrapping, lines as they are."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(_paragraph(one) for one in paragraphs if one.replace("\b", "").strip())


def _paragraph(text: str) -> str:
    heading, *lines = text.replace("\b", "").strip("\n").splitlines()
    if "\b" not in text or not all(line.startswith("  ") for line in lines):
        return " ".join(text.replace("\b", "").split())
    return f"{heading}\n\n```text\n{inspect.cleandoc(chr(10).join(['', *lines]))}\n```"


def pages() -> dict[str, str]:
    """All that is generated, by the file in docs/."""
    return {
        "cli.md": cli_reference(),
        "archive-file.md": archive_file_reference(),
        "query-file.md": query_file_reference(),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        Path("docs", name).write_text(text, encoding="utf-8")
