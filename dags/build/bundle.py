"""The DAG bundle of a folder of archive files: Airflow sees one small Python file for each of them.

Airflow reports import errors by file, and an error hides all DAGs of its file. So every archive file gets a file of
its own here: a broken one is listed under its own name (`airflow dags list-import-errors`) and hides nobody else.
Each ends with the archive file's text as a comment: the DAG's "Code" page shows what is kept and why, and a change
of the text is a change of the file, which Airflow parses at once. What only shows when the whole folder is looked at
(two archives with one table, a pool that cannot be made) is handed on to the files that it concerns.

    AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST='[{"name": "tidewheel",
      "classpath": "tidewheel.dags.build.bundle.ArchivesBundle", "kwargs": {"refresh_interval": 30}}]'
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.dag_processing.bundles.base import BaseDagBundle

from tidewheel.dags.build.folder_faults import Fault, folder_faults
from tidewheel.dags.build.pools import readable_files

LOG = logging.getLogger(__name__)
_CODE = '''"""Airflow's view of {path}: edit that file, this one is written anew from it."""

from tidewheel.dags.build.factory import archive_dags

globals().update(archive_dags({path!r}{refused}))

# As it was when this DAG was last looked at:
#
{text}
'''


class ArchivesBundle(BaseDagBundle):
    """The archive files of one folder, `$TIDEWHEEL_ARCHIVES` or ./archives unless `folder` names another."""

    supports_versioning = False

    def __init__(self, *, folder: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        from tidewheel.resolve import archives_folder, in_home

        self.folder = in_home(folder) if folder else archives_folder()
        self.folder = self.folder.absolute()

    @property
    def path(self) -> Path:
        # Two installations on one machine may share the bundle's base folder, but not the archives.
        return self.base_dir / hashlib.sha256(os.fspath(self.folder).encode()).hexdigest()[:12]

    def initialize(self) -> None:
        self.refresh()
        super().initialize()

    def refresh(self) -> None:
        """Write what changed; safe beside others that do the same, since each file appears whole."""
        if not self.folder.is_dir():
            LOG.warning("the folder of archive files, %s, does not exist; set TIDEWHEEL_ARCHIVES", self.folder)
        self.path.mkdir(parents=True, exist_ok=True)
        wanted = dag_files(self.folder)
        for name, code in wanted.items():
            _write_if_changed(self.path / name, code)
        for stale in self.path.glob("*.py"):
            if stale.name not in wanted:
                stale.unlink(missing_ok=True)

    def get_current_version(self) -> None:
        return None


def dag_files(folder: Path) -> Mapping[str, str]:
    """The Python files of a folder of archive files, by name."""
    refused = folder_faults(readable_files(folder))
    return {f"{path.stem}.py": _code(path, refused.get(path)) for path in sorted(folder.glob("*.toml"))}


def _code(path: Path, refused: Fault | None) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        # The import will fail with the same words.
        lines = [f"cannot be read: {error}"]
    text = "\n".join(f"# {line}".rstrip() for line in lines)
    return _CODE.format(path=os.fspath(path), refused=f", refused={refused!r}" if refused else "", text=text)


def _write_if_changed(path: Path, code: str) -> None:
    try:
        if path.read_text(encoding="utf-8") == code:
            return
    except (OSError, UnicodeDecodeError):
        pass
    neighbour = path.with_name(f".{path.name}.{os.getpid()}")
    neighbour.write_text(code, encoding="utf-8")
    neighbour.replace(path)
