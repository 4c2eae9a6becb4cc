"""Which keys get a Bloom filter: none by which some reader passes records by."""

from __future__ import annotations

import pytest
from pyspark.sql.types import BinaryType, BooleanType, DataType, DoubleType, FloatType, LongType, StringType

from tidewheel.jobs.data.write import key_options


@pytest.mark.parametrize("kind", [BinaryType(), BooleanType(), DoubleType(), FloatType()])
def test_keys_that_other_readers_misread_get_no_filter(kind: DataType) -> None:
    assert not any("bloom" in name for name in key_options("k", kind, 10))


@pytest.mark.parametrize("kind", [StringType(), LongType()])
def test_other_keys_get_one(kind: DataType) -> None:
    assert any("bloom" in name for name in key_options("k", kind, 10))
