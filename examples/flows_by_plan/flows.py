"""Flows by plan: what each customer's plan lets one keep leaves by itself, each at its own time.

python examples/flows_by_plan/flows.py [FOLDER]
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import tidewheel

PLANS = ("free", "paid", "audit", "trial")  # nobody has said how long a trial's flows may be kept
LEFT = "select plan, count(*) as flows, sum(bytes)::bigint as bytes from live group by plan order by plan"


def main(folder: Path) -> None:
    for hour in range(4):
        land(folder, hour)
    shutil.copy(Path(__file__).with_name("flows.toml"), folder)
    archive = tidewheel.open(folder / "flows.toml")
    archive.create()
    archive.update("2026-11-18T00:00Z", "2026-11-18T03:00Z")
    print("after three hours:", archive.sql(LEFT).rows())
    archive.update("2026-11-18T03:00Z")
    print("an hour later:    ", archive.sql(LEFT).rows())
    print("set aside:        ", sorted({(one.rule, one.record["plan"]) for one in archive.quarantined()}))
    print("one address:      ", archive.probe("10.0.0.2").df()["bytes"].agg(["count", "min", "max"]).tolist())


def land(folder: Path, hour: int) -> None:
    """One hour's file: a flow of each plan, every quarter of an hour."""
    flows = [
        {
            "src_ip": f"10.0.0.{number}",
            "seen_at": f"2026-11-18T{hour:02d}:{quarter:02d}:00Z",
            "bytes": 100 * (hour + 1) + quarter,
            "plan": plan,
        }
        for number, plan in enumerate(PLANS)
        for quarter in (0, 15, 30, 45)
    ]
    path = folder / "landing" / f"2026-11-18T{hour:02d}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(flow) + "\n" for flow in flows))


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()))
