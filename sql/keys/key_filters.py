"""The Bloom filters of data files, kept in memory: which files cannot hold a key although their bounds admit it.

A probe pays for every file that DuckDB opens, and where keys are many, most files hold none of its records. Parquet
has a filter for each row group (https://parquet.apache.org/docs/file-format/bloomfilter/): the 64-bit hash of a
value chooses a block of 32 bytes, and sets one bit in each of its eight words. If one of the eight is not set, the
value is not there. Files never change, so each is asked for its filters once; about two thousandths of its size.

What cannot be told never excludes a file: no filter, one of a kind that is not known, a value that files may store in
more than one way. A file that is damaged or gone is left to the read, which says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from xxhash import xxh64_intdigest

from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.location import Location

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Beyond this all are forgotten: a guard, as probes of an archive of 100 GB may come to know so many.
KEPT_BYTES_MAX = 256 * 1024 * 1024
BLOCK_BYTES = 32
SALTS = (
    0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
)  # fmt: skip
# A filter's header in Thrift: the field of its length, and behind the length the only algorithm, hash and compression.
_LENGTH_FIELD = 0x15
_ONLY_KIND = bytes.fromhex("1c1c0000 1c1c0000 1c1c0000 00")
_HEADER_BYTES_MAX = 32
_EPOCH = date(1970, 1, 1)

Stored = int | bytes  # a value as a file has it


@dataclass(frozen=True)
class Hashed:
    """The place of a value in a filter: the number that chooses the block, and the eight bits in it."""

    chooser: int
    bits: int

    @staticmethod
    def of(stored: bytes) -> Hashed:
        whole = xxh64_intdigest(stored)
        low = whole & 0xFFFFFFFF
        bits = sum(1 << (32 * word + (low * salt & 0xFFFFFFFF) // (1 << 27)) for word, salt in enumerate(SALTS))
        return Hashed(whole >> 32, bits)

    def may_be_in(self, blocks: memoryview) -> bool:
        start = (self.chooser * (len(blocks) // BLOCK_BYTES) >> 32) * BLOCK_BYTES
        return int.from_bytes(blocks[start : start + BLOCK_BYTES], "little") & self.bits == self.bits


@dataclass(frozen=True)
class FileFilter:
    """The row groups of a file, each with its least and greatest key and its filter; None where there is none."""

    physical_type: str
    groups: tuple[tuple[Stored | None, Stored | None, memoryview | None], ...]
    bytes: int

    def may_hold(self, stored: Stored, hashed: Hashed) -> bool:
        for least, greatest, blocks in self.groups:
            if least is not None and greatest is not None and not least <= stored <= greatest:  # type: ignore[operator]
                continue
            if blocks is None or hashed.may_be_in(blocks):
                return True
        return False


class KeyFilters:
    """The filters of one archive's files, for its first key column. Threads may share them.

    They are `wanted` once somebody asks again: a single probe gains nothing, as DuckDB looks at the same filters.
    """

    wanted = False

    def __init__(self, location: Location, column: str) -> None:
        self._location, self._column = location, column
        self._filters: dict[str, FileFilter | None] = {}

    def admitted(self, files: Iterable[FileFact], value: Any) -> tuple[list[FileFact], list[FileFact]]:
        """Files that may hold a record with this first value of the key, and those that cannot."""
        admitted: list[FileFact] = []
        excluded: list[FileFact] = []
        hashes: dict[str, tuple[Stored, Hashed] | None] = {}
        for file in files:
            filters = self._filters[file.path] if file.path in self._filters else self._loaded(file)
            if filters is None:
                admitted.append(file)
                continue
            kind = filters.physical_type
            if kind not in hashes:
                hashes[kind] = _hashed(value, kind)
            known = hashes[kind]
            (admitted if known is None or filters.may_hold(*known) else excluded).append(file)
        return admitted, excluded

    def keep(self, paths: Collection[str]) -> None:
        """Forget the files that are of no use any more, and all if the others are too many."""
        kept = {path: filters for path, filters in self._filters.items() if path in paths}
        self._filters = kept if sum(one.bytes for one in kept.values() if one) <= KEPT_BYTES_MAX else {}

    def _loaded(self, file: FileFact) -> FileFilter | None:
        """A file's filters. Cost: its footer, and one read, as they lie side by side."""
        import pyarrow as pa

        path = self._location.child(file.path)
        try:
            with self._location.filesystem.open_input_file(path) as source:
                if source.size() != file.bytes:
                    return None
                found = _file_filter(source, self._column)
        except (OSError, pa.ArrowException):
            return None
        self._filters[file.path] = found
        return found


def stored_form(value: Any, physical_type: str) -> Stored | None:
    """A value as a file has it; None where that is not certain.

    >>> stored_form(1, "INT32"), stored_form("é", "BYTE_ARRAY"), stored_form(date(1970, 1, 3), "INT32")
    (1, b'\\xc3\\xa9', 2)
    >>> stored_form(1.0, "DOUBLE"), stored_form(True, "BOOLEAN")
    (None, None)
    """
    if isinstance(value, bool | datetime):
        return None
    if isinstance(value, date):
        value = (value - _EPOCH).days
    if isinstance(value, int) and physical_type in ("INT32", "INT64"):
        return value
    if isinstance(value, str) and physical_type == "BYTE_ARRAY":
        return value.encode()
    if isinstance(value, bytes) and physical_type == "BYTE_ARRAY":
        return value
    return None


def _hashed(value: Any, physical_type: str) -> tuple[Stored, Hashed] | None:
    stored = stored_form(value, physical_type)
    if stored is None:
        return None
    if isinstance(stored, bytes):
        return stored, Hashed.of(stored)
    size = 4 if physical_type == "INT32" else 8
    try:
        return stored, Hashed.of(stored.to_bytes(size, "little", signed=True))
    except OverflowError:
        return None


def _file_filter(source: pa.NativeFile, column: str) -> FileFilter | None:
    """The filters behind a footer; None if the file has none."""
    import pyarrow.parquet as pq

    chunks = _chunks(pq.read_metadata(source), column)
    places = [_place(chunk) for chunk in chunks]
    known = [place for place in places if place is not None]
    if not known:
        return None
    first = min(offset for offset, _ in known)
    content = memoryview(source.read_at(max(offset + length for offset, length in known) - first, first))
    filters = (None if place is None else _blocks(content[place[0] - first :][: place[1]]) for place in places)
    groups = tuple((*_bounds(chunk), blocks) for chunk, blocks in zip(chunks, filters, strict=True))
    return FileFilter(chunks[0].physical_type, groups, len(content))


def _chunks(metadata: pq.FileMetaData, column: str) -> list[pq.ColumnChunkMetaData]:
    """Return the column's chunk in each row group; none if the file has no such column."""
    names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    if column not in names:
        return []
    return [metadata.row_group(number).column(names.index(column)) for number in range(metadata.num_row_groups)]


def _bounds(chunk: pq.ColumnChunkMetaData) -> tuple[Stored | None, Stored | None]:
    bounds = chunk.statistics
    return (bounds.min_raw, bounds.max_raw) if bounds is not None and bounds.has_min_max else (None, None)


def _place(chunk: pq.ColumnChunkMetaData) -> tuple[int, int] | None:
    """Offset and length of a filter, header included. Old writers tell the offset alone."""
    offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
    return None if offset is None or length is None else (offset, length)


def _blocks(whole: memoryview) -> memoryview | None:
    """Return the blocks behind a filter's header; None if the filter is not of the one known kind."""
    end = bytes(whole[:_HEADER_BYTES_MAX]).find(_ONLY_KIND)
    if end < 2 or whole[0] != _LENGTH_FIELD:
        return None
    blocks = whole[end + len(_ONLY_KIND) :]
    zigzag = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(whole[1:end]))
    return blocks if blocks and len(blocks) == zigzag >> 1 and len(blocks) % BLOCK_BYTES == 0 else None
