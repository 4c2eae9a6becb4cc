"""Tables for pipes look as rich draws them there."""

from __future__ import annotations

import doctest
import io
import random

import pytest
from rich.console import Console
from rich.text import Text

from tidewheel.views import plain_rows as module
from tidewheel.views.plain_rows import plain_rows
from tidewheel.views.tables import plain_table

TEXTS = ["", "a", "10.0.0.7", "日本", "e\u0301", "Ärger", "1,000", "x" * 40, "–", "❯"]


def drawn(headers: list[str], rows: list[list[str]], left: list[int]) -> str:
    sink = io.StringIO()
    table = plain_table(*headers, left=left)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(file=sink, width=1000, highlight=False, markup=False, emoji=False).print(table)
    return sink.getvalue()


@pytest.mark.parametrize("seed", range(30))
def test_it_is_what_rich_draws(seed: int) -> None:
    chance = random.Random(seed)
    columns = chance.randint(1, 5)
    headers = [chance.choice(TEXTS[1:]) for _ in range(columns)]
    rows = [[chance.choice(TEXTS) for _ in range(columns)] for _ in range(chance.randint(0, 5))]
    left = [i for i in range(columns) if chance.random() < 0.5]
    assert plain_rows(headers, rows, left) + "\n" == drawn(headers, rows, left)


def test_the_example_holds() -> None:
    assert doctest.testmod(module).failed == 0
