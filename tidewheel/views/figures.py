"""Numbers, sizes and moments as people read them."""

from __future__ import annotations

from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.printable import counted

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def count(number: float) -> str:
    """A number of things.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def size(number: float) -> str:
    """Bytes in three figures.

    >>> size(999), size(1_234_567)
    ('999 B', '1.23 MB')
    """
    unit = 0
    while number >= 999.5 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} B" if unit == 0 else f"{number:.3g} {_UNITS[unit]}"


def share(part: float, whole: float) -> str:
    """A part of a whole in per cent; nothing of nothing is nothing."""
    return f"{part / whole:.0%}" if whole else "0%"


def seconds(number: float) -> str:
    """A duration measured.

    >>> seconds(0.0042), seconds(0.25), seconds(12.34)
    ('4.2 ms', '250 ms', '12.3 s')
    """
    if number < 1:
        return f"{number * 1000:.3g} ms"
    return f"{number:.1f} s"


def short_iso(moment_us: int) -> str:
    """A moment without the seconds and fractions that are zero.

    >>> short_iso(0), short_iso(1_500_000)
    ('1970-01-01T00:00Z', '1970-01-01T00:00:01.500000Z')
    """
    text = iso(moment_us)
    return text.replace(":00Z", "Z") if moment_us % 60_000_000 == 0 else text


def slot_name(axis: TimeAxis, slot: int | None) -> str:
    return "none" if slot is None else short_iso(axis.start_us(slot))


def through_name(axis: TimeAxis, watermark: int | None) -> str:
    """How far expiry was carried out: everywhere the end of the watermark's slot, from which reads are exact."""
    return "nothing yet" if watermark is None else short_iso(axis.end_us(watermark))


def slots_name(axis: TimeAxis, slots: tuple[int, ...]) -> str:
    """One slot, or the first and the last of several."""
    if not slots:
        return "no slot"
    if len(slots) == 1:
        return slot_name(axis, slots[0])
    return f"{counted(len(slots), 'slot')}, {slot_name(axis, slots[0])} to {slot_name(axis, slots[-1])}"
