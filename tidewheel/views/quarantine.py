"""The records that were set aside: how many by slot and rule, and some of them as they came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.printable import printable
from tidewheel.views.figures import count, slot_name
from tidewheel.views.tables import plain_table

if TYPE_CHECKING:
    from tidewheel.commits.side_tables.quarantine import Quarantined


def quarantine_document(records: Sequence[Quarantined], axis: TimeAxis, limit: int) -> dict[str, Any]:
    """For machines: every count, and as many records as asked for."""
    counts = [{"slot": axis.name(slot), "rule": rule, "records": n} for (slot, rule), n in _counts(records).items()]
    shown = [{**one.to_json(), "slot": axis.name(one.slot)} for one in records[:limit]]
    return {"records": len(records), "counts": counts, "quarantine": shown}


def quarantine_view(records: Sequence[Quarantined], axis: TimeAxis, limit: int) -> RenderableType:
    if not records:
        return "nothing is in quarantine"
    totals = plain_table("slot", "rule", "records", left=(0, 1))
    for (slot, rule), number in _counts(records).items():
        totals.add_row(slot_name(axis, slot), rule, count(number))
    shown = records[:limit]
    table = plain_table("slot", "rule", "as it came", left=(0, 1, 2))
    for one in shown:
        # Text, for rich reads markup in plain strings; printable, for it comes from outside.
        table.add_row(slot_name(axis, one.slot), one.rule, Text(printable(_as_it_came(one))))
    left = len(records) - len(shown)
    more = f"and {count(left)} more: --limit {len(records)}" if left else ""
    return Group(totals, "", *([table] if shown else []), *([more] if more else []))


def _as_it_came(one: Quarantined) -> str:
    return one.text if one.text is not None else json.dumps(one.record, ensure_ascii=False)


def _counts(records: Sequence[Quarantined]) -> Counter[tuple[int, str]]:
    return Counter((one.slot, one.rule) for one in records)
