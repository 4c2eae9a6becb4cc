"""The query files that lie beside archive files, as they are: which archive each query asks, and which tell of none."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.toml.page import Fault
from tidewheel.queries.standing.query import QueryText
from tidewheel.queries.standing.query_file import read_query_file, told_apart

FOLDER = "queries"


def read_texts(folder: Path) -> tuple[list[QueryText], list[Fault]]:
    """The queries of the files *.toml in the folder `queries` beside the archive files; which files tell of none."""
    texts: list[QueryText] = []
    unread: list[Fault] = []
    for path in sorted((folder / FOLDER).glob("*.toml")):
        try:
            texts += read_query_file(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            unread.append(Fault(str(path), 1, "file", f"cannot be read: {one_line(str(error))}", "check the file"))
        except InvalidInput as error:
            unread += error.values["faults"]
    return told_apart(texts), unread


def may_ask(folder: Path, name: str) -> bool:
    """Whether a query there asks the archive of this name, or may: a file that tells of none is no proof."""
    texts, unread = read_texts(folder)
    return bool(unread) or any(text.of in (name, "") for text in texts)


def archive_names(folder: Path) -> Iterator[str]:
    """The names that the archive files of a folder say, as far as they can be read."""
    for path in folder.glob("*.toml"):
        with suppress(OSError, ValueError):
            yield str(tomllib.loads(path.read_text(encoding="utf-8")).get("archive", {}).get("name", path.stem))
