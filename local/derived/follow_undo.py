"""When the source is undone, its derived archives go back with it."""

from __future__ import annotations

from collections.abc import Sequence

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.operations.undo import undo
from tidewheel.indexing.errors import Conflict, InvalidInput
from tidewheel.queries.standing.query import Query
from tidewheel.storage.ledger_store import receipts_since


def follow_undo(job: ArchiveJob, source: ArchiveJob, queries: Sequence[Query]) -> None:
    """Undo the derived archive if the watermark of its source went back.

    If rows were removed for good since, it cannot follow and stays ahead. That does no harm as long as nothing that is
    derived now would already count as expired there.
    """
    # The source last: another refresh may be ahead of what was read of it before.
    snapshot, watermark = job.snapshot(), source.snapshot().watermark
    if watermark is None or snapshot.watermark is None or snapshot.watermark <= watermark:
        return
    axis = snapshot.definition.axis
    before = [version for version, receipt in receipts_since(snapshot, -1)
              if receipt.watermark is None or receipt.watermark <= watermark]  # fmt: skip
    try:
        undo(job, max(before))
    except Conflict:  # somebody else was first, and may have gone back as well
        follow_undo(job, source, queries)
    except InvalidInput as error:
        lives_us = min((min(query.terms.keep_us, query.terms.revise_us) for query in queries), default=0)
        if (snapshot.watermark - watermark) * axis.interval_us > lives_us:
            raise InvalidInput(
                f"the archive went back to slot {axis.name(watermark)}, and {job.location.uri} cannot follow: "
                f"{error.message}",
                "delete the folders of its partials and answers, then refresh: they are derived again",
            ) from error
