"""Audit: compare the ledger's live cells with the rows that are really in the files, and name each difference.

1. The log: readable, of our format, every version with its receipt, the ledger the sum of its receipts.
2. The files: there, of the size and count the log says, statistics not narrower than the data.
3. The cells: count and hash sum of every (insertion slot, expiration slot), placement, overdue rows.
4. Deep: every row's own hash and expiration slot computed again from its values, by Spark, and every byte compared
   with the checksums beside the files, where the store has such; and the log read again by delta-spark, which
   must find the same files. Where pyspark is not installed, every page of every column is read against its checksum
   instead, and the report says what was left out.

Nothing is changed. A fault that the source can mend comes with the command that does it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.commit import partition_fields, stored_fields
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.state import FileFact, TableState
from tidewheel.indexing.errors import Damaged, InvalidInput, NotInstalled
from tidewheel.indexing.extras import needed
from tidewheel.indexing.printable import counted, one_line
from tidewheel.indexing.rules.audit import content_findings, file_list_findings
from tidewheel.indexing.rules.audit_receipts import ledger_findings, receipt_findings
from tidewheel.indexing.rules.findings import Finding, Flaw, backfill_options, backfill_range
from tidewheel.jobs.audit.bytes import byte_findings
from tidewheel.jobs.audit.files import FileReading, page_findings, read_contents
from tidewheel.jobs.audit.older_versions import older_version_findings
from tidewheel.jobs.audit.others import statement_findings
from tidewheel.jobs.audit.side_tables import side_table_findings
from tidewheel.storage.ledger_store import all_receipts, entry_receipt, state_of
from tidewheel.storage.location import LOG_FOLDER
from tidewheel.storage.log_files import list_log
from tidewheel.storage.receipt_files import FOLDER as LEDGER_FOLDER
from tidewheel.storage.snapshot import Snapshot, open_snapshot
from tidewheel.storage.stored_files import attempt_folder, stored_files

# Flaws of rows of derived archives that go when their batches come again.
_MADE_AGAIN = (Flaw.CHANGED, Flaw.LOST, Flaw.DOUBLED)
# How archives are called that standing queries derive from others.
_DERIVED = tuple(f".{kind}" for kind in DERIVED_KINDS)
RowCheck = Callable[[Snapshot, Sequence[FileFact]], list[Finding]]


@dataclass(frozen=True)
class AuditReport:
    """The extent of an audit and its findings; no findings, nothing wrong."""

    findings: tuple[Finding, ...]
    cells_checked: int = 0
    files_checked: int = 0
    rows_checked: int = 0
    bytes_checked: int = 0
    version: int | None = None
    watermark: int | None = None
    seconds: float = 0.0
    remedy: str = ""
    left_out: str = ""
    deep: bool = False

    @property
    def clean(self) -> bool:
        return not self.findings

    @property
    def whole(self) -> bool:
        """Tell whether the archive holds all that it must, and at most other readers are misled."""
        return all(one.kind is Flaw.OTHER_READERS for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "clean": self.clean, "findings": [one.to_json() for one in self.findings]}


def audit(job: ArchiveJob, *, deep: bool | None = None, rows: RowCheck | None = None) -> AuditReport:
    """Audit one version of the archive. Cost: three narrow columns of all files; if deep, everything twice.

    By default it is as deep as the installed packages allow. `rows` checks each row of a deep audit in place of Spark:
    rows of derived archives have hashes of their own.
    """
    started = perf_counter()
    check, left_out = _row_check(deep, rows)
    job.progress("reading the log and the ledger")
    try:
        snapshot = open_snapshot(job.location)
        files = snapshot.files
    except (Damaged, InvalidInput) as error:
        return AuditReport((_unopened(job, error),), seconds=perf_counter() - started, remedy=_remedy_unopened(job))
    state, receipts, findings = ledger_findings_of(snapshot)
    findings += beside_files(job, snapshot, receipts)
    job.progress(f"counting {counted(len(files), 'file')}")
    readings = read_contents(snapshot, _rewrite(job))
    findings += _of_files(files, readings, state, receipts)
    readable = [reading.fact for reading in readings if reading.content is not None]
    if check is not None and readable:
        job.progress(f"checking {sum(fact.rows for fact in readable)} rows one by one")
        findings += byte_findings(job.location, readable)
        findings += check(snapshot, readable)
    return AuditReport(
        findings=tuple(findings),
        cells_checked=len(state.ledger.cells()) if state else 0,
        files_checked=len(readings),
        rows_checked=sum(reading.content.rows for reading in readings if reading.content is not None),
        bytes_checked=snapshot.bytes,
        version=snapshot.version,
        watermark=snapshot.watermark,
        seconds=perf_counter() - started,
        remedy=_remedy(job, snapshot, findings),
        left_out=left_out,
        deep=check is not None and not left_out,
    )


def beside_files(job: ArchiveJob, snapshot: Snapshot, receipts: list[tuple[int, Receipt]]) -> list[Finding]:
    """Return the findings in the log itself, and in what lies beside the archive's files."""
    findings = [
        *_format(snapshot),
        *statement_findings(snapshot, job.command("vacuum")),
        *_foreign_files(job, snapshot),
    ]
    if receipts:
        findings += _log_entries(snapshot, receipts)
        findings += older_version_findings(job, snapshot, receipts)
        findings += side_table_findings(job, snapshot, receipts)
    return findings


def _of_files(
    files: Sequence[FileFact],
    readings: Sequence[FileReading],
    state: TableState | None,
    receipts: list[tuple[int, Receipt]],
) -> list[Finding]:
    """Check file by file, and all files against the ledger, as far as it can be read."""
    findings = [finding for reading in readings for finding in reading.findings]
    if receipts:
        findings += file_list_findings(files, (one.attempt for _, one in receipts))
    if state is not None:
        findings += _contents(state, readings, receipts)
    return findings


def _row_check(deep: bool | None, rows: RowCheck | None) -> tuple[RowCheck | None, str]:
    """Return who checks each row, nobody in a quick audit; and what is left out for want of Spark."""
    if deep is False or rows is not None:
        return (None if deep is False else rows), ""
    try:
        with needed("to compute the hash of every row again"):
            from tidewheel.jobs.audit.rows import row_findings
            from tidewheel.jobs.audit.second_log import log_findings
            from tidewheel.jobs.process.session import open_session
    except NotInstalled as missing:
        if deep:
            raise
        package = missing.values["package"]
        return page_findings, f"no row's hash was computed again, for want of {package}; {missing.remedy}"

    def by_spark(snapshot: Snapshot, facts: Sequence[FileFact]) -> list[Finding]:
        spark = open_session()
        return [*log_findings(spark, snapshot), *row_findings(spark, snapshot, facts)]

    return by_spark, ""


def _unopened(job: ArchiveJob, error: Damaged | InvalidInput) -> Finding:
    """Return a finding for an archive that cannot be opened; a place without one is the caller's mistake."""
    if isinstance(error, Damaged):
        return Finding(Flaw.UNREADABLE, error.message, None, LOG_FOLDER)
    if not job.location.has_log():
        raise error
    return Finding(Flaw.FORMAT, error.message, None, LOG_FOLDER)


def _remedy_unopened(job: ArchiveJob) -> str:
    is_derived = job.called.endswith(_DERIVED) and job.file is None
    return job.derived_anew(job.called) if is_derived else ""


def ledger_findings_of(snapshot: Snapshot) -> tuple[TableState | None, list[tuple[int, Receipt]], list[Finding]]:
    """Return the state with its ledger and all receipts, as far as they can be read."""
    try:
        state, receipts = state_of(snapshot), list(all_receipts(snapshot))
    except (Damaged, KeyError, TypeError, ValueError) as error:
        message = error.message if isinstance(error, Damaged) else f"the ledger cannot be understood: {error!r}"
        return None, [], [Finding(Flaw.DAMAGED_LEDGER, message)]
    findings = receipt_findings(receipts, version=state.version, head=state.head, watermark=state.watermark)
    findings += ledger_findings(state.ledger, receipts, state.definition.span)
    return state, receipts, findings + _ledger_beyond_log(snapshot)


def _ledger_beyond_log(snapshot: Snapshot) -> list[Finding]:
    """Find ledger files of versions that the log lacks. The log is listed after them: commits may land meanwhile."""
    findings = []
    ledgers = stored_files(snapshot.location, LEDGER_FOLDER)
    end = max((snapshot.version, *list_log(snapshot.location).entries))
    for file in ledgers:
        stem = file.path.rsplit("/", 1)[-1].removesuffix(".json.gz")
        if stem.isdigit() and int(stem) > end:
            message = f"the ledger reaches version {int(stem)}, the log ends at {end}: commits were lost"
            findings.append(Finding(Flaw.DAMAGED_LEDGER, message, None, file.path, int(stem), end))
    return findings


def _contents(
    state: TableState, readings: Sequence[FileReading], receipts: Sequence[tuple[int, Receipt]]
) -> list[Finding]:
    contents = [reading.content for reading in readings if reading.content is not None]
    unread = [reading.fact for reading in readings if reading.content is None]
    # Only updates and expiries look at the bounds of all sub-indices.
    done = [one.operation for _, one in receipts if one.operation is not Deed.FENCE]
    settled = bool(done) and done[-1] in (Deed.UPDATE, Deed.EXPIRE)
    return content_findings(state, contents, unread, settled=settled)


def _format(snapshot: Snapshot) -> list[Finding]:
    """Check that tidewheel's own columns are there as it made them; versions and features were checked on opening."""
    kinds = {field.name: field.type for field in snapshot.schema.fields}
    return [
        Finding(
            Flaw.FORMAT,
            f"column {field.name} of the table is {kinds.get(field.name, 'missing')}, not {field.type}",
            expected=str(field.type),
            found=str(kinds.get(field.name)),
        )
        for field in (*stored_fields(), *partition_fields())
        if kinds.get(field.name) != field.type
    ]


def _foreign_files(job: ArchiveJob, snapshot: Snapshot) -> list[Finding]:
    """Find data files in the archive's folder that no attempt wrote and no version names."""
    named = {fact.path for fact in snapshot.files}
    return [
        Finding(Flaw.FOREIGN, f"tidewheel did not write {file.path}", None, file.path, None, file.bytes)
        for file in stored_files(job.location)
        if file.path.endswith(".parquet")
        and not file.path.startswith("_")
        and file.path not in named
        and attempt_folder(file.path) is None
    ]


def _log_entries(snapshot: Snapshot, receipts: Sequence[tuple[int, Receipt]]) -> list[Finding]:
    """Check that every entry still in the log is whole, and its receipt the one that the ledger keeps."""
    known, findings = dict(receipts), []
    for version, file in sorted(list_log(snapshot.location).entries.items()):
        if version > snapshot.version:
            continue
        try:
            same = entry_receipt(snapshot, version) == known.get(version)
        except (Damaged, KeyError, TypeError, ValueError) as error:
            findings.append(
                Finding(Flaw.UNREADABLE, f"the log entry {file.path}: {one_line(str(error))}", None, file.path)
            )
            continue
        if not same:
            message = f"the receipt in the log entry {file.path} is not the one that the ledger keeps"
            findings.append(Finding(Flaw.DAMAGED_LEDGER, message, None, file.path))
    return findings


def _remedy(job: ArchiveJob, snapshot: Snapshot, findings: Sequence[Finding]) -> str:
    definition = snapshot.definition
    if findings and definition.derived:
        return _remedy_for_derived(job, snapshot, findings)
    slots = backfill_range(findings)
    if slots is None:
        return _remedy_for_others(job, findings)
    return job.source_command("backfill", definition.name, *backfill_options(definition.axis, slots))


def _remedy_for_derived(job: ArchiveJob, snapshot: Snapshot, findings: Sequence[Finding]) -> str:
    """Return the remedy for a derived archive: recompute wrong rows; replace it if it cannot be read at all."""
    anew = job.derived_anew(snapshot.definition.name)
    slots = backfill_range(findings)
    if slots is None or any(one.kind not in _MADE_AGAIN or one.slots is None for one in findings):
        return anew
    axis = snapshot.definition.axis
    source = job.source_called(snapshot.definition.name)
    again = ["tidewheel", "refresh", source, "--from", axis.name(slots[0]), "--to", axis.name(slots[1] + 1)]
    return f"{shlex.join(again)}; what the next audit still names: {anew}"


def _remedy_for_others(job: ArchiveJob, findings: Sequence[Finding]) -> str:
    """Return the command, if only other readers are misled, or bounds in the log are not the files' own."""
    if not findings or any(one.kind not in (Flaw.OTHER_READERS, Flaw.STATISTICS) for one in findings):
        return ""
    return _rewrite(job) if any(one.path for one in findings) else job.command("vacuum")


def _rewrite(job: ArchiveJob) -> str:
    return job.command("migrate", "--stop-and-rebuild")
