"""Rules for inputs that are not closed in time: where a statement may have one, and the reason where it may not.

An input is closed if a read of it between updates is its statement. From others something may be missing: what is built
on the *absence* of their rows would be wrong until the next update. So they stand under selections, projections, joins,
unions, distinct and exists, or at the left of not exists, left join and as-of join.
"""

from __future__ import annotations

from collections.abc import Collection

from tidewheel.queries.derivations.forms import (
    AsOf,
    ExceptAll,
    Form,
    LeftJoin,
    NotExists,
    Ranked,
    Source,
    forms_of,
    sources_of,
)

_ABSENCE = {
    NotExists: "the right of not exists",
    LeftJoin: "the right of a left join",
    AsOf: "the right of an as-of join",
}


def refusals(form: Form, strict_sources: Collection[str] = ()) -> list[str]:
    """Return what is wrong with a statement; `strict_sources` are derived archives that are not closed themselves."""
    found = []
    for one in forms_of(form):
        for side, where in _guarded(one):
            if not is_closed(side, strict_sources):
                found.append(f"{where} may not be an input of which rows can be missing between updates")
    for source in sources_of(form):
        if source.window.is_strict and source.name in strict_sources:
            found.append(f"the newest rows of {source.name}, of which rows can be missing between updates")
    return found


def _guarded(form: Form) -> list[tuple[Form, str]]:
    """Return the inputs of a form that must be closed, each with its place."""
    if isinstance(form, NotExists | LeftJoin | AsOf):
        return [(form.right, _ABSENCE[type(form)])]
    if isinstance(form, ExceptAll):
        return [(side, "an input of except all") for side in form.inputs]
    if isinstance(form, Ranked):
        return [(form.input, "the input of a rank")]
    return []


def is_closed(form: Form, strict_sources: Collection[str]) -> bool:
    return all(
        one.is_closed and not (isinstance(one, Source) and (one.window.is_strict or one.name in strict_sources))
        for one in forms_of(form)
    )
