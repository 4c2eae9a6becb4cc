"""A believable stream of network flow records: the same numbers for the same seed, slot by slot.

Customers own source addresses and have a plan, which says how long their flows are kept (archives/netflow.toml):
most are on `free`, a third on `paid`, a few under `audit`. Traffic swells and falls; a few talkers send most of it;
one flow in a hundred is reported up to twenty minutes late, and one in a thousand carries a plan that nobody knows.
"""

from __future__ import annotations

from datetime import timedelta
from math import pi, sin
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tidewheel.indexing.core.slots import TimeAxis, moment

if TYPE_CHECKING:
    import pyarrow as pa

CUSTOMERS = 60
ADDRESSES = 1500
# Found in every batch: the address that the demonstration asks for, and the one that asks to be forgotten.
PROBED = "10.0.0.7"
FORGOTTEN = "10.0.0.66"
_PLANS = ("free", "paid", "audit")
_PLAN_SHARES = (0.62, 0.33, 0.05)
_SERVICES = {443: "tcp", 80: "tcp", 53: "udp", 22: "tcp", 25: "tcp", 123: "udp", 5432: "tcp"}
_SERVICE_SHARES = (0.48, 0.14, 0.2, 0.04, 0.05, 0.06, 0.03)
_SWELL_SLOTS = 48


class FlowStream:
    """The stream of one seed; each slot is made on its own, so any may be made again or out of order."""

    def __init__(self, axis: TimeAxis, rows_per_slot: int, seed: int = 2006) -> None:
        self._axis = axis
        self._rows = rows_per_slot
        self._seed = seed
        rng = Random(f"{seed}/customers")
        plans = rng.choices(_PLANS, _PLAN_SHARES, k=CUSTOMERS)
        addresses = [f"10.0.{n // 256}.{n % 256}" for n in range(1, ADDRESSES + 1)]
        self._owner = {address: rng.randrange(CUSTOMERS) for address in addresses}
        # The two that the story is about should have something to show.
        plans[0], plans[1] = "paid", "audit"
        self._owner[PROBED], self._owner[FORGOTTEN] = 0, 1
        self._plans = plans
        self._talkers = addresses
        self._weights = [1 / (1 + rank) ** 0.8 for rank in rng.sample(range(ADDRESSES), ADDRESSES)]

    def batch(self, slot: int, *, corrected: bool = False) -> pa.Table:
        """The flows of a slot; corrected: of a collector that had counted bits for bytes, and lost some."""
        import pyarrow as pa

        rng = Random(f"{self._seed}/{slot}")
        sources = [PROBED, FORGOTTEN, *rng.choices(self._talkers, self._weights, k=self._count(slot))]
        flows = self._flows(rng, slot, sources)
        if corrected:
            found = self._flows(rng, slot, rng.choices(self._talkers, self._weights, k=len(sources) // 50))
            flows = {name: values + found[name] for name, values in flows.items()}
            flows["bytes"] = [max(40, number // 8) for number in flows["bytes"]]
        return pa.table(flows, schema=_schema())

    def _count(self, slot: int) -> int:
        """How many flows a slot has: two swells in a working day."""
        return max(1, round(self._rows * (1 + 0.3 * sin(2 * pi * slot / _SWELL_SLOTS))))

    def _flows(self, rng: Random, slot: int, sources: list[str]) -> dict[str, list[Any]]:
        start, interval, count = moment(self._axis.start_us(slot)), self._axis.interval_us, len(sources)
        ports = rng.choices(tuple(_SERVICES), _SERVICE_SHARES, k=count)
        sizes = [max(40, int(rng.lognormvariate(7.5, 2))) for _ in range(count)]
        # A late flow starts before the slot whose batch brings it.
        offsets = [rng.randrange(interval) - (rng.randrange(4 * interval) if rng.random() < 0.01 else 0)
                   for _ in range(count)]  # fmt: skip
        return {
            "flow_start": [start + timedelta(microseconds=offset) for offset in offsets],
            "src_ip": sources,
            "dst_ip": [f"198.51.100.{rng.randrange(1, 255)}" for _ in range(count)],
            "src_port": [rng.randrange(32768, 61000) for _ in range(count)],
            "dst_port": ports,
            "protocol": [_SERVICES[port] for port in ports],
            "bytes": sizes,
            "packets": [1 + number // 900 for number in sizes],
            "customer": [f"c{self._owner[source]:03d}" for source in sources],
            "plan": ["trial" if rng.random() < 0.001 else self._plans[self._owner[source]] for source in sources],
        }


def write_batch(table: pa.Table, folder: Path) -> None:
    """One Parquet file in a slot's folder, in place of what was there; it appears whole or not at all."""
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    part = folder / ".flows.parquet.part"
    parquet.write_table(table, part)
    part.replace(folder / "flows.parquet")


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, whole = pa.string(), pa.int32()
    return pa.schema([
        ("flow_start", pa.timestamp("us", "UTC")), ("src_ip", text), ("dst_ip", text), ("src_port", whole),
        ("dst_port", whole), ("protocol", text), ("bytes", pa.int64()), ("packets", whole), ("customer", text),
        ("plan", text),
    ])  # fmt: skip
