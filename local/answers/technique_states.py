"""The states of techniques from one refresh to the next: a small file beside the answers, a line for each query.

It is a cache of partials. A line names the fragments that its techniques may hold something of, and the digest of what
the partials had in them. Whatever changes one of these (a late record, a replay, a forget, an undo) makes the digest
another; so the line counts no more, and the techniques begin anew with the oldest window. So it is with a line that is
damaged, of another program or of another tree, and where partials have expired of which it holds something.

Every refresh leaves nothing in the file that does not count: what is gone from the partials is gone from it as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from tidewheel.commits.accounting import PROGRAM
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.shared_plan import SharedPlan
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.reflection import Reflection
from tidewheel.queries.streams import Streams
from tidewheel.queries.value_text import value_of, value_text
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.location import Location

FILE = f"{SIDE_FOLDER}/technique_states"
CHECK_BYTES = 16


@dataclass(frozen=True)
class KeptState:
    """One line: of which query, from which fragments of which tree, and what was in these."""

    part: str
    tree: str
    first: int
    end: int
    content: int
    state: str
    program: str = PROGRAM

    def line(self) -> bytes:
        text = json.dumps(asdict(self)).encode()
        return _check(text) + b" " + text

    @staticmethod
    def of_line(line: bytes) -> KeptState | None:
        """Read a line; None if it is not whole, or not ours."""
        check, _, text = line.partition(b" ")
        if check != _check(text):
            return None
        with suppress(TypeError, ValueError):
            found = KeptState(**json.loads(text))
            return found if found.program == PROGRAM else None
        return None


@dataclass
class KeptStates:
    """The states beside an archive's answers, held against what its partials are now, by tree; `put` and `keep` them.

    `watermark` is that of the partials.
    """

    location: Location
    reflected: Mapping[str, Reflection]
    watermark: int | None

    def of(self, query: Query, tree: str) -> Mapping[str, Any] | None:
        """The state of a query's streams, if it counts."""
        kept = self._known(query, tree)
        return None if kept is None else dict(value_of(kept.state))

    def put(self, query: Query, tree: str, plan: SharedPlan, streams: Streams) -> None:
        """Keep a query's streams, unless they were further on, or are too much to keep."""
        slices = self.reflected[tree].tree.slices
        first, end = (slices.number_of(plan.start_of(at)) for at in (streams.end - streams.reach, streams.end))
        known = self._known(query, tree)
        if known is not None and known.end > end:
            return
        with suppress(InvalidInput):
            state = value_text(streams.state())
            content = self.reflected[tree].content(first, end)
            self._lines[query.part] = KeptState(query.part, tree, first, end, content, state)

    def keep(self, parts: Collection[str]) -> None:
        """Write the file, with what counts of these queries and nothing else."""
        lines = [kept.line() for part, kept in sorted(self._lines.items()) if part in parts and self._counts(kept)]
        if lines and lines != self._read:
            self.location.write_bytes(self.location.child(FILE), b"\n".join(lines))
        elif self._read and not lines:
            self.location.delete(FILE)

    def _known(self, query: Query, tree: str) -> KeptState | None:
        kept = self._lines.get(query.part)
        return kept if kept is not None and kept.tree == tree else None

    @cached_property
    def _read(self) -> list[bytes]:
        try:
            return self.location.read_bytes(self.location.child(FILE)).split(b"\n")
        except OSError:
            return []

    @cached_property
    def _lines(self) -> dict[str, KeptState]:
        """The lines that count, of those that were read."""
        found = (KeptState.of_line(line) for line in self._read)
        return {kept.part: kept for kept in found if kept is not None and self._counts(kept)}

    def _counts(self, kept: KeptState) -> bool:
        """Tell whether the partials of its fragments are there as they were."""
        reflection = self.reflected.get(kept.tree)
        if reflection is None or reflection.content(kept.first, kept.end) != kept.content:
            return False
        until_us = reflection.tree.slices.end_of(kept.first) + reflection.tree.horizon_us
        return self.watermark is None or reflection.axis.expiration_slot_of(until_us) > self.watermark


def _check(text: bytes) -> bytes:
    return blake2b(text, digest_size=CHECK_BYTES).hexdigest().encode()
