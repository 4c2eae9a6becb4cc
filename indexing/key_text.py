"""How a key is written as text: one way for the command line, for files of keys and for runs of Airflow.

A key of one column is its text as it stands, whatever it holds. A key of several columns is a line of CSV: values
between commas, and a value that holds a comma, a quote or a line's end within double quotes, as in UA,1545 or
"Smith, John",7. What type a value has is its column's business; bytes are printed, and may be written, as 0x and two
hex digits for each.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted


def key_values(text: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the values that a key's text names, for the first of its columns.

    >>> key_values("a,b", ["host"]), key_values('"a,b",7', ["host", "port"]), key_values("a", ["host", "port"])
    (('a,b',), ('a,b', '7'), ('a',))
    """
    if len(columns) == 1:
        return (text,)
    said = f"the key {text!r} of ({', '.join(columns)})"
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error as error:
        raise InvalidInput(
            f"{said} is not a line of CSV: {str(error).partition(' - ')[0]}", key_remedy(columns)
        ) from error
    values = tuple(rows[0]) if len(rows) == 1 else ()
    if not 0 < len(values) <= len(columns):
        raise InvalidInput(f"{said} has {counted(len(values), 'value')}", key_remedy(columns))
    return values


def whole_key(text: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a key that must name every column."""
    values = key_values(text, columns)
    if len(values) < len(columns):
        raise InvalidInput(
            f"the key {text!r} has {len(values)} of the {len(columns)} values ({', '.join(columns)})",
            key_remedy(columns),
        )
    return values


def keys_in(text: str) -> list[str]:
    """Return the keys of a file, one on each line. Only a line feed ends one: a key may hold Unicode's other line ends.

    >>> keys_in("a\\n\\nb\\u2028c\\n")
    ['a', 'b\\u2028c']
    """
    return [line for line in text.split("\n") if line]


def key_remedy(columns: Sequence[str]) -> str:
    """Return how to write a key."""
    return (
        f"write {','.join(columns)}: the values in this order with commas between them, one that holds a comma or a "
        'quote within "double quotes"'
    )


def bytes_text(value: bytes) -> str:
    """Return bytes as they are printed, in tables, CSV and JSON.

    >>> bytes_text(b"\\xff\\xfe"), bytes_text(b"")
    ('0xfffe', '0x')
    """
    return f"0x{value.hex()}"


def text_bytes(text: str) -> bytes:
    """Return the bytes that a text names: hex digits behind 0x, or else the text itself in UTF-8.

    >>> text_bytes("0xfffe"), text_bytes("0x"), text_bytes("é")
    (b'\\xff\\xfe', b'', b'\\xc3\\xa9')
    """
    if not text.startswith("0x"):
        return text.encode()
    digits = text[2:]
    if len(digits) % 2 or not all(one in "0123456789abcdefABCDEF" for one in digits):
        raise ValueError("0x must be followed by two hex digits for each byte")
    return bytes.fromhex(digits)
