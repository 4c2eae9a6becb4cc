"""A private mount namespace in which /tmp is as Docker mounts a tmpfs: nothing in it may be executed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_WITHOUT_EXEC = "mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmpfs /tmp"
# A checkout that lies in /tmp itself stays to be seen.
_TREE_KEPT = f'mount --bind "$0" /mnt && {_WITHOUT_EXEC} && mkdir -p "$0" && mount --bind /mnt "$0"'


def with_tmp_noexec(*command: str | Path) -> list[str]:
    """The command that runs a command there; the test is skipped where that is not permitted."""
    mounts = _TREE_KEPT if ROOT.is_relative_to("/tmp") else _WITHOUT_EXEC
    inside = ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', str(ROOT)]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not here; to have it: apt-get install util-linux")
    tried = subprocess.run([*inside, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"a mount namespace of one's own is not permitted here (needs root): {tried.stderr.strip()}")
    return [*inside, *map(str, command)]


@contextmanager
def folder_outside_tmp() -> Iterator[Path]:
    """A folder that is also seen there."""
    folder = Path(tempfile.mkdtemp(prefix="tidewheel-", dir="/var/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
