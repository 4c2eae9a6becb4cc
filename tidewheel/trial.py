"""A draft of an archive file, tried on its sample: a whole update of a small archive of its own, which goes again.

What would not be stored is told as lines of the file that say CHECK.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tidewheel.hands import archive_job
from tidewheel.indexing.archive_file.fields import FIELDS
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.errors import NotInstalled, TidewheelError
from tidewheel.indexing.extras import needed
from tidewheel.indexing.printable import counted, one_line, printable

if TYPE_CHECKING:
    from tidewheel.indexing.archive_file.sample import Guess
    from tidewheel.indexing.core.receipts import SlotReceipt

_EVERYTHING = Confirmations(True, True, True, True, True)
SAID_MAX = 300


def trial_lines(text: str, target: str, sample: Path, rows: int, guess: Guess) -> list[str]:
    """Return what became of the sample's records, as comments. Cost: Spark, and one update."""
    try:
        receipt = _tried(text, target, sample, guess)
    except NotInstalled as error:
        return [f"# CHECK: not tried on its sample, for want of {error.values.get('package', 'Spark')}."]
    except TidewheelError as error:
        said = printable(one_line(error.message).removesuffix(". Nothing was changed"))[:SAID_MAX]
        return [f"# CHECK: an update with the sample fails: {said}"]
    kept = receipt.rows_in - receipt.quarantined
    lines = [f"# Tried on the sample: {kept:,} of {counted(rows, 'record')} would be taken in."]
    if receipt.rows_in != rows:
        lines.append(
            f"# CHECK: Spark reads {counted(receipt.rows_in, 'record')} where there are {rows:,}: see format and "
            "options of [source]."
        )
    return lines + [
        f"# CHECK: {counted(records, 'record')} would be set aside as {rule}: {_meanings()[rule]}"
        for rule, records in receipt.rules.items()
    ]


def _tried(text: str, target: str, sample: Path, guess: Guess) -> SlotReceipt:
    with needed("to try the draft"):
        from tidewheel.jobs.create import create
        from tidewheel.jobs.process.java_start import spark_home
        from tidewheel.jobs.update import update
        from tidewheel.storage.location import Location

        spark_home()
    file = parse_archive_file(text, target)
    with TemporaryDirectory(prefix="tidewheel-trial-") as folder:
        # A name without signs that a template or a glob would take for its own; endings say how it is packed.
        link = Path(folder) / f"sample{''.join(re.findall(r'[.][A-Za-z0-9]+', sample.name))}"
        link.symlink_to(sample)
        place = Location.of(f"{folder}/table")
        tried = replace(file, path=place.uri, clock=Clock.DATA, source=replace(file.source, path=str(link)))
        job = archive_job(place, tried)
        slot = file.axis.slot_of(job.clock() if guess.last_us is None else guess.last_us)
        create(job, slot)
        receipt = update(job, [slot], confirmed=_EVERYTHING).receipt
    assert receipt is not None
    return receipt.slots[0]


def _meanings() -> dict[str, str]:
    """Return each rule's meaning, as the reference of archive files states it."""
    return {field.key: field.meaning for field in FIELDS if field.section == "policy"}
