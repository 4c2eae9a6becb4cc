"""The query files that lie beside archive files, as they are: which archive each query asks, and which tell of none."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO
from pathlib import Path

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.toml.page import Fault
from tidewheel.queries.standing.query import DIGEST_BYTES, QueryText
from tidewheel.queries.standing.query_file import read_query_file, told_apart

FOLDER = "queries"


@dataclass(frozen=True)
class QueryFiles:
    """The files *.toml in the folder `queries` beside the archive files, as bytes; `unread` says why some lack."""

    contents: Mapping[Path, bytes]
    unread: Mapping[Path, str]

    @staticmethod
    def read(folder: Path) -> QueryFiles:
        """Read all files of the folder, and parse none."""
        contents, unread = {}, {}
        for path in sorted((folder / FOLDER).glob("*.toml")):
            try:
                contents[path] = path.read_bytes()
            except OSError as error:
                unread[path] = one_line(str(error))
        return QueryFiles(contents, unread)

    def digest(self, basis: str) -> str:
        """A digest of all files and of what they are compiled against; "" if a file cannot be read."""
        if self.unread:
            return ""
        whole = blake2b(basis.encode(), digest_size=DIGEST_BYTES)
        for path, content in self.contents.items():
            whole.update(f"\0{path.name}\0{len(content)}\0".encode())
            whole.update(content)
        return whole.hexdigest()

    def texts(self) -> tuple[list[QueryText], list[Fault]]:
        """The queries of the files; which files tell of none."""
        texts: list[QueryText] = []
        unread = [_unreadable(path, why) for path, why in self.unread.items()]
        for path, content in self.contents.items():
            try:
                texts += read_query_file(StringIO(content.decode(), newline=None).read(), str(path))
            except UnicodeDecodeError as error:
                unread.append(_unreadable(path, one_line(str(error))))
            except InvalidInput as error:
                unread += error.values["faults"]
        return told_apart(texts), unread


def _unreadable(path: Path, why: str) -> Fault:
    return Fault(str(path), 1, "file", f"cannot be read: {why}", "check the file")


def read_texts(folder: Path) -> tuple[list[QueryText], list[Fault]]:
    """The queries of the query files beside the archive files; which files tell of none."""
    return QueryFiles.read(folder).texts()


def may_ask(folder: Path, name: str) -> bool:
    """Tell whether a query there asks the archive of this name, or may: a file that names no archive proves nothing."""
    texts, unread = read_texts(folder)
    return bool(unread) or any(text.of in (name, "") for text in texts)


def archive_names(folder: Path) -> Iterator[str]:
    """The names that the archive files of a folder say, as far as they can be read."""
    for path in folder.glob("*.toml"):
        with suppress(OSError, ValueError):
            yield str(tomllib.loads(path.read_text(encoding="utf-8")).get("archive", {}).get("name", path.stem))
