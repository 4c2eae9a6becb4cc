"""Plans and statements that are refused, each with one exact text: before anything is carried out.

Golab, Waterloo 2006, chapter 3: an append-only answer takes nothing back; an operator that cannot
process negative tuples gets none; state that would grow for ever is never begun. The texts are those that the
literature's engines give; an archive says the same in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.labels import Label, Labelled, Pattern, labelled
from tidewheel.queries.statements.plan import (
    Distinct,
    GroupBy,
    Join,
    Negation,
    Operator,
    RelationJoin,
    Stream,
    TimeWindow,
    operators,
    unbounded,
    windows,
)
from tidewheel.queries.statements.statement import Output, Statement


class Illegal(InvalidInput):
    """A plan or a statement that has no right answer, or none in bounded state."""


INTERNAL = "INTERNAL window not allowed: query uses DISTINCT/negation, an append-only result would be wrong."
WSTREAM = "Wstream cannot be combined with restore / DISTINCT / negation / an external aggregate."

RESTORE = "Restore is of Istream and Rstream: they report what came and went between two runs."


def check(statement: Statement) -> None:
    """Raise the first reason why the statement is refused; none: it is legal."""
    for reason in faults(statement):
        raise Illegal(reason)


def faults(statement: Statement) -> Iterator[str]:
    """Give the reasons why a statement is refused, whatever engine would carry it out."""
    plan = statement.plan
    time = [one for one in windows(plan) if isinstance(one, TimeWindow)]
    if any(one.internal for one in time) and any(_is_corrected(one) for one in operators(plan)):
        yield INTERNAL
    if statement.output is Output.WSTREAM and _no_wstream(statement):
        yield WSTREAM
    if statement.restore and statement.output in (Output.ANSWER, Output.DSTREAM):
        yield RESTORE
    yield from _relation_faults(labelled(plan))
    yield from (_UNBOUNDED.format(stream.name) for stream in _kept_for_ever(plan))
    if len(statement.slides) > 1:
        yield f"SLIDE differs between windows ({statement.slides[0]} vs {statement.slides[1]})"


def _is_corrected(one: Operator) -> bool:
    return isinstance(one, Distinct | Negation)


def _no_wstream(statement: Statement) -> bool:
    plan = statement.plan
    time = [one for one in windows(plan) if isinstance(one, TimeWindow)]
    is_external = not (time and all(one.internal for one in time))
    aggregate = any(isinstance(one, GroupBy) for one in operators(plan))
    return statement.restore or any(map(_is_corrected, operators(plan))) or (aggregate and is_external)


def _relation_faults(one: Labelled) -> Iterator[str]:
    """Give what is wrong with joins of relations: they cannot process a negative tuple."""
    for below in one.inputs:
        if isinstance(one.operator, RelationJoin) and below.label.pattern is Pattern.STR:
            yield (
                "Join with NRR/REL over an input that needs retractions "
                f"(STR at operator {below.label.raised_by.title}); move the join below {below.label.raised_by.title}."
            )
        yield from _relation_faults(below)


_UNBOUNDED = (
    "Unbounded stream {} in join/negation without window: state would grow without limit; "
    "add a RANGE window (INTERNAL allowed for joins only)."
)


def _kept_for_ever(plan: Operator) -> dict[Stream, None]:
    """Return the streams that some operator would have to store without end, in their order."""
    storing = [one for one in operators(plan) if isinstance(one, Join | Negation) or _is_retroactive(one)]
    return {stream: None for one in storing for below in one.inputs for stream in unbounded(below)}


def _is_retroactive(one: Operator) -> bool:
    return isinstance(one, RelationJoin) and one.relation.retroactive


# What single engines and structures refuse.


def check_direct(plan: Operator) -> None:
    """Raise if the direct approach cannot expire something: an operator with an input that is STR."""
    for one in _edges(labelled(plan)):
        for below in one.inputs:
            if below.label.pattern is Pattern.STR:
                raise Illegal(
                    f"Direct expiration impossible: input of {one.operator.title} is STR "
                    f"(count window / negation at {below.label.raised_by.title}); use negative-tuple mode."
                )


def check_delta_star(below: Label) -> None:
    """Raise if δ* cannot stand over the input: it must know when each row ends."""
    if below.pattern is Pattern.STR:
        raise Illegal(f"delta* needs inputs with known expiration; input is STR because of {below.raised_by.title}.")


def reused_key(key: object, relation: str, deleted_at: int, inserted_at: int) -> Illegal:
    """Return the error of a key that came a second time: old results would seem to be about the new one."""
    return Illegal(
        f"Key {key} was deleted from NRR {relation} at {deleted_at} and re-inserted at {inserted_at}; "
        "keys may not be re-used."
    )


def check_synopsis(length: int, slide: int) -> None:
    """Raise if a window is no whole number of slides, which a synopsis of slides cannot answer."""
    if length % slide:
        raise Illegal("SLIDE must divide RANGE (synopsis)")


def check_wave_index(below: Label, size: int, parts: int, slide: int) -> None:
    """Raise if a wave index does not suit: lives that differ, or an update that straddles sub-indices."""
    if below.pattern > Pattern.WKS:
        view = {Pattern.WK: "is variable-lifetime", Pattern.STR: "needs retractions"}[below.pattern]
        raise Illegal(
            f"Wave index refused: view {view} ({below.pattern.name}); every update would touch all n sub-indices; "
            "use the doubly partitioned index.",
            n=parts,
        )
    if size % (parts * slide):
        raise Illegal("n·Δ must divide S (wave index)", f"n = {parts}, Δ = {slide} and S = {size} do not fit")


def check_tuple(ts: int, exp: float, watermark: int, longest: float | None = None) -> None:
    """Raise if a tuple comes too late, is dead when it comes, or lives longer than the state has room for."""
    if ts <= watermark:
        raise Illegal(f"Tuple ts={ts} not after watermark τ_k={watermark} (late data)")
    if exp <= ts:
        raise Illegal("exp <= ts", f"the tuple's ts is {ts}, its exp {exp}: it would be dead when it comes")
    if longest is not None and exp - ts > longest:
        raise Illegal("lifetime exceeds bound S", f"the lifetime is {exp - ts}, the bound {longest}")


def _edges(one: Labelled) -> Iterator[Labelled]:
    yield one
    for below in one.inputs:
        yield from _edges(below)
