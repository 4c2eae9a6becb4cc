"""A derived archive's partial rows in memory: files never change, so a handle that is kept reads each once."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.standing.columns import partial_columns
from tidewheel.local.standing.derived import PART
from tidewheel.queries.standing.tree import Tree
from tidewheel.storage.snapshot import Snapshot

_KEPT = ("fragment", "signature", "expiration", "exp_slot")
# Beyond it, rows are read again by each refresh.
BYTES_MAX = 256 << 20


@dataclass
class PartialRows:
    """The rows of the files that the newest snapshot had, by file and part."""

    job: ArchiveJob
    known: dict[str, dict[str, pa.Table]] = field(default_factory=dict)

    def of(self, snapshot: Snapshot, tree: Tree) -> pa.Table:
        """A tree's rows that are alive, under the names that folds give them."""
        self._follow(snapshot)
        named = {name: name for name in _KEPT[:-1]} | {
            name: stored for name, (stored, _) in partial_columns(tree).items()
        }
        schema = file_schema(snapshot)
        empty = schema.empty_table()
        mine = [parts[tree.name] for parts in self.known.values() if tree.name in parts]
        wanted = [*dict.fromkeys((*named.values(), _KEPT[-1]))]
        rows = pa.concat_tables(
            [empty.select(wanted), *(one.select(wanted) for one in mine)], promote_options="default"
        )
        if snapshot.watermark is not None:
            rows = rows.filter(pc.greater(rows.column("exp_slot"), snapshot.watermark))
        found = pa.table({name: rows.column(stored) for name, stored in named.items()})
        return found

    def let_go(self) -> None:
        """Between refreshes, of what is too much to keep."""
        if sum(one.nbytes for parts in self.known.values() for one in parts.values()) > BYTES_MAX:
            self.known = {}

    def _follow(self, snapshot: Snapshot) -> None:
        """Read the files that are new, let go of those that are gone."""
        paths = {file.path: file for file in snapshot.files}
        self.known = {path: parts for path, parts in self.known.items() if path in paths}
        new = [file for path, file in paths.items() if path not in self.known]
        if not new:
            return
        by_path = {self.job.location.child(file.path): file.path for file in new}
        batches: dict[str, list[pa.RecordBatch]] = {path: [] for path in by_path.values()}
        scanned = rows_of(self.job.location, new, file_schema(snapshot)).scanner().scan_batches()
        for one in scanned:
            batches[by_path[one.fragment.path]].append(one.record_batch)
        self.known |= {path: _by_part(pa.Table.from_batches(some)) if some else {} for path, some in batches.items()}


def _by_part(rows: pa.Table) -> dict[str, pa.Table]:
    """The rows of a file are sorted by part."""
    runs, start, found = pc.run_end_encode(rows.column(PART).combine_chunks()), 0, {}
    for end, part in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        found[part] = rows.slice(start, end - start)
        start = end
    return found
