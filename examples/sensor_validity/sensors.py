"""Sensor validity: which sensors have a valid reading, now and at any moment before; a bad batch is replaced.

python examples/sensor_validity/sensors.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import tidewheel

VALID = "select sensor, max_by(value, valid_until) as value from live group by sensor order by sensor"
FIRST, SECOND = "2026-11-18T10:00Z", "2026-11-18T10:10Z"


def main(folder: Path) -> None:
    land(folder, "1000", ["hall,2026-11-18T10:01:00Z,20.5,30", "roof,2026-11-18T10:02:00Z,4.0,12"])
    land(folder, "1010", ["hall,2026-11-18T10:11:00Z,20.7,30", "lift,2026-11-18T10:12:00Z,1.0,n/a"])
    shutil.copy(Path(__file__).with_name("sensors.toml"), folder)
    archive = tidewheel.open(folder / "sensors.toml")
    archive.create()
    archive.update(FIRST)
    archive.update(SECOND)
    print("valid:     ", archive.sql(VALID).rows())
    print("at a quarter past ten, roof is over:", archive.probe("roof", as_of="2026-11-18T10:15Z").rows())
    print("set aside: ", [(one.rule, one.text) for one in archive.quarantined()])
    # The first batch was wrong. It comes again: what it brought is replaced, and no life gets longer.
    land(folder, "1000", ["hall,2026-11-18T10:01:00Z,19.5,30", "roof,2026-11-18T10:02:00Z,4.5,25"])
    archive.update(FIRST)
    print("corrected: ", archive.sql(VALID).rows())
    print("clean:     ", archive.audit(deep=False).clean)


def land(folder: Path, name: str, lines: list[str]) -> None:
    path = folder / "landing" / f"2026-11-18T{name}.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["sensor,measured_at,value,valid_minutes", *lines, ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()))
