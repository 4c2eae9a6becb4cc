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
    """The text with what is not printable written out.

    >>> printable("a\\x1b[2J\\nb")
    'a\\\\x1b[2J\\\\nb'
    """
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)


def printable_lines(text: str) -> str:
    """The same for a message whose further lines are indented.

    >>> printable_lines("two faults:\\n  one\\n  two\\nError: no")
    'two faults:\\n  one\\n  two\\\\nError: no'
    """
    return _GOES_ON.join(map(printable, text.split(_GOES_ON)))


def one_line(text: str) -> str:
    """What another program says over several lines, some in colours and with arrows, in one.

    >>> one_line("Binder Error: no column x\\nCandidates: y\\n\\nLINE 1: select x\\n        ^")
    'Binder Error: no column x Candidates: y'
    >>> one_line("Json error: cut\\n\\n   0: <unknown>\\n   1: clone3\\n      at ./clone3.S:81")
    'Json error: cut'
    """
    said, _, _ = _FRAMES.sub("", _COLOUR.sub("", text)).partition("\n\nLINE ")
    return " ".join(word for word in said.split() if word != "↳")


def first_line(error: Exception) -> str:
    """What went wrong, without what another program adds to it: candidates, hints and where it stands.

    >>> first_line(ValueError("Binder Error: no column x\\nCandidates: y"))
    'Binder Error: no column x'
    """
    return str(error).split("\n", 1)[0]


def counted(number: int, thing: str, things: str = "") -> str:
    """A number with its thing.

    >>> counted(1, "slot"), counted(2000, "file"), counted(2, "sub-index", "sub-indices")
    ('1 slot', '2,000 files', '2 sub-indices')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
