"""Expressions of an expiry: what gives the same for the same record is taken, the clock in whatever disguise is not."""

from __future__ import annotations

import random
import re

import pytest

from tidewheel.indexing.archive_file.column_kinds import EXPRESSION
from tidewheel.indexing.errors import InvalidInput

TAKEN = (
    "until", "`a b`", "at + interval 1 day", "at + make_dt_interval(0, keep_hours)",
    "coalesce(until, at + interval 2 hours)",
    "case when kind = 'unknown' then at + interval 1 day else at + interval '2' hour end", "timestamp_millis(ts)",
    "try_cast(until as timestamp)", "to_timestamp(concat(day, ' ', hour), 'yyyy-MM-dd HH')", "timestamp '2030-01-01'",
    "if(k in ('a', 'b'), at, until)", "greatest(at, until)", "date_trunc('day', at) + interval 1 day", "s.until",
    "m['x']", "extract(day from at)", "cast(x as decimal(10, 2))", "at + (keep * interval 1 day)",
    "unix_timestamp(until)",
)  # fmt: skip
REFUSED = (
    "any(x)", "some(x)", "count(*)", "first(until)", "trim(both 'x' from 'xnowx')",
    "timestamp 'now'", "TIMESTAMP ' Now '", "timestamp'today'", "cast('today' as date)",
    'cast("tomorrow" as timestamp)', "date 'yesterday'", "'now UTC'", "timestamp('now')",
    "cast(concat('to', 'day') as date)", "cast('to' || 'day' as date)", "input_file_name()",
    "reflect('java.lang.System', 'nanoTime')", "java_method('java.lang.System', 'nanoTime')", "try_reflect('a', 'b')",
    "(select max(until) from t)", "at in (table x)", "exists(select 1)", "(from t select 1)", "max(until)",
    "row_number() over (order by at)", "monotonically_increasing_id()", "spark_partition_id()", "rand()",
    "current_timestamp", "current_timestamp()", "now()", "curdate()", "uuid()", "`now`()", "`current_timestamp`()",
    "system.builtin.now()", "cast(reverse('won') as timestamp)", "version()", "current_user", "shuffle(x)",
    "localtimestamp", "input_file_block_start()", "randn()", "random()", "current_time", "transform(x, y -> now())",
    "unix_timestamp()", "cast(replace('nxw', 'x', 'o') as timestamp)", "explode(x)",
    "at + make_interval(0) + nope(1)", "ai_query('x')", "url_decode('n%6Fw')", "decode(x, 'UTF-8')",
    "raise_error('x')", "read_files('/etc/passwd')", "window(at, '1 day')", "cast(substring('xnow', 2) as timestamp)",
    "cast(split('a,today', ',')[1] as date)", "cast(get_json_object('{\"a\": \"today\"}', '$.a') as date)",
)  # fmt: skip
# A text, or a column's name; behind a call's name in backticks stands a bracket.
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`(?!\s*\()""")


@pytest.mark.parametrize("text", TAKEN)
def test_what_follows_from_the_record_is_taken(text: str) -> None:
    assert EXPRESSION.check(text) == text


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        EXPRESSION.check(text)
    assert refused.value.remedy


def test_random_expressions_are_taken_or_refused() -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    pieces = [*TAKEN, *REFUSED, *"()'`\",;\0\u2028 é", "()", "\\", "--", "->", "::"]
    for _ in range(3000):
        text = "".join(chance.choices(pieces, k=chance.randrange(1, 6)))
        try:
            taken = EXPRESSION.check(text)
        except InvalidInput:
            continue
        calls = QUOTED.sub("x", str(taken).lower())
        assert not any(word in calls for word in ("reflect(", "now()", "select ", "input_file")), text
