"""Text from elsewhere, shown: a value cannot begin a line of its own, nor tell a terminal what to do."""

from __future__ import annotations

import re

# Control characters, Unicode's line ends, and what turns the direction of writing.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
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
