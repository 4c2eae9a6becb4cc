"""Columns of archives in a few words."""

from __future__ import annotations

from deltalake import Field
from deltalake.schema import PrimitiveType


def column(name: str, kind: str) -> Field:
    return Field(name, PrimitiveType(kind))
