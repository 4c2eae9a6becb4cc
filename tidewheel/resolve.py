"""From what people call an archive to where it lies.

    netflow                  the file netflow.toml in $TIDEWHEEL_ARCHIVES, or else in ./archives; the variable may name
                             several folders, as PATH does
    path/to/netflow.toml     that archive file
    path/to/table, s3a://…   a table; everything but its source is known from it
    netflow.answers          what standing queries keep of netflow, beside its table; also netflow.partials

Relative paths in an archive file start at the file's own folder, so it does not matter where a command is run.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from tidewheel.indexing.core.definition import DERIVED_KINDS, ArchiveFile, Source, SourceKind
from tidewheel.indexing.errors import InvalidInput

FOLDER_VARIABLE = "TIDEWHEEL_ARCHIVES"
FOLDER = "archives"


@dataclass(frozen=True)
class Target:
    """The location of an archive's table; its archive file and that file's folder, if it was named by the file.

    `source` is what people call the archive that this one is derived from, if it was named so.
    """

    path: str
    file: ArchiveFile | None = None
    source: str = ""
    folder: Path | None = None
    called: str = field(default="", compare=False)  # as its user named it, which makes it no other archive


def resolve(name: str | Path) -> Target:
    """The archive of a name, an archive file or a table's path; what it is called so, commands in messages call it."""
    text = os.fspath(name)
    return replace(_resolved(text), called=text)


def _resolved(text: str) -> Target:
    if text.endswith(".toml"):
        return _from_file(in_home(text))
    if "://" in text:
        return Target(text)
    path = in_home(text)
    # Not Path.is_file and is_dir: those raise for a name that is longer than any file's.
    if (named := _named(text)) is not None:
        return _from_file(named)
    if derived := _derived(text):
        return derived
    # A path that a table could lie at; whether one does is for the command to say.
    if "/" in text or os.path.isdir(path):
        return Target(str(path))
    raise _unknown(text)


def _derived(text: str) -> Target | None:
    """Partials or answers by the name of their archive, or of its file: they lie beside its table."""
    source, _, kind = text.rpartition(".")
    if kind not in DERIVED_KINDS:
        return None
    if _named(source) is None and not source.endswith(".toml"):
        return None
    path = resolve(source).path.rstrip("/")
    return Target(f"{path}.{kind}", source=source)


def in_home(path: str) -> Path:
    """A path with ~ in its place; of somebody whom the machine does not know, as it stands.

    >>> in_home("~nobody-knows/tables")
    PosixPath('~nobody-knows/tables')
    """
    return Path(os.path.expanduser(path))


def archives_folder() -> Path:
    """Return the folder for new archive files: the first one."""
    return archives_folders()[0]


def archives_folders() -> list[Path]:
    """Return the folders in which names are looked up, in this order."""
    named = os.environ.get(FOLDER_VARIABLE) or FOLDER
    # A folder whose own name has the sign that parts folders is one.
    folders = [named] if os.path.isdir(in_home(named)) else [one for one in named.split(os.pathsep) if one]
    return [in_home(one) for one in folders or [named]]


def _named(name: str) -> Path | None:
    """The archive file of a name; None where no folder has it."""
    if "/" in name:
        return None
    found = (folder / f"{name}.toml" for folder in archives_folders())
    return next((path for path in found if os.path.isfile(path)), None)


def known_archives() -> list[str]:
    """The names that can be used here."""
    return sorted({path.stem for folder in archives_folders() for path in folder.glob("*.toml")})


def read_archive_file(path: Path) -> ArchiveFile:
    """The archive file at a path, its relative paths made absolute."""
    from tidewheel.indexing.archive_file.read import parse_archive_file

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"there is no archive file {path}", _known_text()) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the archive file {path} cannot be read: it is not UTF-8", "save it as UTF-8") from error
    except (OSError, ValueError) as error:
        # A path that holds a NUL is a ValueError.
        raise InvalidInput(f"the archive file {str(path)!r} cannot be read: {error}", "check the file") from error
    file = parse_archive_file(text, str(path))
    folder = path.absolute().parent
    return replace(file, path=absolute(file.path, folder), source=_absolute_source(file.source, folder))


def absolute(path: str, folder: Path) -> str:
    """A path as seen from a folder; object stores and absolute paths are left as they are.

    >>> absolute("../data/netflow", Path("/srv/archives")), absolute("s3a://bucket/netflow", Path("/srv"))
    ('/srv/data/netflow', 's3a://bucket/netflow')
    """
    return path if "://" in path else os.path.normpath(folder / in_home(path))


def _from_file(path: Path) -> Target:
    file = read_archive_file(path)
    return Target(file.path, file, folder=path.absolute().parent)


def _absolute_source(source: Source, folder: Path) -> Source:
    path = source.path
    if not path or "://" in path or path.startswith(("/", "~")):
        return source
    # The folder is meant literally, the rest may be a pattern and, of files, a template.
    literal = re.sub(r"([*?\[\]{}\\])", r"\\\1", str(folder))
    if source.kind is SourceKind.FILES:
        literal = literal.replace("{", "{{").replace("}", "}}")
    while path.startswith("../"):
        literal, path = os.path.dirname(literal), path.removeprefix("../")
    return replace(source, path=f"{literal}/{path.removeprefix('./')}")


def _unknown(name: str) -> InvalidInput:
    close = get_close_matches(name, known_archives(), n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return InvalidInput(f"there is no archive {name}", meant + _known_text())


def _known_text() -> str:
    folder, known = "/ and ".join(map(str, archives_folders())), known_archives()
    if known:
        return f"known in {folder}/ are {', '.join(known)}; or give the path of an archive file or of a table"
    return f"{folder}/ holds no archive files; name one by its path, or set {FOLDER_VARIABLE} to their folder"
