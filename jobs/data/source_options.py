"""Options of a source as its archive file has them, with values from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tidewheel.indexing.errors import InvalidInput

_ENVIRONMENT = re.compile(r"\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}")


def with_environment(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options, with ${ENV:NAME} replaced."""
    return {key: _ENVIRONMENT.sub(_from_environment, str(value)) for key, value in options.items()}


def _from_environment(match: re.Match[str]) -> str:
    name = match.group(1)
    if name not in os.environ:
        raise InvalidInput(
            f"the archive file refers to the environment variable {name}, which is not set",
            f"set {name}, or correct [source.options]",
        )
    return os.environ[name]
