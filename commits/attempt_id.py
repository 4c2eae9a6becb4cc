"""Attempts: one try to carry out a plan, with an id of its own that names its folder and its receipt."""

from __future__ import annotations

import uuid

from tidewheel.indexing.core.slots import moment


def new_attempt(now_us: int) -> str:
    """Return an id that sorts by time and never comes twice: run-20261118T100000-1f3a5c7e."""
    return f"run-{moment(now_us):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:12]}"
