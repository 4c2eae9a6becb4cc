"""Forgotten keys leave answers of any age: rows whose group columns hold the whole key are deleted, in one commit.

The tombstones of the source that the answers have not met yet say which keys went. The commit carries them, so the
next refresh knows them. A tombstone is a digest, so keys are told apart by theirs. Young answers are folded again after
it, as records of the key may have come since; older ones are given, and stay as they are but for this.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.indexing.core.receipts import Tombstone
from tidewheel.local.keys import digest_of, knows
from tidewheel.local.standing.columns import answer_columns
from tidewheel.local.standing.derived import PART
from tidewheel.local.standing.removing import remove_keys
from tidewheel.queries.standing.query import Query


def erase(
    answers: ArchiveJob, queries: Sequence[Query], key: Sequence[str], new: Collection[Tombstone], salt: str
) -> Outcome:
    """Delete the answers of forgotten keys; `key` is the source's, `new` the tombstones not met yet."""
    bounds = {one.digest: one.slot_max for one in new}
    columns = {query.part: found for query in queries if (found := key_columns(query, key)) is not None}

    def hits(rows: pa.Table) -> pa.Array:
        hit = [False] * rows.num_rows
        for part, names in columns.items():
            if not set(names) <= set(rows.column_names) or not knows(pa.schema([rows.schema.field(n) for n in names])):
                continue
            for place, row in enumerate(rows.select([PART, "ins_slot", *names]).to_pylist()):
                values = [row[name] for name in names]
                if row[PART] == part and None not in values:
                    bound = bounds.get(digest_of(key, values, salt))
                    hit[place] = bound is not None and row["ins_slot"] <= bound
        return pa.array(hit, pa.bool_())

    return remove_keys(answers, hits, tuple(new))


def key_columns(query: Query, key: Sequence[str]) -> list[str] | None:
    """The stored columns of an answer that hold the source's key; None if its groups do not hold the whole of it."""
    named = {one.sql.strip('"'): one.name for one in query.groups}
    stored = answer_columns(query)
    return [stored[named[column]][0] for column in key] if all(column in named for column in key) else None
