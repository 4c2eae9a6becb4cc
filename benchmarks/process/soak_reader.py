"""A reader that stays open for as long as it is asked: each line on standard input is a key to probe.

It answers with JSON: milliseconds, rows, all live rows when the line is empty, and its own resident memory.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from benchmarks.harness.measures import resident_bytes
from tidewheel.sql.reader import Reader


def main(table: str) -> None:
    with Reader.open(table, now_us=lambda: 0) as reader:
        for line in sys.stdin:
            start = perf_counter()
            key = line.strip()
            rows = len(reader.probe(key).rows() if key else reader.scan(columns=["number"]).rows())
            answer = {"ms": (perf_counter() - start) * 1000, "rows": rows, "resident_bytes": resident_bytes()}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
