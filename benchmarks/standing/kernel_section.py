"""The page's part about kernels and techniques, from the results alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def kernel_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Tables: one sliding window, many ranges, operations counted."""
    sizes = found["sizes"]
    yield "### Kernels"
    yield ""
    yield (
        f"One window sliding over {found['rows']:,} whole numbers, value by value: nanoseconds an answer, wall clock, "
        "by the window's length, the better of two runs. Everyone has the values in the form that suits it, and "
        "answers in its own. *A list*: ours is not told that the window slides, but makes a list of spans and finds it "
        "there, as in a refresh, whose spans are of any lengths in any order. `-`: too few values; who is "
        "not installed is left out."
    )
    yield ""
    yield f"| | values | {' | '.join(f'{size:,}' for size in sizes)} |"
    yield f"|---|---|{'---|' * len(sizes)}"
    for one in found["slides"]:
        times = ["-" if time is None else f"{time:.1f}" for time in one["ns"]]
        yield f"| {one['what']}: {one['who']} | {one['rows']:,} | {' | '.join(times)} |"
    yield ""
    many = ", ".join(f"{one['what']} {one['who']} {one['ns']:.1f} ns" for one in found["many_ranges"])
    yield f"64 lengths at every slide, an answer: {many}."
    yield ""
    yield "Operations a slide, counted, and by the published formula in parentheses:"
    yield ""
    counts = sorted({one["n"] for one in found["operations"]})
    yield f"| technique | {' | '.join(f'n = {n}' for n in counts)} |"
    yield f"|---|{'---|' * len(counts)}"
    for name in dict.fromkeys(one["technique"] for one in found["operations"]):
        cells = [f"{one['counted']:.2f} ({one['formula']:.2f})" for one in found["operations"]
                 if one["technique"] == name]  # fmt: skip
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    for one in found["many_operations"]:
        yield (
            f"- {one['ranges']} ranges of {one['of']} at every slide: {one['technique']} {one['counted']:.1f} "
            f"operations, {one['who']} {one['ours']}"
        )
