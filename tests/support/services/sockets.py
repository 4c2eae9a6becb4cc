"""On which addresses processes listen, as the kernel says it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_LISTENS = "0A"


def listening(processes: Iterable[int]) -> dict[tuple[str, int], int]:
    """The processes' listening addresses and ports, each with a process that holds it."""
    held = {inode: process for process in processes for inode in _sockets(process)}
    return {at: held[inode] for at, inode in _listeners() if inode in held}


def is_outer(address: str) -> bool:
    """Whether others than this machine may connect there."""
    at = ip_address(address)
    at = getattr(at, "ipv4_mapped", None) or at
    return not at.is_loopback


def _sockets(process: int) -> set[str]:
    """The inodes of a process's sockets; none if it has ended."""
    found = set()
    with suppress(OSError):
        for handle in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                target = os.readlink(handle)
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def _listeners() -> Iterable[tuple[tuple[str, int], str]]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(FileNotFoundError):
            for line in Path(table).read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state == _LISTENS:
                    yield _place(local), rest[5]


def _place(text: str) -> tuple[str, int]:
    """
    >>> _place("0100007F:1F90")
    ('127.0.0.1', 8080)
    """
    address, port = text.split(":")
    words = struct.pack(f"={len(address) // 8}I", *(int(address[at : at + 8], 16) for at in range(0, len(address), 8)))
    kind = IPv4Address if len(words) == 4 else IPv6Address
    return str(kind(words)), int(port, 16)
