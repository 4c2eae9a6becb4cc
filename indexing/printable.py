"""Text from elsewhere, shown: a value cannot begin a line of its own, nor tell a terminal what to do."""

from __future__ import annotations

import re

# Control characters, Unicode's line ends, and what turns the direction of writing.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# The numbered frames that Rust puts behind what it says.
_FRAMES = re.compile(r"\n\s*(?:stack backtrace:)?\s*0: .*\n\s*1: .*", re.DOTALL | re.IGNORECASE)
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# Our own messages go on in indented lines.
_GOES_ON = "\n  "


def printable(text: str) -> str:
    """Return the text with its unprintable characters written out.

    >>> printable("a\\x1b[2J\\nb")
    'a\\\\x1b[2J\\\\nb'
    """
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)


def printable_lines(text: str) -> str:
    """Return a message with its unprintable characters written out; further lines stay, indented.

    >>> printable_lines("two faults:\\n  one\\n  two\\nError: no")
    'two faults:\\n  one\\n  two\\\\nError: no'
    """
    return _GOES_ON.join(map(printable, text.split(_GOES_ON)))


def one_line(text: str) -> str:
    """Return the message of another program in one line; it comes in several, some in colours and with arrows.

    >>> one_line("Binder Error: no column x\\nCandidates: y\\n\\nLINE 1: select x\\n        ^")
    'Binder Error: no column x Candidates: y'
    >>> one_line("Json error: cut\\n\\n   0: <unknown>\\n   1: clone3\\n      at ./clone3.S:81")
    'Json error: cut'
    """
    said, _, _ = _FRAMES.sub("", _COLOUR.sub("", text)).partition("\n\nLINE ")
    return " ".join(word for word in said.split() if word != "↳")


def first_line(error: Exception) -> str:
    """Return the first line of an error, without the candidates, hints and places that another program adds.

    >>> first_line(ValueError("Binder Error: no column x\\nCandidates: y"))
    'Binder Error: no column x'
    """
    return str(error).split("\n", 1)[0]


def counted(number: int, thing: str, things: str = "") -> str:
    """Return a number with its thing.

    >>> counted(1, "slot"), counted(2000, "file"), counted(2, "sub-index", "sub-indices")
    ('1 slot', '2,000 files', '2 sub-indices')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
