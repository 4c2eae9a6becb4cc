"""The judge: what a derived archive holds, from its sources' versions and nothing else.

Content = F(versions, tombstones known at the commit, τ, statement): of each source the records alive at τ that no
tombstone covers, cut by their window; rows, ends and slots by the statement; of these the rows that end after τ.
Neither the archive's own past decides, nor the order or grouping of its updates, nor who carried them out.

τ is the latest end of a watermark among the versions read; the data are complete up to the earliest one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from tidewheel.queries.derivations.form_rows import Row
from tidewheel.queries.derivations.forms import Form, Source, forms_of, sources_of
from tidewheel.queries.derivations.records import Tombstone, Version
from tidewheel.queries.derivations.windows import Seen

Stored = Counter[tuple[tuple[Any, ...], int, int]]  # values, end, slot


def carried_out_to(versions: Mapping[str, Version]) -> int:
    """Return τ: up to when expiry was carried out."""
    return max(version.end for version in versions.values())


def complete_through(versions: Mapping[str, Version]) -> int:
    """Return up to when the data of all sources are there."""
    return min(version.end for version in versions.values())


def is_equal_between_updates(form: Form) -> bool:
    """Tell whether a read between two updates is the statement; else something may be missing from it."""
    return all(one.is_closed for one in forms_of(form)) and not any(
        source.window.is_strict for source in sources_of(form)
    )


def rows_at(
    form: Form, versions: Mapping[str, Version], tombstones: Mapping[str, Collection[Tombstone]], at: int
) -> list[Row]:
    def seen(source: Source) -> list[Seen]:
        version = versions[source.name]
        alive = list(version.alive(at, tombstones.get(source.name, ())))
        return source.window.seen(alive, version.axis, at)

    return [row for row in form.rows(seen, at) if row.until > at]


def content(form: Form, versions: Mapping[str, Version], tombstones: Mapping[str, Collection[Tombstone]]) -> Stored:
    """Return what the archive holds at these versions."""
    return Counter(row.stored for row in rows_at(form, versions, tombstones, carried_out_to(versions)))
