"""`airflow` and `tidewheel` for an Airflow that has its own settings: programs in its folder that know them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

_PROGRAM = """\
#!/bin/sh
# {name} with the settings of the Airflow in this folder.
{settings}
exec {command} "$@"
"""


def write_commands(folder: Path, settings: Mapping[str, str], programs: Mapping[str, Sequence[str]]) -> None:
    """Write programs that set the environment of an Airflow and become the real ones."""
    folder.mkdir(exist_ok=True)
    said = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in sorted(settings.items()))
    for name, command in programs.items():
        program = folder / name
        program.write_text(_PROGRAM.format(name=name, settings=said, command=shlex.join(command)), encoding="utf-8")
        program.chmod(0o700)
