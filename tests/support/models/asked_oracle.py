"""A query as the oracle of standing queries takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidewheel.local.partials.fold import aggregate_of, call_inputs
from tidewheel.queries.standing.answer_oracle import Asked, StreamRecord
from tidewheel.queries.standing.query import Call, Query


def asked(query: Query, holds: Callable[[StreamRecord], bool], value: Callable[[StreamRecord, str], Any]) -> Asked:
    """`holds` is its condition, `value` what one of its arguments is of a record: both said in Python."""

    def inputs(call: Call) -> Any:
        arguments = next((one.arguments for one in call_inputs(call) if one.arguments), ())
        return lambda record: tuple(value(record, one) for one in arguments)

    return Asked(
        query.terms,
        holds,
        lambda record: tuple(record.values.get(one.name) for one in query.groups),
        tuple((aggregate_of(call), inputs(call)) for call in query.calls),
    )
