"""A derived archive's partial rows in memory: files never change, so a handle that is kept reads each once."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.derived.put import PART
from tidewheel.local.partials.memory.file_rows import EXPIRES, Groups, Piece
from tidewheel.local.partials.memory.tree_grid import TreeGrid
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.local.partials.stored_columns import partial_columns
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.queries.standing.tree import Tree
from tidewheel.storage.snapshot import Snapshot

_KEPT = ("fragment", "signature", "expiration", EXPIRES)
# Beyond it, rows are read again by each refresh.
BYTES_MAX = 256 << 20


@dataclass
class PartialRows:
    """The rows of the files that the newest snapshot had, by file and part."""

    job: ArchiveJob
    known: dict[str, dict[str, pa.Table]] = field(default_factory=dict)
    pieces: dict[tuple[str, str], Piece] = field(default_factory=dict)  # by file and part
    groups: dict[str, dict[tuple[str, ...], Groups]] = field(default_factory=dict)  # by part
    grids: dict[str, TreeGrid] = field(default_factory=dict)

    def of(self, snapshot: Snapshot, tree: Tree) -> TreeRows:
        """A tree's rows that are alive, under the names that folds give them."""
        self._follow(snapshot)
        schema = file_schema(snapshot)
        stored = {name: name for name in _KEPT} | {name: kept for name, (kept, _) in partial_columns(tree).items()}
        fields = [schema.field(kept).with_name(name) for name, kept in stored.items()]
        pieces = [self._piece(path, tree, stored) for path, parts in self.known.items() if tree.name in parts]
        groups, grid = self.groups.setdefault(tree.name, {}), self.grids.setdefault(tree.name, TreeGrid())
        return TreeRows(pa.schema(fields), pieces, snapshot.watermark, groups, grid)

    def let_go(self) -> None:
        """Between refreshes, of what is too much to keep."""
        if sum(one.nbytes for parts in self.known.values() for one in parts.values()) > BYTES_MAX:
            self.known, self.pieces, self.groups, self.grids = {}, {}, {}, {}

    def _piece(self, path: str, tree: Tree, stored: dict[str, str]) -> Piece:
        if (path, tree.name) not in self.pieces:
            rows = self.known[path][tree.name].select(list(stored.values()))
            self.pieces[path, tree.name] = Piece.of(rows.rename_columns(list(stored)))
        return self.pieces[path, tree.name]

    def _follow(self, snapshot: Snapshot) -> None:
        """Read the files that are new, let go of those that are gone."""
        paths = {file.path: file for file in snapshot.files}
        self.known = {path: parts for path, parts in self.known.items() if path in paths}
        self.pieces = {key: piece for key, piece in self.pieces.items() if key[0] in paths}
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
    """The rows of a file are sorted by part, unless another program joined files."""
    runs, start = pc.run_end_encode(rows.column(PART).combine_chunks()), 0
    found: dict[str, list[pa.Table]] = {}
    for end, part in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        found.setdefault(part, []).append(rows.slice(start, end - start))
        start = end
    return {part: pa.concat_tables(some) for part, some in found.items()}
