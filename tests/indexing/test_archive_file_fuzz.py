"""Whatever the text is: an archive file or InvalidInput, and never a secret."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.archives.archive_files import file_of
from tidewheel.indexing.archive_file.fields import FIELDS
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.archive_file.reference import full_example
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.text import toml_text


def parses_or_refuses(text: str) -> None:
    try:
        assert isinstance(parse_archive_file(text, "calls.toml"), ArchiveFile)
    except InvalidInput as error:
        faults = error.values["faults"]
    else:
        return
    assert faults
    assert all(1 <= fault.line <= text.count("\n") + 1 for fault in faults)
    assert all("\n" not in str(fault) for fault in faults)


@settings(deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    parses_or_refuses(text)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_good_file_with_a_part_replaced(data: st.DataObject) -> None:
    good = full_example()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 12)))
    parses_or_refuses(good[:start] + data.draw(st.text(alphabet="[]{}=.\"'\\\n#,-0aT: ", max_size=6)) + good[end:])


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.datetimes(),
    st.dates(),
    st.times(),
).filter(lambda value: value is not None)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([field.place for field in FIELDS]), VALUES, max_size=6))
def test_any_value_under_any_key(changes: dict[str, object]) -> None:
    written = {place.replace(".", "__", 1): toml_text(value) for place, value in changes.items()}
    parses_or_refuses(file_of(**written))


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "[" * 200 + "]" * 200,
        "a = " + "9" * 5000,
        "[layout]\nseed = 0x" + "f" * 5000,
        "[source.options]\nport = 0x" + "f" * 5000,
        "[source.options]\n" + ".".join("a" * 3000) + " = 1",
        "[time]\n" + ".".join("interval" for _ in range(3000)) + " = 1",
        "[time]\ninterval = " + '"' + "1" * 10_000 + 'h"',
        "\ufeff[time]",
    ],
    ids=["deep", "nested", "digits", "hex", "hex_option", "dotted_option", "dotted_key", "long", "mark"],
)
def test_texts_beyond_all_bounds(text: str) -> None:
    parses_or_refuses(text)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=6))
def test_a_secret_is_never_shown(secret: str) -> None:
    value = toml_text(f"{secret}<>")
    with pytest.raises(InvalidInput) as caught:
        parse_archive_file(file_of(source__options=f"{{ password = {value} }}", archive__password=value), "calls.toml")

    assert f"{secret}<>" not in str(caught.value)


@pytest.mark.parametrize("sign", ["\0", "\x1b", "\x85", "\u2028"])
def test_no_text_of_a_file_holds_what_cannot_be_seen(sign: str) -> None:
    """Options go to Spark as they are, and a reader may be told to take NUL for a quote."""
    texts = [(field, field.example) for field in FIELDS if isinstance(field.example, str) and not field.alternative]
    for field, example in texts:
        for written in (f"{example}{sign}", f"{example[0]}{sign}{example[1:]}"):
            with pytest.raises(InvalidInput) as refused:
                parse_archive_file(file_of(**{field.place.replace(".", "__"): toml_text(written)}), "calls.toml")
            assert f"[{field.section}] {field.key}" in str(refused.value), field.place
