"""Fates of records that are not stored, as the numbers that attempts write beside their files."""

FATES = -1  # the layout number of what is not stored
COUNTED, QUARANTINED = 0, 1  # its rows: without and with values
UNSTORED = 2  # and those of an observed archive that are short-lived or dead on arrival, with values and expiries
# The column in which reading adds the text of a record that could not be parsed.
TEXT_COLUMN = "__tw_text"
UNPARSED = -1  # and beside them, what of the quarantined records could not be parsed, with its text
SHORT_LIVED, DEAD_ON_ARRIVAL, FORGOTTEN = 1, 2, 3
RULES = ("malformed", "null_key", "null_expiry", "null_insertion", "future", "expired_on_arrival", "too_long", "late")
MALFORMED = RULES.index("malformed")


def unstored_fate(slot: int, expiration: int) -> int:
    """Return why a record that came in a slot and is dead by then was not stored.

    >>> unstored_fate(5, 5) == SHORT_LIVED, unstored_fate(5, 6) == DEAD_ON_ARRIVAL
    (True, True)
    """
    return SHORT_LIVED if expiration <= slot else DEAD_ON_ARRIVAL
