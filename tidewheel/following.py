"""How far an archive's standing queries follow it: which answers lag, and whether an erasure waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.rules.health import Following, PendingErasure
from tidewheel.indexing.rules.pending_erasure import pending_erasure

if TYPE_CHECKING:
    from tidewheel.handle import Handle


def following_of(archive: Handle) -> Following:
    """Return the state of the archive's queries.

    There is none for an archive that nobody asks, and for a derived one. Faults of query files are told by `query
    check`, and on the page.
    """
    if archive.file is None:
        return Following()
    return Following(_lags(archive), _pending_erasure(archive))


def _lags(archive: Handle) -> tuple[tuple[str, int], ...]:
    queries = archive.queries
    try:
        standing = queries.standing() if queries.texts() else []
    except TidewheelError:
        return ()
    return tuple((one.query.name, one.lag_us) for one in standing if one.lag_us)


def _pending_erasure(archive: Handle) -> PendingErasure | None:
    """The oldest forget that partials or answers did not follow. Cost, if there is one: the receipts of the archive."""
    from tidewheel.local.derived.neighbours import derived_job, is_there
    from tidewheel.storage.ledger_store import all_receipts, ledger_of

    derived = [derived_job(archive.job, kind) for kind in DERIVED_KINDS]
    if not all(is_there(job) for job in derived):
        return None
    snapshot = archive.snapshot()
    partials, answers = (ledger_of(job.snapshot()) for job in derived)
    receipts = (receipt for _, receipt in all_receipts(snapshot))
    return pending_erasure(snapshot.definition.key, ledger_of(snapshot), partials, answers, lambda: receipts)
