"""The view of an archive's definition and its layouts."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.durations import duration_text


def definition_view(path: str, definition: Definition) -> RenderableType:
    """The archive in a few lines."""
    table = Table.grid(padding=(0, 2))
    table.add_row("archive", f"{definition.name} at {path}")
    table.add_row("key", ", ".join(definition.key))
    interval, life = duration_text(definition.axis.interval_us), duration_text(definition.max_lifetime_us)
    table.add_row("time", f"slots of {interval}, records live up to {life} ({definition.span} slots)")
    table.add_row("layout", generation_text(definition.current))
    table.add_row("clock", f"{definition.clock.value}, grace {duration_text(definition.retention.grace_us)}")
    return table


def generation_text(generation: Generation) -> str:
    """A layout with its strategy, in words."""
    layout = generation.layout
    classes = f"{layout.insertion_classes}×{layout.expiration_classes}"
    return f"{classes} {layout.kind.value}, {generation.strategy.value}"
