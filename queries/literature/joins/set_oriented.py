"""Algorithms 4 and 5 as SQL: what a run reports, by sets instead of loops.

No listing is printed: these forms are ours, equal to the loops in every test.

With snap the tuples kept from before a run and new those that came since, two forms give the same rows:

- decomposed: for each stream i, (snap ∪ new) of those before it, new of i, snap of those after it: every result comes
  once, from its last stream with a new part, as in the loops;
- one-shot: all (snap ∪ new) joined, rows kept whose greatest ts is after PREV.

Restore keeps tuples that ended after PREV and tests lives; no-restore keeps those that are alive at NOW. Tables are s1,
s2, ... with the columns id, ts, exp, key; $prev and $now are parameters. Half-open.
"""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput


def one_shot(count: int, *, restore: bool) -> str:
    """Return the SQL of a run that joins everything and keeps what is new."""
    _several(count)
    streams = range(1, count + 1)
    joined = _joined([f"({_kept(place, restore)} or {_new(place)})" for place in streams], count)
    return f"{joined} and {_greatest(count)} > $prev and {_valid(count, restore)}"


def decomposed(count: int, *, restore: bool) -> str:
    """Return the SQL of a run as a union of one join a stream, each from its new tuples."""
    _several(count)
    terms = []
    for new in range(1, count + 1):
        parts = [
            f"({_kept(place, restore)} or {_new(place)})" if place < new else _kept(place, restore)
            for place in range(1, count + 1)
        ]
        parts[new - 1] = _new(new)
        terms.append(f"{_joined(parts, count)} and {_valid(count, restore)}")
    return "\nunion all\n".join(terms)


def _joined(parts: list[str], count: int) -> str:
    streams = range(1, count + 1)
    ids = ", ".join(f"s{place}.id as id{place}, s{place}.ts as ts{place}" for place in streams)
    tables = ", ".join(f"s{place}" for place in streams)
    keys = " and ".join([f"s1.key = s{place}.key" for place in range(2, count + 1)] + parts)
    end = _least(count)
    return (
        f"select {ids}, {_greatest(count)} as ts, {end} as exp, {end} <= $now as restored\nfrom {tables}\nwhere {keys}"
    )


def _kept(place: int, restore: bool) -> str:
    """The condition of a tuple that is kept from before the run."""
    return f"(s{place}.ts <= $prev and s{place}.exp > {'$prev' if restore else '$now'})"


def _new(place: int) -> str:
    return f"(s{place}.ts > $prev and s{place}.ts <= $now)"


def _valid(count: int, restore: bool) -> str:
    return f"{_least(count)} > {_greatest(count) if restore else '$now'}"


def _greatest(count: int) -> str:
    return f"greatest({', '.join(f's{place}.ts' for place in range(1, count + 1))})"


def _least(count: int) -> str:
    return f"least({', '.join(f's{place}.exp' for place in range(1, count + 1))})"


def _several(count: int) -> None:
    if count < 2:
        raise InvalidInput(f"a join of {count} streams", "name at least two")
