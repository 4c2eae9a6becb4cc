"""The text on a DAG's page about its archive, made from the archive file so that it is never stale."""

from __future__ import annotations

from tidewheel.indexing.core.definition import ArchiveFile, SourceKind
from tidewheel.indexing.durations import duration_text


def description(file: ArchiveFile, path: str) -> str:
    """The archive in Markdown."""
    layout, retention, schedule = file.generation.layout, file.retention, file.schedule
    rows = {
        "Table": f"`{file.path}`",
        "Key": ", ".join(f"`{name}`" for name in file.key),
        "Slots": f"{duration_text(file.axis.interval_us)} each",
        "A record is valid until": f"`{' '.join(file.expires_at.split())}`, {duration_text(file.max_lifetime_us)} "
        f"at most ({file.axis.span(file.max_lifetime_us)} slots)",
        "Source": _source(file),
        "Layout": f"{layout.insertion_classes}×{layout.expiration_classes} {layout.kind.value}, "
        f"{file.generation.strategy.value}",
        "Schedule": f"`{schedule.cron}`" + (f", pool `{schedule.pool}`" if schedule.pool else ""),
        "Alarm": f"when a run is not done {duration_text(schedule.freshness_us)} after it was queued"
        if schedule.freshness_us
        else "none (`[schedule] freshness` is not set)",
        "Kept after use": f"{duration_text(retention.grace_us)} grace, vacuum every "
        f"{duration_text(retention.vacuum_period_us)}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return (
        f"Keeps the archive **{file.name}** as `{path}` says: each run brings the slots of its data interval in one "
        f"commit, and what has expired by then leaves in the same commit.\n\n| | |\n|---|---|\n{table}\n\n"
        f"`source` waits for the batch, `update` applies it; a run that comes again replaces what it brought. "
        f"Other DAGs of this archive: `{file.name}__backfill` brings a range of slots, `{file.name}__maintenance` "
        "expires, vacuums, audits and watches, and by hand migrates or forgets."
    )


def _source(file: ArchiveFile) -> str:
    source = file.source
    named = {
        SourceKind.FILES: f"{source.format} files `{source.path}`",
        SourceKind.READER: f"{source.format}, rows by `{source.time_column}`",
        SourceKind.PYTHON: f"`{source.callable}`",
        SourceKind.TOPIC: f"Kafka topic `{source.topic}`",
    }
    late = "waited for when missing" if source.missing == "fail" else "nothing when missing"
    return f"{named[source.kind]}, {late}"
