"""A table that goes out of reach in the moment of a commit: it was carried out, and nobody can ask whether it was.

As when a mount goes away between the request and its answer. The commit is delta-rs's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable


@dataclass
class Mount:
    """The folder of a table, there or away."""

    folder: Path
    carried_out: list[bool] = field(default_factory=list)

    @property
    def aside(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.unmounted")

    def unmount(self) -> None:
        self.folder.rename(self.aside)

    def mount(self) -> None:
        self.aside.rename(self.folder)


@contextmanager
def lost_answer(folder: Path, *, carried_out: bool = True) -> Iterator[Mount]:
    """The next commit of files goes through, or does not; either way its writer hears of a failure and sees nothing."""
    mount = Mount(folder)
    commit = DeltaTable.create_write_transaction

    def write(table: DeltaTable, *actions: Any, **options: Any) -> None:
        if mount.carried_out:
            return commit(table, *actions, **options)
        if carried_out:
            commit(table, *actions, **options)
        mount.carried_out.append(carried_out)
        mount.unmount()
        raise OSError("the connection was reset")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", write)
        yield mount
