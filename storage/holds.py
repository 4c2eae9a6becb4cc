"""Readers that hold a version longer than grace: vacuum leaves the files of a held version.

A hold is a file, `_tidewheel/holds/<version>-<who>`, written again while its reader lives. It ends

- when its time is over, or its reader gives it back;
- when it was not renewed for a while: the reader died or sleeps;
- in any case `[retention] hold` after the version's grace: the maximum that the printed deadline includes.

Reader and vacuum each leave a mark before they look for the other's, so at least one of them sees the other: the reader
writes its hold, then looks at the floor that vacuums raised (`storage/floor.py`); vacuum raises the floor, then looks
for holds.

This file reads holds; `holding.py` takes a reader's own.
"""

from __future__ import annotations

import json

from tidewheel.indexing.rules.vacuum import Hold, holds_in_force
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import LogFiles
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import stored_files

FOLDER = f"{SIDE_FOLDER}/holds"


def holds(location: Location) -> list[tuple[str, Hold]]:
    """Return every hold beside a table, with the path of its file. Cost: one listing, a small file each."""
    found = []
    for file in stored_files(location, FOLDER):
        try:
            values = json.loads(location.read_bytes(location.child(file.path)))
            hold = Hold(values["holder"], int(values["version"]), int(values["until_us"]), file.changed_us)
        except (OSError, ValueError, KeyError):
            continue  # given back since it was listed, or being written
        found.append((file.path, hold))
    return found


def held_versions(snapshot: Snapshot, log: LogFiles, now_us: int) -> list[Hold]:
    """Return the holds that vacuum must honour now."""
    retention = snapshot.definition.retention
    oldest = log.needed_min(snapshot.version, now_us - retention.grace_us - retention.hold_us)
    return holds_in_force((hold for _, hold in holds(snapshot.location)), now_us, oldest)


def ended_holds(location: Location, now_us: int) -> list[str]:
    """Return the files of holds that are over."""
    return [path for path, hold in holds(location) if not holds_in_force([hold], now_us, 0)]
