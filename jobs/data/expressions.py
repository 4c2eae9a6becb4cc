"""The pure core's arithmetic as Spark SQL text: slots, classes, row hash, digest of a key.

Text, not Column objects: each Column is several calls into the JVM, and a warm update of a few rows was mostly that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidewheel.indexing.core.layouts import Layout, LayoutKind
from tidewheel.indexing.core.slots import TimeAxis

_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


def floor_divided(value: str, divisor: int) -> str:
    """Return mathematical floor division; Spark's own truncates towards zero."""
    return f"((({value}) - pmod({value}, {long(divisor)})) div {long(divisor)})"


def slot_of(micros: str, axis: TimeAxis) -> str:
    return floor_divided(f"{micros} - {long(axis.epoch_us)}", axis.interval_us)


def expiration_slot_of(micros: str, axis: TimeAxis) -> str:
    """Return ceil(x / Δ) − 1, which for whole x is floor((x − 1) / Δ)."""
    return floor_divided(f"{micros} - {long(axis.epoch_us + 1)}", axis.interval_us)


def row_of(layout: Layout, insertion_slot: str = "ins_slot") -> str:
    return _class_of(layout, insertion_slot, layout.insertion_classes, "insertion")


def column_of(layout: Layout, expiration_slot: str = "exp_slot") -> str:
    return _class_of(layout, expiration_slot, layout.expiration_classes, "expiration")


def _class_of(layout: Layout, slot: str, classes: int, axis: str) -> str:
    if classes == 1:
        return "0"
    if layout.kind is LayoutKind.ROUND_ROBIN:
        return f"cast(pmod({slot}, {classes}) as int)"
    if layout.kind is LayoutKind.RANDOMIZED:
        digest = f"sha2(concat({text(f'{layout.seed}:{axis}:')}, cast({slot} as string)), 256)"
        return f"cast(pmod(cast(conv(substring({digest}, 1, 8), 16, 10) as bigint), {classes}) as int)"
    return f"cast({floor_divided(f'pmod({slot}, {long(layout.span)}) * {classes}', layout.span)} as int)"


def row_hash(columns: Sequence[str]) -> str:
    """Return a hash of a stored row: its end, its slot, and the values of the columns people put in, with positions.

    NULLs leave both out, so a column that is added later, behind the others, does not change the hash of the rows that
    are there. The two columns of tidewheel's own come first: their positions must not move then.
    """
    parts: list[str] = []
    for position, name in enumerate(("valid_until", "ins_slot", *columns)):
        parts += [quoted(name), f"if({quoted(name)} is null, null, {position})"]
    return f"xxhash64({', '.join(parts)})"


def keyed_digest(columns: Sequence[str], salt: str) -> str:
    """Return the digest by which a tombstone knows a record: keyed with the archive's salt, never the value itself."""
    # Left to itself Spark writes moments to the millisecond: a microsecond apart would be the same key.
    options = f"map('ignoreNullFields', 'false', 'timestampFormat', {text(_MOMENT)})"
    values = f"to_json(struct({', '.join(map(quoted, columns))}), {options})"
    return f"substring(sha2(concat({text(salt)}, {values}), 256), 1, 32)"


def quoted(name: str) -> str:
    """Return a column name for Spark, whatever it contains."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """Return a text literal for Spark, whatever it contains."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def long(value: int) -> str:
    """Return a whole number that stays one: without the suffix, small ones would be computed as ints."""
    return f"{value}L" if value >= 0 else f"({value}L)"


def listed(values: Iterable[int]) -> str:
    return ", ".join(map(long, values))
