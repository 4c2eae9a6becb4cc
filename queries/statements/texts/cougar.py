"""COUGAR's periodic queries over sensors: methods of a sensor's type, and `$every` in place of a SLIDE.

    SELECT AVG(R.s.getTemp()) FROM R WHERE R.floor = 3 AND $every(60);

A method call is the sensor's reading since the last evaluation: `R.s.getTemp()` is the column getTemp of the stream
of R's readings, under a window of RANGE 60 SLIDE 60.
"""

from __future__ import annotations

import re

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.texts.cql import Read, Schemas, read_cql

_EVERY = re.compile(r"\$every\s*\(\s*(\d+)\s*\)", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b(.*?)(?=\bGROUP\b|;|$)", re.IGNORECASE | re.DOTALL)
_METHOD = re.compile(r"\b(\w+)\.\w+\.(\w+)\(\)")
_FROM = re.compile(r"\bFROM\s+(\w+)", re.IGNORECASE)


def read_cougar(text: str, schemas: Schemas) -> Read:
    """
    >>> text = "SELECT AVG(R.s.getTemp()) FROM R WHERE R.floor = 3 AND $every(60);"
    >>> found = read_cougar(text, {"R": ["floor", "getTemp"]})
    >>> found.statement.slides, found.statement.plan.title
    ((60,), 'group by (): avg(R.getTemp)')
    """
    every = _EVERY.findall(text)
    if len(every) != 1:
        raise InvalidInput(f"{len(every)} times $every in a query text", "say it once: $every(60)")
    plain = _WHERE.sub(_without_every, text)
    plain = _METHOD.sub(r"\1.\2", plain)
    return read_cql(_FROM.sub(rf"FROM \1 [RANGE {every[0]} SLIDE {every[0]}]", plain, count=1), schemas)


def _without_every(where: re.Match[str]) -> str:
    parts = re.split(r"\bAND\b", where[1], flags=re.IGNORECASE)
    kept = [part.strip() for part in parts if not _EVERY.search(part)]
    return f"WHERE {' AND '.join(kept)} " if kept else ""
