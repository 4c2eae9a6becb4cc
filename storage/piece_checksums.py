"""The checksums that lie beside data files on a local disk, as Hadoop writes them: `.name.crc`, one of every 512 bytes.

Rows and pages have their own checksums, but a footer's statistics, a Bloom filter and the page index have none, and
a flipped bit in them makes a reader pass records by; and DuckDB looks at no checksum of a page. Object stores keep
checksums of their own; there, and where the file of checksums is gone, there is nothing to compare.
"""

from __future__ import annotations

import struct
import zlib

from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.location import Location

_MAGIC = b"crc\x00"
_HEADER_BYTES = 8
_CHUNKS_AT_ONCE = 8192


def wrong_bytes(location: Location, fact: FileFact) -> tuple[int, int] | None:
    """Return the first range of bytes that differs from what was written. Cost: every byte read once."""
    if not location.is_local:
        return None
    folder, _, name = fact.path.rpartition("/")
    try:
        sums = location.read_bytes(location.child(f"{folder}/.{name}.crc"))
        chunk_bytes = _chunk_bytes(sums, fact)
        return None if chunk_bytes is None else _wrong_chunk(location, fact, sums, chunk_bytes)
    except FileNotFoundError:
        return None


def _chunk_bytes(sums: bytes, fact: FileFact) -> int | None:
    """Return how many bytes each checksum covers; None if the content is not one checksum for each such piece.

    A damaged header may ask for gigabytes at once.
    """
    if not sums.startswith(_MAGIC) or len(sums) < _HEADER_BYTES:
        return None
    (chunk_bytes,) = struct.unpack_from(">i", sums, len(_MAGIC))
    as_many = chunk_bytes > 0 and len(sums) - _HEADER_BYTES == 4 * -(-fact.bytes // chunk_bytes)
    return int(chunk_bytes) if as_many else None


def _wrong_chunk(location: Location, fact: FileFact, sums: bytes, chunk_bytes: int) -> tuple[int, int] | None:
    """Return the first bytes, from and to, whose checksum differs."""
    expected = memoryview(sums)[_HEADER_BYTES:].cast("B")
    at = 0
    with location.filesystem.open_input_stream(location.child(fact.path), compression=None) as stream:
        while block := memoryview(stream.read(chunk_bytes * _CHUNKS_AT_ONCE)):
            for start in range(0, len(block), chunk_bytes):
                chunk = block[start : start + chunk_bytes]
                there = expected[at // chunk_bytes * 4 : at // chunk_bytes * 4 + 4]
                if zlib.crc32(chunk).to_bytes(4, "big") != there:
                    return at, at + len(chunk) - 1
                at += len(chunk)
    return None
