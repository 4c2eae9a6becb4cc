"""Archives that are derived from others: NAME.partials and NAME.answers, which `tidewheel refresh NAME` alone writes.

They are read and looked at like any other.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.resolve import Target, resolve

if TYPE_CHECKING:
    from tidewheel.archive import Archive
    from tidewheel.handle import Handle
    from tidewheel.jobs.audit.compare import RowCheck
    from tidewheel.sql.questions import Question

_ANSWERS = re.compile(r"""\banswers"?\s*\.""", re.IGNORECASE)
# What a refresh sees to by itself.
_OF_ITSELF = ("init", "migrate", "refresh")


def refuse_derived(archive: Handle, command: str) -> None:
    """Refuse to change a derived archive by itself, with the command that does so through its source."""
    name = derived_name(archive)
    if not name:
        return
    source = name.rpartition(".")[0]
    called = shlex.quote(_source_called(archive, source))
    first = "" if command in _OF_ITSELF else f"tidewheel {command} {called}, then "
    raise InvalidInput(
        f"{name} is derived from {source} and follows it: {command} cannot change it by itself. Nothing was changed",
        f"run: {first}tidewheel refresh {called}",
    )


def _source_called(archive: Handle, source: str) -> str:
    """Return the name to call the archive by from which this one is derived."""
    if archive.source:
        return archive.source
    try:
        known = resolve(source).path.rstrip("/") == archive.path.rstrip("/").rpartition(".")[0]
    except InvalidInput:
        known = False
    return source if known else f"{source}.toml"


def derived_name(archive: Handle) -> str:
    """The name of a derived archive; nothing for one that a source feeds."""
    if archive.file is not None:
        return ""
    if archive.source:
        return f"{archive.source}{archive.path[archive.path.rindex('.') :]}"
    try:
        definition = archive.snapshot().definition
    except (Damaged, InvalidInput):
        # Whatever is wanted of it says so.
        return ""
    return definition.name if definition.derived else ""


def derived_archives(archive: Archive) -> list[Archive]:
    """Partials and answers of an archive, if there are any."""
    from tidewheel.archive import Archive as Opened

    targets = [Target(f"{archive.path.rstrip('/')}.{kind}") for kind in DERIVED_KINDS]
    opened = [Opened(target, clock=archive.now_us) for target in targets]
    return [one for one in opened if one.location.has_log()]


def row_check(archive: Handle) -> RowCheck | None:
    """How a deep audit checks the rows of a derived archive: by deriving them again. Others are left to Spark."""
    if not derived_name(archive):
        return None
    from tidewheel.local.standing.derived_audit import derived_findings

    return lambda snapshot, facts: derived_findings(archive.job, snapshot, facts)


def names_answers(question: Question) -> bool:
    """Tell whether a query may read answers of standing queries: only then are they pinned beside the archive."""
    return _ANSWERS.search(str(getattr(question, "text", ""))) is not None
