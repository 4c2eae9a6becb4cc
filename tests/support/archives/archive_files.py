"""Archive files as texts: the smallest good one, changed in places, and the faults it is told."""

import pytest

from tidewheel.indexing.archive_file.fields import SECTIONS
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.errors import InvalidInput

SMALLEST = {
    "archive.name": '"calls"',
    "archive.path": '"data/calls"',
    "archive.key": '["caller"]',
    "archive.expires_at": '"ends_at"',
    "time.interval": '"1h"',
    "time.max_lifetime": '"7d"',
    "source.path": '"in/{start:%Y-%m-%dT%H}"',
}


def file_of(**changes: str | None) -> str:
    """The smallest good file with keys set to TOML texts (section__key="..."), or removed (None)."""
    values = {**SMALLEST, **{place.replace("__", ".", 1): text for place, text in changes.items()}}
    lines = []
    for section in SECTIONS:
        lines.append(f"[{section}]")
        for place, text in values.items():
            if text is not None and place.split(".")[0] == section:
                lines.append(f"{place.partition('.')[2]} = {text}")
    return "\n".join(lines)


def faults_of(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        parse_archive_file(text, "calls.toml")
    return [str(fault) for fault in caught.value.values["faults"]]
