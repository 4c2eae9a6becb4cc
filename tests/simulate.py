"""Play random histories with faults: `python -m tests.simulate --seed 7 --steps 100000`."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter

from tests.simulator.playing import STEPS_PER_HISTORY, play

BLOCK_HISTORIES = 2_000  # that one process plays at a time


def simulate(seed: int, steps: int, length: int = STEPS_PER_HISTORY) -> Counter[str]:
    """Histories of consecutive seeds until there were so many steps; at least one."""
    tally: Counter[str] = Counter()
    while tally["steps"] < steps:
        tally += play(seed + tally["histories"], length)
        tally["histories"] += 1
    return tally


def simulate_beside(seed: int, steps: int, length: int, jobs: int) -> Counter[str]:
    """As many histories, of seeds of their own, in several processes."""
    blocks = [seed + BLOCK_HISTORIES * block for block in range(-(-steps // (BLOCK_HISTORIES * length)))]
    tally: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs) as processes:
        for one in processes.map(partial(_block, length=length), blocks):
            tally += one
    return tally


def _block(seed: int, length: int) -> Counter[str]:
    return simulate(seed, BLOCK_HISTORIES * length, length)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1, help="how many in all; the last history is played to its end")
    parser.add_argument("--length", type=int, default=STEPS_PER_HISTORY, help="steps of one history")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes, if there is much to do")
    given = parser.parse_args()
    started = perf_counter()
    if given.steps <= BLOCK_HISTORIES * given.length:
        tally = simulate(given.seed, given.steps, given.length)
    else:
        tally = simulate_beside(given.seed, given.steps, given.length, given.jobs)
    seconds = perf_counter() - started
    print(f"seed {given.seed}: " + ", ".join(f"{count} {name}" for name, count in tally.items()))
    print(f"{seconds:.1f} s, {tally['steps'] / seconds * 60:,.0f} steps a minute; no invariant was broken")


if __name__ == "__main__":
    main()
