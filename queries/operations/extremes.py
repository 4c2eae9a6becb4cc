"""Largest and smallest: selection, so one operand always wins. Numbers, texts, moments: anything with an order."""

from __future__ import annotations

from typing import Any

from tidewheel.queries.operation import Column, Operation, alone, is_missing

_COLUMNS = (Column("value", "T0"),)


def _lift(value: Any) -> Any:
    return None if is_missing(value) else value


def _larger(older: Any, newer: Any) -> Any:
    return older if older > newer else newer


def _smaller(older: Any, newer: Any) -> Any:
    return older if older < newer else newer


MAX = Operation("max", _lift, _larger, _COLUMNS, selection=True, idempotent=True)
MIN = Operation("min", _lift, _smaller, _COLUMNS, selection=True, idempotent=True)

maximum = alone(MAX)
minimum = alone(MIN)
