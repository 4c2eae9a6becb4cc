"""The folders of the demonstration. It deletes what an earlier one made, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.indexing.core.definition import DERIVED_KINDS, ArchiveFile
from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.output import Output
from tidewheel.resolve import archives_folder, read_archive_file

MARKER = ".made-by-tidewheel-demo"


@dataclass(frozen=True)
class Places:
    """The archive file of the demonstration, and the two folders that it fills."""

    file: ArchiveFile
    source: Path

    @staticmethod
    def of(name: str, output: Output) -> Places:
        """Find the places in the archive file of that name; write the program's own if there is none."""
        path = archives_folder() / f"{name}.toml"
        _write_if_absent(path, f"{name}.toml", "archive file", output)
        _write_if_absent(path.parent / "queries" / f"{name}.toml", f"{name}_queries.toml", "query file", output)
        file = read_archive_file(path)
        if "://" in file.path or "{" not in file.source.path or "://" in file.source.path:
            raise InvalidInput(f"the demonstration needs local folders, {path} names others", "change them back")
        fixed = file.source.path.split("{", 1)[0]
        return Places(file, Path(fixed.rpartition("/")[0]))

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def archive(self) -> Path:
        return Path(self.file.path)

    def slot_folder(self, slot: int) -> Path:
        axis = self.file.axis
        return Path(path_for_slot(self.file.source.path, axis.start_us(slot), axis.end_us(slot), slot))

    def clear(self, output: Output) -> None:
        """Empty folders, marked as ours."""
        for folder in (self.source, self.archive):
            marker = folder.with_name(f"{MARKER}-{folder.name}")
            if folder.exists():
                if not marker.exists():
                    raise Refused(
                        f"{folder} was not made by an earlier demonstration. Nothing was changed",
                        f"move it away, or name another folder in the archive file of {self.name}",
                    )
                output.notice(f"deleting what an earlier demonstration left in {folder}")
                for made in (folder, *(folder.with_name(f"{folder.name}.{kind}") for kind in DERIVED_KINDS)):
                    shutil.rmtree(made, ignore_errors=made != folder)
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.write_text("The folder beside this file was made by `tidewheel demo`, which may delete it.\n")


def _write_if_absent(path: Path, resource: str, what: str, output: Output) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        output.notice(f"writing the {what} {path}")
        path.write_text(resources.files("tidewheel").joinpath(resource).read_text("utf-8"), encoding="utf-8")
