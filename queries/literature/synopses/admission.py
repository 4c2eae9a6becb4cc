"""Queries come and go: which synopsis a new one uses, from when on it is answered, and who is answered together.

1. alias     the same query, at least as often: its answers serve (CS8)
2. attach    synopses of its records, kinds and predicate that reach as far (SS1; an average takes two, SS2)
3. relevant  synopses of other predicates that make up its own (SS4)
4. extend    a synopsis that reaches less far keeps more from now on: exact after as many updates as are missing
5. backfill  what is stored is summarised at once
6. new       a synopsis of its own: exact after a window of updates

Who is answered together is a group (union of what follows): all users of basic intervals, whose one scan answers any
window (CS2); of other forms those of one window (CS1), an average with its sum and count (CS3); a query with those
whose synopses make it up (CS6: of one window; CS7, basic intervals: of any).
Departs from the printed listing: an alias keeps its own period, where it is said to take the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.synopses.relevant import Relevant, relevant_set
from tidewheel.queries.literature.synopses.terms import EVERYTHING, Predicate
from tidewheel.queries.literature.synopses.values import COUNT, SUM, Kind
from tidewheel.queries.scheduling.covers import power_of_two_from


@dataclass(frozen=True)
class Wanted:
    """A periodic aggregate: `kinds` is what it is computed from, of the records of `inputs`."""

    name: str
    inputs: str
    kinds: tuple[Kind, ...]
    window: int
    period: int
    predicate: Predicate = EVERYTHING

    def __post_init__(self) -> None:
        if self.window < 1 or self.period < 1:
            raise InvalidInput(f"query {self.name}: window {self.window}, period {self.period}", "both are 1 or more")

    def is_same(self, other: Wanted) -> bool:
        one, two = ((it.inputs, it.kinds, it.window, it.predicate) for it in (self, other))
        return one == two


def average(name: str, inputs: str, window: int, period: int, predicate: Predicate = EVERYTHING) -> Wanted:
    return Wanted(name, inputs, (SUM, COUNT), window, period, predicate)


@dataclass(frozen=True)
class Held:
    """A synopsis as admission sees it. `since` is the first version whose slots it knows."""

    name: str
    inputs: str
    kind: Kind
    predicate: Predicate
    form: str
    slots_max: int
    since: int
    phase: int = 0

    def exact_from(self, window: int) -> int:
        return self.since + window


@dataclass(frozen=True)
class Admission:
    case: str  # alias, attach, relevant, extend, backfill, new
    uses: tuple[str, ...]  # synopses, or the query of which it is an alias
    exact_from: int  # version of the first exact answer
    relevant: tuple[Relevant, ...] = ()


@dataclass
class Registry:
    """Queries, the synopses they use, and how many slots are stored to be summarised again."""

    form: str = "BI"
    stored_slots: int = 0
    queries: dict[str, Wanted] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    admitted: dict[str, Admission] = field(default_factory=dict)

    def told(self, query: Wanted, version: int) -> Admission:
        """Tell how a query would be registered; nothing is changed."""
        if query.name in self.queries:
            raise InvalidInput(f"query {query.name} is there already", "remove it first, or choose another name")
        ways = (self._alias, self._attached, self._related, self._extended, self._backfilled)
        found = next((one for way in ways if (one := way(query, version)) is not None), None)
        return found or Admission("new", self._own_names(query), version + query.window)

    def register(self, query: Wanted, version: int) -> Admission:
        found = self.told(query, version)
        if found.case in ("backfill", "new"):
            since = found.exact_from - query.window
            for name, kind in zip(found.uses, query.kinds, strict=True):
                slots = power_of_two_from(query.window) if self.form == "I" else query.window
                self.held[name] = Held(name, query.inputs, kind, query.predicate, self.form, slots, since)
        for name in found.uses if found.case == "extend" else ():
            self.held[name] = self._longer(self.held[name], query.window, version)
        self.queries[query.name], self.admitted[query.name] = query, found
        return found

    def remove(self, name: str, version: int) -> list[str]:
        """Forget a query and what only it used; its aliases are admitted anew. The names of synopses that go."""
        del self.queries[name]
        led = [one for one, told in self.admitted.items() if told.case == "alias" and name in told.uses]
        aliases = sorted((self.queries[one] for one in led), key=lambda alias: alias.period)
        del self.admitted[name]
        for alias in aliases:
            del self.queries[alias.name], self.admitted[alias.name]
        for alias in aliases:
            self.register(alias, version)
        used = {synopsis for told in self.admitted.values() for synopsis in told.uses}
        gone = sorted(self.held.keys() - used)
        for one in gone:
            del self.held[one]
        return gone

    def _alias(self, query: Wanted, _: int) -> Admission | None:
        for name, other in self.queries.items():
            if other.is_same(query) and other.period <= query.period and self.admitted[name].case != "alias":
                return Admission("alias", (name,), self.admitted[name].exact_from)
        return None

    def _attached(self, query: Wanted, version: int) -> Admission | None:
        found = [self._reaching(query, kind) for kind in query.kinds]
        if any(one is None for one in found) or len({one.phase for one in found if one}) > 1:
            return None
        uses = [one for one in found if one is not None]
        return Admission("attach", _names(uses), max(version, *(one.exact_from(query.window) for one in uses)))

    def _reaching(self, query: Wanted, kind: Kind) -> Held | None:
        able = [one for one in self._alike(query, kind) if one.slots_max >= query.window]
        return min(able, key=lambda one: (one.exact_from(query.window), one.name), default=None)

    def _alike(self, query: Wanted, kind: Kind) -> Iterator[Held]:
        for one in self.held.values():
            if (one.inputs, one.kind, one.predicate) == (query.inputs, kind, query.predicate):
                yield one

    def _related(self, query: Wanted, version: int) -> Admission | None:
        if query.predicate == EVERYTHING:
            return None
        sets = []
        for kind in query.kinds:
            able = [one for one in self.held.values()
                    if (one.inputs, one.kind) == (query.inputs, kind) and one.slots_max >= query.window]  # fmt: skip
            found = relevant_set(kind, query.predicate, {one.name: one.predicate for one in able})
            if found is None:
                return None
            sets.append(found)
        uses = [self.held[name] for one in sets for name in (*one.plus, *one.minus)]
        exact = max(version, *(one.exact_from(query.window) for one in uses))
        return Admission("relevant", _names(uses), exact, tuple(sets))

    def _extended(self, query: Wanted, version: int) -> Admission | None:
        found = [next(self._alike(query, kind), None) for kind in query.kinds]
        if any(one is None for one in found) or self.stored_slots >= query.window:
            return None
        uses = [one for one in found if one is not None]
        exact = max(self._longer(one, query.window, version).exact_from(query.window) for one in uses)
        return Admission("extend", _names(uses), exact)

    def _longer(self, one: Held, window: int, version: int) -> Held:
        """From now on it keeps what it would have dropped, so what it knows begins where it now ends to reach."""
        if one.slots_max >= window:
            return one
        slots = power_of_two_from(window) if one.form == "I" else window
        since = max(one.since, version - one.slots_max)
        return Held(one.name, one.inputs, one.kind, one.predicate, one.form, slots, since, one.phase)

    def _backfilled(self, query: Wanted, version: int) -> Admission | None:
        if self.stored_slots < query.window:
            return None
        return Admission("backfill", self._own_names(query), version)

    def _own_names(self, query: Wanted) -> tuple[str, ...]:
        return tuple(f"{query.name}.{kind.name}" for kind in query.kinds)

    def groups(self) -> list[frozenset[str]]:
        """Queries that are answered together; aliases are with their leader's and are left out."""
        names = [name for name, told in self.admitted.items() if told.case != "alias"]
        home = {name: name for name in names}

        def root(name: str) -> str:
            while home[name] != name:
                name = home[name]
            return name

        for at, one in enumerate(names):
            for other in names[:at]:
                if self._run_together(one, other):
                    home[root(one)] = root(other)
        found: dict[str, set[str]] = {}
        for name in names:
            found.setdefault(root(name), set()).add(name)
        return [frozenset(group) for group in found.values()]

    def _run_together(self, one: str, other: str) -> bool:
        shared = set(self.admitted[one].uses) & set(self.admitted[other].uses)
        same_window = self.queries[one].window == self.queries[other].window
        return any(self.held[name].form == "BI" or same_window for name in shared)


def _names(held: Iterable[Held]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.name for one in held))
