"""Every byte of the data files, compared with the checksums beside them, for audit."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.rules.findings import Finding, Flaw, hit_range
from tidewheel.storage.location import Location
from tidewheel.storage.piece_checksums import wrong_bytes

READERS = 2


def byte_findings(location: Location, facts: Sequence[FileFact]) -> list[Finding]:
    """Return files with a byte that differs from what was written.

    Cost: every byte read once; nothing on object stores.
    """
    if not location.is_local:
        return []
    with ThreadPoolExecutor(READERS) as readers:
        found = readers.map(lambda fact: _finding(location, fact), facts)
        return [one for one in found if one is not None]


def _finding(location: Location, fact: FileFact) -> Finding | None:
    wrong = wrong_bytes(location, fact)
    if wrong is None:
        return None
    first, last = wrong
    message = f"bytes {first} to {last} of {fact.path} are not those that were written"
    return Finding(Flaw.CHANGED, message, None, fact.path, slots=hit_range(fact))
