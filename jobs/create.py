"""Create an archive: an empty table that holds its definition, with the columns of its source."""

from __future__ import annotations

import secrets

from deltalake import DeltaTable

from tidewheel.commits.accounting import PROGRAM
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt_id import new_attempt
from tidewheel.commits.commit import create_table, taken
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.schema import delta_fields
from tidewheel.jobs.data.source import columns_declared, read_batch
from tidewheel.jobs.process.session import open_session
from tidewheel.storage.snapshot import Snapshot


def create(job: ArchiveJob, example_slot: int | None = None) -> Snapshot:
    """Create the archive; its columns are those of the archive file, or of an example slot's batch."""
    file = job.require_file()
    # Before Spark starts for nothing; the creation itself refuses once more.
    if DeltaTable.is_deltatable(job.location.delta_uri, job.location.storage_options):
        raise taken(job.location)
    if file.source.schema:
        columns = columns_declared(open_session(), file.source)
    elif example_slot is None:
        raise InvalidInput(
            f"the columns of archive {file.name} are not known",
            "set [source] schema in the archive file, or name a slot that has data: --slot",
        )
    else:
        columns = read_batch(open_session(), file, [example_slot]).frames[0].schema
    missing = [name for name in file.key if name not in columns.fieldNames()]
    if missing:
        raise InvalidInput(
            f"the key of archive {file.name} names {', '.join(missing)}, which the source does not have; it has "
            f"{', '.join(name for name in columns.fieldNames() if name != 'ins_slot')}",
            "correct [archive] key in the archive file",
        )
    now_us = job.clock()
    receipt = Receipt(
        operation=Deed.INIT,
        attempt=new_attempt(now_us),
        head=0,
        watermark=None,
        generation=file.generation.number,
        committed_us=now_us,
        program=PROGRAM,
    )
    return create_table(job.location, delta_fields(columns), file.definition(secrets.token_hex(16)), receipt)
