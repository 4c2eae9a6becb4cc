"""Slots in which a forget by predicate finds records, and whose other records are gone: answers lose rows there.

Partials do not tell which of their rows a predicate means. They are folded again from the slot's records; where these
have left the archive, answers say that they are not complete. Queries with `erasure = "keep"` keep what they have.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.derived.batch_reader import reader_of
from tidewheel.local.derived.neighbours import derived_job, is_there
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.queries.standing.lineage import Cover, PartialLineage
from tidewheel.queries.standing.query import Counts, Erasure
from tidewheel.storage.ledger_store import ledger_of


def slots_losing(job: ArchiveJob, slots: Iterable[int]) -> list[int]:
    """The slots of which partials know more records than can still be read."""
    place = derived_job(job, "partials")
    if not is_there(place):
        return []
    trees = [
        one.name for one in kept_trees(place).trees if (one.erasure, one.counts) == (Erasure.DELETE, Counts.ARRIVED)
    ]
    known = ledger_of(place.snapshot()).batches
    whole = [
        slot
        for slot in sorted(slots)
        if any(
            PartialLineage.from_texts(known[slot, tree].lineage[:2]).coverage.cover is Cover.ALL
            for tree in trees
            if (slot, tree) in known
        )
    ]
    reader = reader_of(job)
    return [slot for slot in whole if not reader.is_whole(slot) and reader.read(slot).coverage.cover is not Cover.ALL]
