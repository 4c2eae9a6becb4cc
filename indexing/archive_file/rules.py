"""Rules between the keys of an archive file, and the defaults that depend on other keys.

A rule sees the values that passed their own check. A value that did not is absent, and a rule that needs it
stays silent: one mistake should give one fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.archive_file.source_kinds import CLIENT_OPTIONS
from tidewheel.indexing.archive_file.source_paths import shared_path
from tidewheel.indexing.core.definition import SourceKind
from tidewheel.indexing.core.layouts import LayoutKind
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.schedule.cron import fitting_cron
from tidewheel.indexing.schedule.cron_runs import cron_misfit


@dataclass(frozen=True)
class Settings:
    """Checked values by place ("time.interval"), and the places that the file itself sets, rightly or not."""

    values: Mapping[str, Any]
    given: frozenset[str]

    def have(self, *places: str) -> bool:
        return all(place in self.values for place in places)

    @property
    def axis(self) -> TimeAxis | None:
        if not self.have("time.interval", "time.epoch"):
            return None
        return TimeAxis(self.values["time.interval"], self.values["time.epoch"])

    @property
    def source_kind(self) -> SourceKind | None:
        """Return the kind of source that the only given selector stands for; None for none or several."""
        kinds = [kind for place, kind in SELECTORS.items() if place in self.given]
        return kinds[0] if len(kinds) == 1 else None


@dataclass(frozen=True)
class Breach:
    """A broken rule: the place to change, what is wrong there, and the remedy."""

    place: str
    wrong: str
    remedy: str


SELECTORS = {
    "source.path": SourceKind.FILES,
    "source.time_column": SourceKind.READER,
    "source.callable": SourceKind.PYTHON,
    "source.topic": SourceKind.TOPIC,
}
_OF_TOPICS = ("message", "lateness", "lost")
_DEFAULT_EXPIRATION_CLASSES = 4
_CRON_REMEDY = "write five cron fields whose runs start where slots start, or move the epoch"


def settled(settings: Settings) -> dict[str, Any]:
    """Return the checked values, with the defaults that other keys decide."""
    values = dict(settings.values)
    by_insertion = values.get("layout.kind") is LayoutKind.WAVE_BY_INSERTION
    values.setdefault("layout.expiration_classes", 1 if by_insertion else _DEFAULT_EXPIRATION_CLASSES)
    if settings.source_kind is SourceKind.FILES:
        values.setdefault("source.format", "parquet")
    if settings.source_kind is SourceKind.TOPIC:
        values.setdefault("source.format", "kafka")
    if settings.axis is not None:
        values.setdefault("schedule.cron", fitting_cron(settings.axis))
    values.setdefault("schedule.start", None)
    values.setdefault("schedule.freshness", None)
    for place in ("archive.inserted_at", "source.format", "source.schema", *SELECTORS):
        values.setdefault(place, "")
    return values


def _lifetime_covers_a_slot(settings: Settings) -> Iterator[Breach]:
    if not settings.have("time.interval", "time.max_lifetime"):
        return
    interval_us = settings.values["time.interval"]
    if settings.values["time.max_lifetime"] < interval_us:
        yield Breach(
            "time.max_lifetime",
            "shorter than the interval, so records would expire in the slot that brings them",
            f"give at least {duration_text(interval_us)}, or a shorter interval",
        )


def _waves_have_one_class(settings: Settings) -> Iterator[Breach]:
    one_class = {
        LayoutKind.WAVE_BY_INSERTION: "layout.expiration_classes",
        LayoutKind.WAVE_BY_EXPIRATION: "layout.insertion_classes",
    }
    kind = settings.values.get("layout.kind")
    place = one_class.get(kind) if isinstance(kind, LayoutKind) else None
    if place and settings.values.get(place, 1) != 1:
        yield Breach(place, f"{kind} has one class on this side", "remove the line, or choose another kind")


def _log_outlives_grace(settings: Settings) -> Iterator[Breach]:
    if not settings.have("retention.log", "retention.grace"):
        return
    grace_us = settings.values["retention.grace"]
    if settings.values["retention.log"] < grace_us:
        yield Breach(
            "retention.log",
            f"shorter than the grace of {duration_text(grace_us)}, in which older versions are still read",
            f"give at least {duration_text(grace_us)}",
        )


def _one_source(settings: Settings) -> Iterator[Breach]:
    given = [place.removeprefix("source.") for place in SELECTORS if place in settings.given]
    if not given:
        yield Breach(
            "source",
            "no source",
            "give one of path (files), time_column (any reader), callable (Python), topic (Kafka)",
        )
    if len(given) > 1:
        yield Breach("source", f"{' and '.join(given)} are different sources", "keep one of them")


def _source_uses_its_keys(settings: Settings) -> Iterator[Breach]:
    if settings.source_kind is SourceKind.PYTHON:
        for key in ("format", "schema", "options"):
            if f"source.{key}" in settings.given:
                yield Breach(
                    f"source.{key}",
                    "not used: the callable reads for itself",
                    "remove it, or remove callable",
                )
    if settings.source_kind is SourceKind.READER and "source.format" not in settings.given:
        yield Breach("source.format", "required with time_column", 'name the reader, such as "jdbc" or "delta"')


def _topic_uses_its_keys(settings: Settings) -> Iterator[Breach]:
    if settings.source_kind is not SourceKind.TOPIC:
        for key in _OF_TOPICS:
            if f"source.{key}" in settings.given:
                yield Breach(f"source.{key}", "not used: the source is no topic", "remove it, or name a topic")
        if settings.values.get("source.format") == "kafka" and settings.source_kind is not None:
            yield Breach("source.format", "a topic is read by its offsets", "name it with topic, and nothing else")
        return
    if settings.values.get("source.format", "kafka") != "kafka":
        yield Breach("source.format", "topics are Kafka's", 'remove it, or write "kafka"')
    if "source.schema" not in settings.given:
        yield Breach("source.schema", "required with topic", "name the fields of the messages' JSON and their types")
    if settings.have("source.options"):
        yield from _topic_options(settings.values["source.options"])


def _topic_options(options: Mapping[str, str]) -> Iterator[Breach]:
    if unknown := [name for name in options if name not in CLIENT_OPTIONS]:
        yield Breach(
            "source.options", f"{', '.join(unknown)}: not known of a topic", f"known are {', '.join(CLIENT_OPTIONS)}"
        )
    if "bootstrap.servers" not in options:
        yield Breach("source.options", "no broker is named", 'write "bootstrap.servers" = "host:9092"')


def _paths_tell_slots_apart(settings: Settings) -> Iterator[Breach]:
    axis = settings.axis
    if axis is None or not settings.have("source.path"):
        return
    if shared := shared_path(settings.values["source.path"], axis):
        first, second, path = shared
        yield Breach(
            "source.path",
            f"the slots of {first} and {second} would both read {path}",
            "name the whole moment, as in {start:%Y-%m-%dT%H%M}, or use {slot}",
        )


def _runs_hold_whole_slots(settings: Settings) -> Iterator[Breach]:
    axis = settings.axis
    if axis is None:
        return
    if "schedule.cron" not in settings.given and not fitting_cron(axis):
        yield Breach(
            "schedule.cron",
            f"required: no hourly, daily or weekly run holds whole slots of {duration_text(axis.interval_us)}",
            _CRON_REMEDY,
        )
    elif misfit := cron_misfit(settings.values.get("schedule.cron", ""), axis):
        better = fitting_cron(axis)
        remedy = f'use "{better}"' if better else _CRON_REMEDY
        yield Breach("schedule.cron", misfit, remedy)


RULES: tuple[Callable[[Settings], Iterator[Breach]], ...] = (
    _lifetime_covers_a_slot,
    _waves_have_one_class,
    _log_outlives_grace,
    _one_source,
    _source_uses_its_keys,
    _topic_uses_its_keys,
    _paths_tell_slots_apart,
    _runs_hold_whole_slots,
)
