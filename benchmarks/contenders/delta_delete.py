"""Delta, append and DELETE WHERE expired: what most people do. Every file holds something that expires."""

from __future__ import annotations

from benchmarks.contenders.delta import DeltaContender


class DeltaDelete(DeltaContender):
    def __init__(self, optimize_every: int = 0) -> None:
        self.optimize_every = optimize_every
        self.name = "delta_delete" + (f"_optimize_{optimize_every}" if optimize_every else "")
        self.label = "Delta, append + DELETE" + (f", OPTIMIZE every {optimize_every}" if optimize_every else "")
        self.settle = max(2, optimize_every)


class DeltaZOrder(DeltaContender):
    """The same, with the table Z-ordered on the key now and then."""

    def __init__(self, optimize_every: int = 12) -> None:
        self.optimize_every = optimize_every
        self.name = f"delta_zorder_{optimize_every}"
        self.label = f"Delta, append + DELETE, Z-order on the key every {optimize_every}"
        self.settle = optimize_every

    def _optimize(self) -> None:
        self._table.optimize().executeZOrderBy("key")
