"""What all profiles have measured: for each race the profile that measured most, and what was said of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.harness.store import Store
from benchmarks.harness.summary import Summary, summaries

PROFILES = ("full", "standard", "quick")


class Results:
    """The stored results of every profile. A race that several have run is taken whole, from the largest profile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores = [Store(name, folder) for name in PROFILES if (folder / f"{name}.json").exists()]
        self.race = cache(self._race)

    def races(self) -> dict[str, Store]:
        """Every race with finished contenders, and the store it is taken from."""
        found: dict[str, Store] = {}
        for store in self.stores:
            for race, _, _ in store.results():
                found.setdefault(race, store)
        return found

    def stream(self, race: str) -> dict[str, Any]:
        store = self.races()[race]
        stream: dict[str, Any] = store.values["races"][race]["stream"]
        return stream

    def raw(self, race: str) -> dict[str, Any]:
        """The contenders of a race with all their samples."""
        store = self.races().get(race)
        return store.race(race) if store else {}

    def samples(self, race: str, contender: str) -> tuple[str, list[dict[str, Any]]]:
        """The profile, and one contender's updates."""
        store = self.races().get(race)
        if store is None:
            return "", []
        return store.values["profile"], store.race(race).get(contender, {}).get("updates", [])

    def largest(self) -> tuple[str, dict[str, Summary]]:
        """The race with the most live data of those everyone runs."""
        for race in ("large", "small"):
            if self.race(race):
                return race, self.race(race)
        return "small", {}

    def experiment(self, name: str) -> dict[str, Any]:
        return next((store.experiment(name) for store in self.stores if store.experiment(name)), {})

    def _race(self, name: str) -> dict[str, Summary]:
        return summaries(self.raw(name))
