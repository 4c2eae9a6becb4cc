"""The choice of the version that a read is pinned at: the newest, one by its number, or the one for a moment.

Several archives are pinned one after the other and then read as of one moment, for which each version answers alone:
what a record's life says at that moment does not depend on when the others were looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.indexing.rules.as_of import answers_for, version_as_of, watermark_end_us
from tidewheel.sql.pinned_version import PinnedVersion
from tidewheel.sql.session import Session
from tidewheel.storage.ledger_store import all_receipts, checked, ledger_of
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from tidewheel.storage.holding import HeldVersion, Holding

HOLD_TRIES = 3


def open_session(
    locations: Mapping[str, Location],
    *,
    now_us: Callable[[], int],
    as_of_us: int | None = None,
    hold_us: int = 0,
    beside: Mapping[str, Location] | None = None,
) -> Session:
    """Archives under their names, each at the version that answers for a moment: their present, unless one is given.

    With `hold_us`, vacuum leaves these versions for so long, or until the session is closed or its process ends.
    `beside` are archives that further views read.
    """
    newest = {name: snapshot_at(location) for name, location in {**locations, **(beside or {})}.items()}
    if as_of_us is None:
        as_of_us = moment_together_us(newest, now_us())
    snapshots = {name: snapshot_as_of(one, as_of_us) for name, one in newest.items()}
    if not hold_us:
        return _session({name: PinnedVersion(one) for name, one in snapshots.items()}, locations, as_of_us)
    from tidewheel.storage.holding import Holding

    held: dict[str, tuple[Snapshot, HeldVersion]] = {}
    try:
        for name, snapshot in snapshots.items():
            held[name] = _held(snapshot, as_of_us, hold_us, now_us)
        versions = {name: PinnedVersion(one) for name, (one, _) in held.items()}
        holding = Holding([one for _, one in held.values()], now_us)
        return _session(versions, locations, as_of_us, holding)
    except BaseException:
        for _, one in held.values():
            one.release()
        raise


def _session(
    versions: Mapping[str, PinnedVersion], named: Collection[str], as_of_us: int, holding: Holding | None = None
) -> Session:
    beside = {name: one for name, one in versions.items() if name not in named}
    named_versions = {name: one for name, one in versions.items() if name in named}
    return Session(named_versions, as_of_us, holding=holding, beside=beside)


def _held(snapshot: Snapshot, as_of_us: int, hold_us: int, now_us: Callable[[], int]) -> tuple[Snapshot, HeldVersion]:
    """The version with a hold on it, or a newer one if a vacuum was quicker."""
    from tidewheel.storage.holding import take_hold

    for _ in range(HOLD_TRIES):
        if held := take_hold(snapshot, hold_us, now_us()):
            return snapshot, held
        snapshot = snapshot_as_of(snapshot_at(snapshot.location), as_of_us)
    raise InvalidInput(
        f"version {snapshot.version} of archive {snapshot.definition.name}, which answers for {iso(as_of_us)}, is past "
        "its grace, and a vacuum has been there",
        "read a later moment, or read without holding",
    )


def snapshot_at(location: Location, version: int | None = None) -> Snapshot:
    """The newest version, or one by its number."""
    try:
        return checked(open_snapshot(location, version))
    except (Damaged, InvalidInput) as error:
        if version is None:
            raise
        newest = open_snapshot(location)
        if version > newest.version:
            why, remedy = "does not exist", f"the newest is version {newest.version}"
        elif location.has(f"_delta_log/{version:020d}.json") == [True]:
            raise
        else:
            why, remedy = "is no longer in the log", "read a later version"
        raise InvalidInput(f"version {version} of archive {newest.definition.name} {why}", remedy) from error


def snapshot_as_of(newest: Snapshot, as_of_us: int) -> Snapshot:
    """The version that answers for a moment. Cost, for a moment before the newest's own: all receipts."""
    if answers_for(end_us(newest), as_of_us):
        return newest
    return snapshot_at(newest.location, version_number_as_of(newest, as_of_us))


def version_number_as_of(newest: Snapshot, as_of_us: int) -> int:
    """The number of the newest version whose own watermark ends no later than a moment."""
    receipts = list(all_receipts(newest))
    watermarks = [(version, receipt.watermark) for version, receipt in receipts]
    version = version_as_of(watermarks, newest.definition.axis, as_of_us)
    if version is None:
        raise _unanswered(newest, as_of_us, [watermark for _, watermark in watermarks if watermark is not None])
    _refuse_forgotten(newest, receipts, version, as_of_us)
    return version


def _unanswered(newest: Snapshot, as_of_us: int, watermarks: Sequence[int]) -> InvalidInput:
    axis, applied = newest.definition.axis, ledger_of(newest).applied
    begin_us = axis.start_us(applied[0][0]) if applied else None
    if begin_us is not None and as_of_us < begin_us:
        why = f"its first batch begins at {iso(begin_us)}"
    else:
        why = "by the first update in its history, records of that time had expired already"
    remedy = f"give a moment from {iso(axis.end_us(min(watermarks)))} on" if watermarks else "give a later moment"
    return InvalidInput(f"no version of archive {newest.definition.name} answers for {iso(as_of_us)}: {why}", remedy)


def _refuse_forgotten(newest: Snapshot, receipts: Sequence[tuple[int, Receipt]], version: int, as_of_us: int) -> None:
    """Older versions keep what was forgotten until grace ends; no read of a moment may show it again."""
    forgets = [(at, receipt) for at, receipt in receipts if receipt.operation is Deed.FORGET and at > version]
    if not forgets:
        return
    at, receipt = forgets[-1]
    since_us = watermark_end_us(newest.definition.axis, receipt.watermark)
    raise InvalidInput(
        f"{iso(as_of_us)} would be answered from version {version} of archive {newest.definition.name}, which still "
        f"holds what was forgotten in version {at}",
        "give a later moment" + ("" if since_us is None else f", from {iso(since_us)} on"),
    )


def moment_together_us(snapshots: Mapping[str, Snapshot], now_us: int) -> int:
    """The moment meant for several archives when none is named: their common present.

    That of live archives is now, and that of historic ones the latest end of their data. Both together have none.
    """
    ends_us = [end for one in snapshots.values() if (end := end_us(one)) is not None]
    clocks = {one.definition.clock for one in snapshots.values()}
    if len(clocks) > 1:
        historic = ", ".join(name for name, one in snapshots.items() if one.definition.clock is Clock.DATA)
        raise InvalidInput(
            f"{historic} keeps historic data and the others go by the wall clock, so they have no common present",
            "name the moment to answer for: --as-of, in Python as_of=",
        )
    return max([now_us, *ends_us] if Clock.WALL in clocks or not ends_us else ends_us)


def end_us(snapshot: Snapshot) -> int | None:
    return watermark_end_us(snapshot.definition.axis, snapshot.watermark)
