"""A row of what the literature is known for.

`counted` gives what is the same on every machine: operations, costs, values held. A test computes it again. `timed`
gives what a clock says. `subject` is the name of what the claim is about, `rival` of what it is compared with: with the
rival in the subject's place the counted text must be another one, or the row could not fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Headline:
    what: str
    published: str
    counted: Callable[[], str] | None = None
    timed: Callable[[], str] | None = None
    why: str = ""
    subject: str = ""
    rival: str = ""
    slow: bool = False  # more than a fraction of a second to count
