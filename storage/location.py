"""The place of an archive and the files in it: a local folder or an object store, for all readers alike."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.address import SIDE_FOLDER, Address

if TYPE_CHECKING:
    from pyarrow import fs

LOG_FOLDER = "_delta_log"
DELETERS = 8
# A store that takes a request and never answers: how long delta-rs waits for an answer, and until when it asks again.
# Its own bounds, 30 s and three minutes for each file, keep a commit whose outcome is unknown for minutes.
ANSWER_S = 30
ASK_AGAIN_S = 40
# delta-rs decodes %20 where it should not, takes a backslash for a slash, and refuses control characters.
_NOT_FOR_DELTA = re.compile(r"%[0-9A-Fa-f]{2}|[\x00-\x1f\x7f\\]")


@dataclass(frozen=True)
class ListedFile:
    """A file as a listing shows it."""

    path: str
    size: int
    mtime_ns: int

    @property
    def base_name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Location(Address):
    """The root of an archive's table.

    Whole small files and listings of a local folder need no pyarrow, which takes longer to load than a short command.

    >>> Location.of("s3a://bucket/netflow").delta_uri
    's3://bucket/netflow'
    """

    @staticmethod
    def of(path: str | Path) -> Location:
        text = str(path).rstrip("/")
        scheme = text.split("://", 1)[0] if "://" in text else ""
        if scheme in ("s3", "s3a"):
            return Location("s3a://" + text.split("://", 1)[1])
        if scheme == "file":
            text = text.removeprefix("file://")
        elif scheme:
            raise InvalidInput(f"cannot keep an archive at {text}", "use a local path or s3a://bucket/folder")
        if not text:
            raise InvalidInput("an archive needs a path, got an empty one", "use a local path or s3a://bucket/folder")
        if _NOT_FOR_DELTA.search(text):
            raise InvalidInput(
                f"delta-rs cannot keep a table at {text!r}",
                "use a path without percent escapes, backslashes and control characters",
            )
        # Not Path.expanduser: that raises for the home of somebody whom the machine does not know.
        return Location(str(Path(os.path.expanduser(text)).absolute()))

    def side_location(self, relative: str) -> Location:
        return Location(f"{self.uri}/{SIDE_FOLDER}/{relative}")

    def derived(self, kind: str) -> Location:
        """Return the place of an archive that standing queries derive from this one: beside it."""
        return Location(f"{self.uri}.{kind}")

    @cached_property
    def filesystem(self) -> fs.FileSystem:
        """Return the pyarrow file system: for streams, Parquet files and object stores."""
        from pyarrow import fs

        if self.is_local:
            return fs.LocalFileSystem()
        _refuse_empty_keys()
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        scheme, _, host = endpoint.partition("://")
        return fs.S3FileSystem(
            endpoint_override=host or None,
            scheme=scheme or "https",
            region=os.environ.get("AWS_REGION", "us-east-1"),
        )

    @cached_property
    def storage_options(self) -> dict[str, str] | None:
        """Return what delta-rs needs beyond the AWS_* environment variables, which it reads itself."""
        if self.is_local:
            return None
        _refuse_empty_keys()
        options = {
            "AWS_REGION": os.environ.get("AWS_REGION", "us-east-1"),
            "timeout": f"{ANSWER_S}s",
            "retry_timeout": f"{ASK_AGAIN_S}s",
        }
        if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
            options["AWS_ALLOW_HTTP"] = "true"
        return options

    def read_bytes(self, path: str) -> bytes:
        if self.is_local:
            return Path(path).read_bytes()
        with self.filesystem.open_input_stream(path, compression=None) as stream:
            return bytes(stream.read())

    def write_bytes(self, path: str, content: bytes) -> None:
        """Write whole or not at all: through a neighbour and a rename locally, by one PUT on object stores."""
        if not self.is_local:
            with self.filesystem.open_output_stream(path, compression=None) as stream:
                stream.write(content)
            return
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        neighbour = target.with_name(f".{target.name}.{os.getpid()}.{get_ident()}")
        try:
            with neighbour.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            neighbour.replace(target)
        finally:
            neighbour.unlink(missing_ok=True)

    def has_log(self) -> bool:
        """Tell whether a table was ever created here, whole or not."""
        return bool(self.files_below(LOG_FOLDER))

    def files_below(self, relative: str) -> list[ListedFile]:
        """Return every file below a folder of the archive; none if the folder does not exist."""
        top = self.child(relative) if relative else self.root
        if self.is_local:
            return list(_files_below(top))
        from pyarrow import fs

        selector = fs.FileSelector(top, recursive=True, allow_not_found=True)
        infos = self.filesystem.get_file_info(selector)
        return [ListedFile(one.path, one.size or 0, one.mtime_ns or 0) for one in infos if one.is_file]

    def names_in(self, relative: str) -> list[str]:
        """Return the names in a folder of the archive; none if it does not exist.

        Cost: one listing, no look at a file.
        """
        if not self.is_local:
            return [one.base_name for one in self.files_below(relative)]
        try:
            return os.listdir(self.child(relative))
        except FileNotFoundError:
            return []

    def has(self, *relatives: str) -> list[bool]:
        """Tell for each name whether there is a file. Cost: a look at each."""
        paths = [self.child(one) for one in relatives]
        if self.is_local:
            return [os.path.isfile(path) for path in paths]
        return [info.is_file for info in self.filesystem.get_file_info(paths)]

    def delete_all(self, relatives: Iterable[str]) -> None:
        """Delete files, several at a time; those that are gone already are gone."""
        from concurrent.futures import ThreadPoolExecutor

        def one(relative: str) -> None:
            with suppress(FileNotFoundError):
                self.filesystem.delete_file(self.child(relative))

        with ThreadPoolExecutor(DELETERS) as deleters:
            list(deleters.map(one, relatives))

    def delete_folder(self, relative: str) -> None:
        """Delete a folder with all that is in it; one that is gone already is gone."""
        from pyarrow.fs import FileType

        if self.filesystem.get_file_info(self.child(relative)).type == FileType.Directory:
            self.filesystem.delete_dir(self.child(relative))

    def delete(self, relative: str) -> None:
        """Delete a file; one that is gone already is gone."""
        path = self.child(relative)
        if self.is_local:
            Path(path).unlink(missing_ok=True)
        elif self.has(relative) == [True]:
            self.filesystem.delete_file(path)


def _files_below(folder: str) -> Iterator[ListedFile]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir():
            yield from _files_below(entry.path)
            continue
        try:
            found = entry.stat()
        except FileNotFoundError:  # deleted since it was listed
            continue
        if entry.is_file():
            yield ListedFile(entry.path, found.st_size, found.st_mtime_ns)


def _refuse_empty_keys() -> None:
    """Refuse an empty key: a line of a settings file that nobody filled in, which clients misread."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        if os.environ.get(name) == "":
            raise InvalidInput(
                f"{name} is set and empty", "give it its value, or unset it: then the machine's role is asked"
            )
