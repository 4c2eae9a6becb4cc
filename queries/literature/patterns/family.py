"""The engines of update patterns, as `tidewheel derive trace` plays them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tidewheel.queries.literature.patterns.approach import approach_named, is_approach
from tidewheel.queries.literature.patterns.engine import Engine
from tidewheel.queries.literature.trace import Answer, Played, Trace


class Patterns:
    names: tuple[str, ...] = (
        "NT",
        "NT(10 chains)",
        "DIRECT",
        "UPA(10)",
        "UPA(50)",
        "UPA(10, unsorted)",
        "UPA(10, negative)",
    )

    def knows(self, name: str) -> bool:
        return is_approach(name)

    def trace(self, name: str, played: Played) -> Trace:
        engine = Engine(played.plan, approach_named(name), logs=True, internal=played.internal)
        coming: defaultdict[int, list[Any]] = defaultdict(list)
        for arrival in played.history.arrivals:
            coming[arrival.ts].append(arrival)
        changing: defaultdict[int, list[Any]] = defaultdict(list)
        for update in played.history.updates:
            changing[update.at].append(update)
        answers: list[Answer] = []
        held_most = 0
        for now in range(played.until + 1):
            engine.tick(now, coming[now], changing[now])
            held_most = max(held_most, engine.state_size)
            if now in played.runs:
                answers.append(Counter(row.values for row in engine.answer()))
        steps = engine.steps
        operations = {"calls": steps.calls, "touched": steps.touched, "matches": steps.matches}
        lives = [life for life in engine.view.lives if life.record.ts < life.end]
        lost = sum(_run_after(life.record.ts, played) >= life.end for life in lives)
        return Trace(name, tuple(answers), operations, held_most, len(lives), lost)


def _run_after(moment: int, played: Played) -> int:
    """Return the first run at a moment or after it."""
    return -(-moment // played.every) * played.every
