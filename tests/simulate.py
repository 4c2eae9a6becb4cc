"""Play random histories with faults: `python -m tests.simulate --seed 7 --steps 100000`."""

from __future__ import annotations

import argparse
from collections import Counter
from time import perf_counter

from tests.simulator.playing import STEPS_PER_HISTORY, play


def simulate(seed: int, steps: int, length: int = STEPS_PER_HISTORY) -> Counter[str]:
    """Histories of consecutive seeds until there were so many steps; at least one."""
    tally: Counter[str] = Counter()
    while tally["steps"] < steps:
        tally += play(seed + tally["histories"], length)
        tally["histories"] += 1
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1, help="how many in all; the last history is played to its end")
    parser.add_argument("--length", type=int, default=STEPS_PER_HISTORY, help="steps of one history")
    given = parser.parse_args()
    started = perf_counter()
    tally = simulate(given.seed, given.steps, given.length)
    seconds = perf_counter() - started
    print(f"seed {given.seed}: " + ", ".join(f"{count} {name}" for name, count in tally.items()))
    print(f"{seconds:.1f} s, {tally['steps'] / seconds * 60:,.0f} steps a minute; no invariant was broken")


if __name__ == "__main__":
    main()
