"""Many archives looked at side by side, so that one whose store does not answer holds up no other.

Each has three seconds. A look that takes longer goes on in its own thread, and the archive's line says that it did not
answer and how it was when it last did. Nobody begins a second look while one is under way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from tidewheel.dags.page.archives_shown import overview_of
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.rules.health import UNREADABLE

if TYPE_CHECKING:
    from tidewheel.pages.facts import Overview

LOOK_S = 3.0
SIDE_BY_SIDE = 16


@dataclass
class Looks:
    """Looks at archives, and the last one at each that showed its state."""

    look: Callable[[Path], Overview] = overview_of
    look_s: float = LOOK_S
    _under_way: dict[Path, Future[Overview]] = field(default_factory=dict)
    _last: dict[Path, tuple[Overview, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def overviews(self, paths: Sequence[Path]) -> list[Overview]:
        """The archives of these files, in their order."""
        _load()
        found: dict[Path, Overview] = {}
        running: dict[Path, tuple[Future[Overview], float]] = {}
        waiting = list(reversed(paths))
        while waiting or running:
            while waiting and len(running) < SIDE_BY_SIDE:
                path = waiting.pop()
                running[path] = self._begun(path), time.monotonic() + self.look_s
            soonest = min(until for _, until in running.values())
            wait([one for one, _ in running.values()], max(0.0, soonest - time.monotonic()), FIRST_COMPLETED)
            for path, (look, until) in list(running.items()):
                if look.done() or time.monotonic() >= until:
                    found[path] = self._told(path, look)
                    del running[path]
        return [found[path] for path in paths]

    def _begun(self, path: Path) -> Future[Overview]:
        with self._lock:
            known = self._under_way.get(path)
            if known is not None and not known.done():
                return known
            look = self._under_way[path] = Future()
        # A daemon: a process that ends waits for no store.
        Thread(target=self._carry_out, args=(path, look), name=f"look at {path.stem}", daemon=True).start()
        return look

    def _carry_out(self, path: Path, look: Future[Overview]) -> None:
        try:
            seen = self.look(path)
        except BaseException as error:
            look.set_exception(error)
            return
        if seen.status is not None:
            self._last[path] = seen, time.monotonic()
        look.set_result(seen)

    def _told(self, path: Path, look: Future[Overview]) -> Overview:
        from tidewheel.pages.facts import Health, Overview

        if look.done():
            seen = look.result()
            return self._as_it_was(path, seen) if seen.health.word == UNREADABLE else seen
        silent = f"it did not answer within {duration_text(round(self.look_s * 1_000_000))}"
        remedy = f"see whether its store can be reached: tidewheel status {path.stem}"
        return self._as_it_was(path, Overview(path.stem, Health(UNREADABLE, silent, remedy)))

    def _as_it_was(self, path: Path, seen: Overview) -> Overview:
        """An archive that cannot be read, with its last known state and how old that is."""
        if path not in self._last:
            return seen
        before, at_s = self._last[path]
        age = duration_text(round(time.monotonic() - at_s) * 1_000_000) if time.monotonic() - at_s >= 1 else "a moment"
        why = f"{seen.health.why}\n{age} ago it was {before.health.word}; the figures are from then"
        return replace(before, health=replace(seen.health, why=why), to_bring=())


def _load() -> None:
    """The modules of a look, before its time begins: loading them takes a second or two, once."""
    import tidewheel.commits.side_tables.quarantine
    import tidewheel.commits.status
    import tidewheel.local.standing.explain  # noqa: F401
