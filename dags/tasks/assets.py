"""Assets of an archive, by address: they start other DAGs, and Airflow draws them as its tasks' inputs and outputs.

    batches: <address>   what `source` and `update` read; archives that are fed from one place share it
    <archive>            its table; the event's `extra` is the receipt
    <archive>.slots      the same table slot by slot: an event for each slot that was brought, with its start as the
                         partition key. An asset of its own, because an event with a key starts no DAG that has none
    <archive>.answers    the answers of its standing queries

Airflow stops a task whose asset shares its name or its address with another one, so a mark behind `?` keeps addresses
apart where the place is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow.sdk import Asset

from tidewheel.indexing.core.definition import ArchiveFile, Source, SourceKind
from tidewheel.indexing.core.slots import TimeAxis, iso

GROUP = "tidewheel"
# An event for each slot is a row in Airflow's database: more in one run are not announced one by one.
SLOTS_ANNOUNCED_MAX = 1000
# What Spark's readers call the place that they read, from the whole to the part.
_WHERE = ("url", "path")
_WHAT = ("dbtable",)


def asset_of(file: ArchiveFile) -> Asset:
    """Return the asset that starts other DAGs: named as the archive, with the receipt as the event's `extra`."""
    return Asset(name=file.name, uri=_address(file.path), group=GROUP)


def slots_asset(file: ArchiveFile) -> Asset:
    """Return the asset that starts DAGs that work slot by slot."""
    return Asset(name=f"{file.name}.slots", uri=f"{_address(file.path)}?by=slot", group=GROUP)


def answers_asset(file: ArchiveFile) -> Asset:
    """Return the asset that starts DAGs that read answers."""
    return Asset(name=f"{file.name}.answers", uri=f"{_address(file.path)}.answers", group=GROUP)


def source_asset(file: ArchiveFile) -> Asset:
    """Return the asset that batches come from."""
    place = source_place(file.source)
    return Asset(name=f"batches: {place}", uri=f"{place}?as=batches", group=GROUP)


def archive_assets(file: ArchiveFile) -> dict[str, list[Asset]]:
    """Return the inlets and outlets of a task that brings slots."""
    return {"inlets": [source_asset(file)], "outlets": [asset_of(file), slots_asset(file)]}


def announce(file: ArchiveFile, slots: Iterable[int], document: dict[str, Any], events: Any) -> None:
    """Tell other DAGs what was committed: the receipt, and each slot."""
    events[asset_of(file)].extra = document
    keys = [slot_key(file.axis, slot) for slot in slots]
    by_slot = events[slots_asset(file)]
    by_slot.extra = {name: document[name] for name in ("version", "committed")}
    if len(keys) <= SLOTS_ANNOUNCED_MAX:
        by_slot.add_partitions(keys)


def slot_key(axis: TimeAxis, slot: int) -> str:
    """The partition key of a slot: its start in UTC, as Airflow's own mappers read it."""
    return iso(axis.start_us(slot)).removesuffix("Z")


def source_place(source: Source) -> str:
    """Return a source's address, without the options that open it."""
    if source.kind is SourceKind.FILES:
        return _address(source.path.partition("{")[0].rpartition("/")[0] or "/")
    if source.kind is SourceKind.TOPIC:
        return f"kafka://{source.options['bootstrap.servers']}/{source.topic}"
    if source.kind is SourceKind.PYTHON:
        return f"python://{source.callable.replace(':', '/')}"
    said = "/".join(_named(source, _WHERE) or [source.format])
    said = said.removeprefix("jdbc:").partition("?")[0]
    place = _address(said) if "path" in source.options else said if "://" in said else f"{source.format}://{said}"
    return "/".join([place, *_named(source, _WHAT)])


def _named(source: Source, options: Iterable[str]) -> list[str]:
    return [source.options[name] for name in options if name in source.options]


def _address(path: str) -> str:
    return path.replace("s3a://", "s3://", 1) if "://" in path else f"file://{path}"
