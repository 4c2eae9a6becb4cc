"""Consent and erasure: what was agreed to ends by itself, and who changes their mind is gone, and stays so.

python examples/consent/consents.py [FOLDER]
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import tidewheel

DAY = "2026-11-18"
KEPT = """
select person, count(*) as events, max(valid_until)::date::varchar as until
from live group by person order by person
"""


def main(folder: Path) -> None:
    land(folder)
    shutil.copy(Path(__file__).with_name("consents.toml"), folder)
    archive = tidewheel.open(folder / "consents.toml")
    archive.create()
    receipt = archive.update(DAY).receipt
    print("kept:      ", archive.sql(KEPT).rows())
    print("shortened: ", receipt.capped_rows if receipt else 0)
    forgotten = archive.forget([("ben",)])
    print("forgotten: ", forgotten.found_nothing is False, archive.probe("ben").rows())
    # The source still has the day's file, and it comes again.
    again = archive.update(DAY, allow_shrink=True).receipt
    print("a replay:  ", archive.sql(KEPT).rows(), sum(one.forgotten for one in again.slots) if again else 0)
    deadline = archive.status().deadline
    print("bytes gone:", ", ".join(part.name for part in deadline.data if part.duration_us))


def land(folder: Path) -> None:
    """One day: Ann agreed to two days, Ben to ten, Cid to a year."""
    until = {"ann": "2026-11-20", "ben": "2026-11-28", "cid": "2027-11-18"}
    events = [
        {
            "person": person,
            "seen_at": f"{DAY}T{hour:02d}:00:00Z",
            "page": f"/{hour}",
            "agreed_until": f"{day}T00:00:00Z",
        }
        for person, day in until.items()
        for hour in (8, 9)
    ]
    path = folder / "landing" / f"{DAY}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()))
