"""Where a key stands: values may hold anything that looks like TOML and must not mislead."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from tidewheel.indexing.toml.lines import key_lines, line_of


def test_strings_arrays_and_comments_do_not_fool_the_line_finder() -> None:
    text = '''\
# [archive]
archive.name = "x" # name = 1
[source] # [time]
path = """
[time]
interval = "1h" \\""" still in
"""
  'single' = \'\'\'
[layout]\'\'\'
list = [ # ]
  "[policy]", "]",
  { a = 1 },
]
inline = { b.c = "}", "d e" = [1, { f = 2 }] }
[source."op.tions" . x]
"y\\u007A" = 1.5
[[many]]
z = 1979-05-27T07:32:00Z
'''
    tomllib.loads(text)
    lines = key_lines(text)

    assert lines[("archive", "name")] == 2
    assert lines[("source", "path")] == 4
    assert lines[("source", "single")] == 8
    assert lines[("source", "list")] == 10
    assert lines[("source", "inline")] == lines[("source", "inline", "b", "c")] == 14
    assert lines[("source", "inline", "d e")] == 14
    assert lines[("source", "op.tions", "x")] == 15
    assert lines[("source", "op.tions", "x", "yz")] == 16
    assert lines[("many", "z")] == 18
    assert not {path[0] for path in lines} & {"time", "layout", "policy", "interval"}
    assert line_of(lines, ("source", "absent")) == 3
    assert line_of(lines, ("absent",)) == 1


NASTY_VALUES = [
    "1", "-1.5e3", "true", "[]", "[\n 1,\n [2]\n]", '"a = 1"', '"\\"[x]"', "'[x]'", '"""\n[x]\na = 1\n"""',
    '""""""', '"""\n""\\""""""', "'''\n[x]\n'''''", "{}", '{ k = "[", l = { m = [1] } }', "12:00:00 # a = 1",
]  # fmt: skip
NAMES = st.sampled_from(["a", "b-1", '"c d"', "'e.f'", '"\\u0067"'])


@given(
    st.dictionaries(
        NAMES, st.dictionaries(NAMES, st.tuples(st.sampled_from(NASTY_VALUES), st.integers(0, 2)), max_size=4)
    )
)
def test_every_key_of_a_random_text_is_found_at_its_line(
    tables: dict[str, dict[str, tuple[str, int]]],
) -> None:
    text, expected = "", {}
    for table, keys in tables.items():
        text += f"[ {table} ]\n"
        for key, (value, blank_lines) in keys.items():
            text += "\n" * blank_lines
            expected[bare(table), bare(key)] = text.count("\n") + 1
            text += f"{key} = {value}\n"
    tomllib.loads(text)

    found = key_lines(text)
    assert {path: line for path, line in found.items() if len(path) == 2} == expected


def bare(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 1")))
