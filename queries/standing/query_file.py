"""Read a query file: all of its faults at once, or its queries as texts.

What needs the archive's columns or a parser of SQL is judged later, by whoever has them; faults found there name
their line through `QueryText.fault`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.toml.lines import element
from tidewheel.indexing.toml.page import Fault, Page, faulty, page_content
from tidewheel.queries.standing.query import Counts, Erasure, QueryText, Terms
from tidewheel.queries.standing.query_fields import FORM

# Of a query with faults, what its lines do not say.
_UNSAID: dict[str, Any] = {
    "of": "", "select": "", "group_by": (), "window": 1, "ahead": 0, "late": 0, "revise": 0, "keep": 0,
    "erasure": Erasure.DELETE, "technique": "", "test": (),
}  # fmt: skip


@dataclass(frozen=True)
class Misfit:
    """A contradiction between two keys, or between a key and the archive."""

    key: str
    wrong: str
    remedy: str


def parse_query_file(text: str, file_name: str) -> tuple[QueryText, ...]:
    """The queries of a file; `InvalidInput` with all its faults (`values["faults"]`)."""
    texts = told_apart(read_query_file(text, file_name))
    if faults := [fault for one in texts for fault in one.faults]:
        raise faulty(file_name, faults, FORM.reference)
    return tuple(texts)


def read_query_file(text: str, file_name: str) -> list[QueryText]:
    """The queries of a file, each with its own faults; `InvalidInput` if the file says of none what it is."""
    stem = file_name.rsplit("/", 1)[-1].removesuffix(".toml")
    pages = list(_pages(text, file_name))
    if not pages:
        fault = Fault(file_name, 1, "[query]", "no query", "write [query] with of, select and window")
        raise faulty(file_name, [fault], FORM.reference)
    return [_query_text(page, stem, tuple(_faults(page, several=len(pages) > 1))) for page in pages]


def told_apart(texts: Iterable[QueryText]) -> list[QueryText]:
    """The queries; those of one archive that have one name are at fault, whichever file they stand in."""
    given = list(texts)
    counts = Counter((one.of, one.name) for one in given)
    return [one if counts[one.of, one.name] == 1 else _second(one) for one in given]


def _second(one: QueryText) -> QueryText:
    fault = one.fault("name", f"two queries are named {one.name}", "give each a name of its own")
    return replace(one, faults=(*one.faults, fault))


def misfits(terms: Terms, axis: TimeAxis) -> Iterator[Misfit]:
    """Yield each term of a query that does not fit the archive's slots."""
    interval = axis.interval_us
    said = duration_text(interval)
    on_slots = terms.slide_us % interval == 0 and (terms.offset_us - axis.epoch_us) % interval == 0
    if terms.counts is Counts.LIVE and not on_slots:
        yield Misfit("slide", f"what is alive is known at ends of slots, which are {said} long",
                     f"give a multiple of {said}, with an offset that fits them")  # fmt: skip
    if not terms.time and terms.slide_us < interval:
        yield Misfit("slide", f"shorter than the archive's interval of {said}, inside which insertion tells no time",
                     f"give {said} or more, or a column as time")  # fmt: skip


def _pages(text: str, file_name: str) -> Iterator[Page]:
    document, lines = page_content(text, file_name, FORM.reference)
    several = document.get("query")
    if not isinstance(several, list):
        yield Page(FORM, file_name, document, lines)
        return
    rest = {name: content for name, content in document.items() if name != "query"}
    for number, content in enumerate(several):
        # What is beside the queries is judged once, with the first of them.
        around = rest if number == 0 else {}
        yield Page(FORM, file_name, {**around, "query": content}, lines, {"query": ("query", element(number))})


def _faults(page: Page, *, several: bool) -> Iterator[Fault]:
    yield from page.unknown()
    if "query" not in page.document:
        yield page.fault("query", "no query", "write [query] with of, select and window")
        return
    yield from page.read()
    if several and "query.name" not in page.given:
        yield page.fault("query.name", "required where a file holds several queries", 'add name = "..."')
    for one in _own_misfits(page.values):
        yield page.fault(f"query.{one.key}", one.wrong, one.remedy)


def _own_misfits(values: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield the keys of a file that contradict each other."""
    if "query.window" in values and values["query.window"] is None and values.get("query.counts") is Counts.ARRIVED:
        yield Misfit("counts", "a window of everything alive counts what is alive", "remove the line")
    if ("query.order_by" in values) != ("query.limit" in values):
        key = "order_by" if "query.order_by" in values else "limit"
        yield Misfit(key, "order_by and limit go together: an answer is a set of groups", "give both, or none")
    if {"query.keep", "query.revise"} <= values.keys() and values["query.keep"] < values["query.revise"]:
        least = duration_text(values["query.revise"])
        yield Misfit("keep", "shorter than revise: an answer would be gone while it can be corrected",
                     f"give at least {least}")  # fmt: skip
    if {"query.offset", "query.slide"} <= values.keys() and values["query.offset"] >= values["query.slide"]:
        yield Misfit("offset", "not below the slide", "give what is left after whole slides")


def _query_text(page: Page, stem: str, faults: tuple[Fault, ...]) -> QueryText:
    said = {place.removeprefix("query."): value for place, value in page.values.items()}
    values = {**_UNSAID, **said}
    window_us = values["window"]
    return QueryText(
        name=values.get("name", stem),
        of=values["of"],
        select=values["select"],
        where=values.get("where", ""),
        group_by=values["group_by"],
        having=values.get("having", ""),
        order_by=values.get("order_by", ""),
        limit=values.get("limit"),
        terms=Terms(
            window_us=window_us,
            slide_us=values.get("slide", 0),
            offset_us=values.get("offset", 0),
            counts=values.get("counts", Counts.LIVE if window_us is None else Counts.ARRIVED),
            time=values.get("time", ""),
            ahead_us=values["ahead"],
            late_us=values["late"],
            revise_us=values["revise"],
            keep_us=values["keep"],
            erasure=values["erasure"],
        ),
        technique=values["technique"],
        tests=values["test"],
        faults=faults,
        is_named="name" in said,
        is_shifted="offset" in said,
        fault=lambda key, wrong, remedy: page.fault(f"query.{key}", wrong, remedy),
    )
