"""Expressions of an expiry, which Spark computes: columns, and functions that give the same on each call.

They are text here: what Spark would fold to a value before anybody sees it (`timestamp 'now'`, a reflection, a
subquery) has to be refused first. So a function that is not listed is refused, and a text that Spark takes for a
moment of the clock.
"""

from __future__ import annotations

import re

from tidewheel.indexing.errors import InvalidInput

_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)
_LITERAL = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
_CALL = re.compile(r"(\w+)\s*\(")
_QUOTED_CALL = re.compile(r"`([^`]*)`\s*\(")
_SUBQUERY = re.compile(r"\bselect\b|\(\s*(?:from|table|values|with)\b", re.IGNORECASE)
# The clock without parentheses.
_CLOCK_WORDS = re.compile(
    r"\b(?:current_(?:timestamp|date|time|user|catalog|database|schema)|localtimestamp|session_user)\b", re.IGNORECASE
)
_SPECIAL = ("now", "today", "tomorrow", "yesterday")
_SPECIAL_MOMENT = re.compile(rf"\s*(?:{'|'.join(_SPECIAL)})\b", re.IGNORECASE)
# What makes such a text of others.
_MAKING_TEXTS = re.compile(
    r"\|\||\b(?:concat(?:_ws)?|subst(?:r|ring)|left|right|split(?:_part)?|regexp_extract|get_json_object|[lrb]?trim)\s*\(",
    re.IGNORECASE,
)
# Beside functions, what may stand before a parenthesis: words of SQL, and types.
_WORDS = """
    and or not in when then else case between like rlike is interval extract cast try_cast as from div decimal dec
    numeric varchar array
"""
# Of moments, choices, numbers, texts and what is nested.
_FUNCTIONS = """
    make_interval make_dt_interval make_ym_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_date
    try_make_interval try_make_timestamp timestamp_seconds timestamp_millis timestamp_micros from_unixtime
    unix_timestamp to_unix_timestamp to_timestamp to_timestamp_ltz to_timestamp_ntz try_to_timestamp to_date
    try_to_date to_utc_timestamp from_utc_timestamp convert_timezone unix_seconds unix_millis unix_micros
    unix_date date_from_unix_date date_add dateadd date_sub timestampadd timestampdiff date_diff datediff
    add_months months_between date_trunc trunc last_day next_day year quarter month week weekofyear day dayofmonth
    dayofweek dayofyear weekday hour minute second date_part datepart date_format date timestamp coalesce nvl nvl2
    ifnull nullif if greatest least isnull isnotnull isnan nanvl nullifzero zeroifnull abs ceil ceiling floor
    round bround sign signum mod pmod power pow sqrt exp ln log negative positive int bigint smallint tinyint
    double float boolean string try_add try_subtract try_multiply try_divide try_mod hash xxhash64 crc32 lower
    upper lcase ucase trim ltrim rtrim btrim concat concat_ws substring substr left right length char_length split
    split_part regexp_extract regexp_like regexp startswith endswith contains instr locate position try_to_number
    to_number get_json_object element_at try_element_at get size cardinality map_contains_key array_contains
    array_max array_min struct named_struct map
"""
_TAKEN = frozenset((*_WORDS.split(), *_FUNCTIONS.split()))


def refuse_unrepeatable(expression: str) -> None:
    """Refuse what may give another value for the same record, and what reads anything but the record.

    >>> refuse_unrepeatable("coalesce(until, at + interval 1 day)")
    >>> refuse_unrepeatable("cast('today' as date)")
    Traceback (most recent call last):
    tidewheel.indexing.errors.InvalidInput: 'today' is the clock's, so a replay would change the archive
      what to do: compute the expiry from columns of the record
    """
    outside = _QUOTED.sub(" ", expression)
    literals = ["".join(found) for found in _LITERAL.findall(expression)]
    if word := _clock_word(outside, literals):
        raise InvalidInput(
            f"{word} is the clock's, so a replay would change the archive",
            "compute the expiry from columns of the record",
        )
    if _SUBQUERY.search(outside):
        raise InvalidInput("a subquery", "compute the expiry from columns of the record")
    called = [*_QUOTED_CALL.findall(expression), *_CALL.findall(outside)]
    if unknown := [name for name in called if name.lower() not in _TAKEN]:
        raise InvalidInput(
            f"{unknown[0]} is not among the functions that give the same for the same record on each call",
            "compute the expiry with intervals, make_interval, to_timestamp, coalesce, case and arithmetic, or have it "
            "in a column of the source",
        )


def _clock_word(outside: str, literals: list[str]) -> str:
    """Return the word or text that Spark takes for the moment at which it computes."""
    if found := _CLOCK_WORDS.search(outside):
        return found[0]
    if special := next((one for one in literals if _SPECIAL_MOMENT.match(one)), ""):
        return repr(special)
    joined = "".join(literals).lower() if _MAKING_TEXTS.search(outside) else ""
    return next((f"{word!r}, put together," for word in _SPECIAL if word in joined), "")
