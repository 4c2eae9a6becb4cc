"""Archives that lie beside one another: partials and answers beside the archive that they are derived from.

Only Delta's log is looked at: `status` imports this, and must not wait for pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from deltalake import DeltaTable

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.location import Location
from tidewheel.storage.misread import understood


def derived_job(job: ArchiveJob, kind: str) -> ArchiveJob:
    """The partials or answers of an archive, as operations take them."""
    return replace(job, location=job.location.derived(kind), file=None, called="")


def source_job(job: ArchiveJob, name: str) -> ArchiveJob:
    """The archive that a derived one of that name is derived from: the one beside it."""
    uri = job.location.uri
    suffix = name[name.rindex(".") :]
    if not uri.endswith(suffix):
        raise InvalidInput(
            f"{name} is derived from an archive that lies beside it, and {uri} does not end in {suffix}",
            "move it back beside its archive",
        )
    return replace(job, location=Location(uri.removesuffix(suffix)), called="")


def is_there(job: ArchiveJob) -> bool:
    if job.newest is not None and job.newest.has_opened(job.location):
        return True
    return DeltaTable.is_deltatable(job.location.delta_uri, job.location.storage_options)


@contextmanager
def derived_by(job: ArchiveJob) -> Iterator[str]:
    """Give what a derived archive is derived by, nothing if it is not there; what cannot be read in it is damage."""
    definition = job.snapshot().definition if is_there(job) else None
    if definition is None:
        yield ""
        return
    with understood(f"the definition in the Delta log of {job.location.uri}", job.derived_anew(definition.name)):
        yield definition.derived
