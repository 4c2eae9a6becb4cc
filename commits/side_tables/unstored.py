"""Records that came and were not stored, because they were short-lived or dead on arrival, with all their columns.

They are kept while somebody derives from the archive: a standing query may count every record that came. They stay
until the partials of all trees name their batch, at least through grace, so that an undo finds them. At the longest
they stay as long as a record may live, and grace. A forgotten record leaves an empty row, so that the counts still add
up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from deltalake import DeltaTable

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.written import Written
from tidewheel.indexing.core.derivation import Derivation
from tidewheel.indexing.core.fates import UNSTORED
from tidewheel.indexing.core.side_tables import is_derived
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.rules.deadline import unstored_kept_us
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.snapshot import Snapshot, open_snapshot

# Beside people's own columns, which may have any other name, and those that every archive adds.
ATTEMPT, CAME = "__tw_attempt", "__tw_came"


def _rows(job: ArchiveJob, written: Written, attempt: str) -> pa.RecordBatchReader:
    """Return an attempt's records as they were written, with their expiry; there may be many."""
    import pyarrow.dataset as ds  # a third of a second, which commands that only pass here need not spend

    paths = [job.location.child(path) for path in written.aside[UNSTORED]]
    data = ds.dataset(paths, format="parquet", filesystem=job.location.filesystem)
    names = [name for name in data.schema.names if name != "row_hash"]
    added = [pa.field(ATTEMPT, pa.string()), pa.field(CAME, pa.timestamp("us", "UTC"))]
    schema = pa.schema([*(data.schema.field(name) for name in names), *added])
    values = (pa.scalar(attempt, added[0].type), pa.scalar(moment(job.clock()), added[1].type))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in data.to_batches(columns=names):
            more = (pa.repeat(value, batch.num_rows) for value in values)
            yield pa.RecordBatch.from_arrays([*batch.columns, *more], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _settled(snapshot: Snapshot) -> Callable[[int, str], bool]:
    """Return a test for the batches that the partials of all trees name. Cost: the ledger of the partials, if any."""
    place = snapshot.location.derived("partials")
    if not DeltaTable.is_deltatable(place.delta_uri, place.storage_options):
        return lambda slot, attempt: False
    derived = open_snapshot(place)
    parts = Derivation.from_text(derived.definition.derived).parts
    source, partials, span = ledger_of(snapshot), ledger_of(derived), snapshot.definition.span
    return lambda slot, attempt: parts is not None and is_derived(slot, attempt, source, span, partials, parts)


UNSTORED_TABLE = SideTable(
    name="unstored",
    places=(UNSTORED,),
    slot="ins_slot",
    attempt=ATTEMPT,
    came=CAME,
    record="",
    filled="exp_slot",
    rows=_rows,
    counted=lambda slot: slot.beside,
    certain_us=lambda definition: definition.retention.grace_us,
    kept_us=unstored_kept_us,
    settled=_settled,
)
