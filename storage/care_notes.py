"""Notes that vacuum and audit leave beside an archive, for whoever asks when it was last maintained.

`_tidewheel/care/vacuum.json` and `audit.json`, replaced each time. Nothing depends on them: if they cannot be written
(an audit by somebody who may only read) or read, there is no error.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.rules.care import Audited, Vacuumed
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.location import Location

FOLDER = f"{SIDE_FOLDER}/care"
_VACUUM, _AUDIT = f"{FOLDER}/vacuum.json", f"{FOLDER}/audit.json"


def note_care(location: Location, done: Vacuumed | Audited) -> None:
    path = _VACUUM if isinstance(done, Vacuumed) else _AUDIT
    with suppress(OSError, TidewheelError):
        location.write_bytes(location.child(path), json.dumps(asdict(done)).encode())


def last_vacuum(location: Location) -> Vacuumed | None:
    """Return the last vacuum; None if there was none, or nobody could note it."""
    said = _noted(location, _VACUUM)
    with suppress(KeyError, TypeError, ValueError):
        return Vacuumed(int(said["at_us"]), int(said["version"]), int(said["files"]), int(said["bytes"]))
    return None


def last_audit(location: Location) -> Audited | None:
    said = _noted(location, _AUDIT)
    with suppress(KeyError, TypeError, ValueError):
        version = None if said["version"] is None else int(said["version"])
        return Audited(int(said["at_us"]), version, int(said["findings"]), bool(said["deep"]))
    return None


def _noted(location: Location, path: str) -> dict[str, Any]:
    try:
        said = json.loads(location.read_bytes(location.child(path)))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
