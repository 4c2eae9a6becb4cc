"""The stream: seeded batches of records with their own expiry, one Parquet file per slot, the same for everyone.

A batch depends on the stream's values and its slot alone, so it can be made in any order and on any machine.
Bodies are random printable characters: they compress to about four fifths, as real payloads rarely do better.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.archives.lifetimes import UNIFORM, Lifetime
from benchmarks.archives.rates import CONSTANT, Rate

INTERVAL_US = 60 * 1_000_000
ID_STRIDE = 1 << 24
NARROW_BYTES = 32  # id, key, ins and until
COLUMNS = ("id", "key", "body", "ins", "until")
SPARK_SCHEMA = "id bigint, key bigint, body string, ins timestamp, until timestamp"
_TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Stream:
    """What arrives: `rows` records of `record_bytes` per slot, living up to `span` slots.

    `key_skew` is the exponent of a power law over the keys (0: all equally often). The batches of the first span
    are `head_factor` times as large: what is live grows without the batches that are measured.
    """

    rows: int
    record_bytes: int = 1000
    keys: int = 100
    key_skew: float = 0.0
    lifetime: Lifetime = UNIFORM
    rate: Rate = CONSTANT
    span: int = 36
    head_factor: int = 1
    seed: int = 1

    @property
    def fingerprint(self) -> str:
        """A name for exactly this stream."""
        return sha256(dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def live_bytes(self) -> float:
        """Roughly what is live at any time, uncompressed, in steady state."""
        share = self.lifetime.mean_share()
        return self.rows * self.record_bytes * self.span * share

    def rows_of(self, slot: int) -> int:
        factor = self.head_factor if slot < self.span else 1
        return max(1, round(self.rows * factor * self.rate.factor(slot, self.seed)))

    def batch(self, slot: int) -> pa.Table:
        """The records of a slot."""
        chance = np.random.default_rng([self.seed, slot])
        rows = self.rows_of(slot)
        start_us = slot * INTERVAL_US
        ins = start_us + np.sort(chance.integers(0, INTERVAL_US, rows))
        until = ins + self.lifetime.draw(chance, rows, self.span * INTERVAL_US, INTERVAL_US)
        return pa.table(
            {
                "id": pa.array(slot * ID_STRIDE + np.arange(rows)),
                "key": pa.array(self._keys(chance, rows)),
                "body": _bodies(chance, rows, max(1, self.record_bytes - NARROW_BYTES)),
                "ins": pa.array(ins, _TIME),
                "until": pa.array(until, _TIME),
            }
        )

    def _keys(self, chance: np.random.Generator, rows: int) -> np.ndarray:
        """Even numbers: the odd ones between them are absent, and no minimum or maximum tells."""
        if not self.key_skew:
            return 2 * chance.integers(0, self.keys, rows)
        weights = np.arange(1, self.keys + 1) ** -self.key_skew
        return 2 * chance.choice(self.keys, rows, p=weights / weights.sum())


@dataclass(frozen=True)
class Source:
    """The stream's files in a folder."""

    stream: Stream
    folder: Path

    @staticmethod
    def below(work: Path, stream: Stream) -> Source:
        return Source(stream, work / "streams" / stream.fingerprint)

    @property
    def template(self) -> str:
        return f"{self.folder}/{{slot}}.parquet"

    def path(self, slot: int) -> str:
        return f"{self.folder}/{slot}.parquet"

    def write(self, slots: range) -> None:
        """Write the files that are not there yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for slot in slots:
            path = Path(self.path(slot))
            if not path.exists():
                unfinished = path.with_suffix(".unfinished")
                pq.write_table(self.stream.batch(slot), unfinished)
                unfinished.replace(path)

    def lifetimes(self, slots: range) -> tuple[tuple[float, ...], float]:
        """The share of records by slots lived, as the cost model wants them, and the mean rows of a slot."""
        lived: Counter[int] = Counter()
        for slot in slots:
            until = pq.read_table(self.path(slot), columns=["until"]).column("until")
            expiration = (until.cast(pa.int64()).to_numpy() - 1) // INTERVAL_US
            values, counts = np.unique(expiration - slot, return_counts=True)
            lived.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        total = lived.total()
        return tuple(lived[d] / total for d in range(max(lived) + 1)), total / len(slots)


def as_of_us(slot: int) -> int:
    """The first moment at which the slot's update may have happened: the end of the slot."""
    return (slot + 1) * INTERVAL_US


def _bodies(chance: np.random.Generator, rows: int, length: int) -> pa.Array:
    characters = chance.integers(33, 127, rows * length, dtype=np.uint8)
    offsets = np.arange(0, rows * length + 1, length, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(characters))
