"""What becomes of a record that is not stored, as the numbers by which attempts write it beside their files."""

FATES = -1  # the layout number of what is not stored
COUNTED, QUARANTINED = 0, 1  # its rows: without and with values
# The column in which reading adds the text of a record that could not be parsed.
TEXT_COLUMN = "__tw_text"
UNPARSED = -1  # and beside them, what of the quarantined records could not be parsed, with its text
SHORT_LIVED, DEAD_ON_ARRIVAL, FORGOTTEN = 1, 2, 3
RULES = ("malformed", "null_key", "null_expiry", "null_insertion", "future", "expired_on_arrival", "too_long")
MALFORMED = RULES.index("malformed")
