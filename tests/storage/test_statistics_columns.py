"""The table says which columns have statistics in every file, and delta-rs reads those of all of them back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import Field
from deltalake.schema import ArrayType, MapType, PrimitiveType, StructType

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tidewheel.indexing.core.definition import ArchiveFile, Clock
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.storage.statistics_columns import PROPERTY, stated

OWN_NAMES = ["ins_slot", "exp_slot", "valid_until"]
OWN = [column("ins_slot", "long"), column("exp_slot", "long"), column("valid_until", "timestamp")]
NAMES = Field("names", ArrayType(PrimitiveType("string"), contains_null=True))
SIZES = Field("m", MapType(PrimitiveType("string"), PrimitiveType("long"), value_contains_null=True))
LISTS = StructType([NAMES])
DEEP = StructType([NAMES, column("n", "long"), Field("lists", LISTS)])


@pytest.mark.parametrize(
    ("fields", "key", "names"),
    [
        ([column("key", "string"), column("body", "long")], ["key"], ["key"]),
        ([column(name, name) for name in ("float", "double", "binary", "boolean")], ["float", "boolean"], []),
        ([column("key", "decimal(9,2)")], ["key"], []),
        ([column("day", "date"), column("at", "timestamp")], ["day", "at"], ["day", "at"]),
        ([column('ke"y', "short"), column("a b", "byte")], ['ke"y', "a b"], ['`ke"y`', "`a b`"]),
        ([SIZES, column("key", "long")], ["key"], ["key"]),
        ([Field("deep", DEEP), column("key", "long")], ["key"], ["deep.n", "deep.lists.names", "key"]),
    ],
)
def test_exactly_the_columns_that_have_them(fields: list[Field], key: list[str], names: list[str]) -> None:
    assert stated([*fields, *OWN], key) == [*names, *OWN_NAMES]


STRUCTS = [StructType([column("n", "long")]), LISTS, DEEP, StructType([Field("inner", DEEP), Field("list", LISTS)])]


@pytest.mark.parametrize("struct", STRUCTS, ids=str)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_delta_rs_reads_them_back_behind_any_struct(tmp_path: Path, struct: StructType, checkpoint: bool) -> None:
    fields = [Field("first", struct), column("key", "string"), Field("second", struct), column("port", "long")]
    table = BuiltTable.create(tmp_path, fields, ["key", "port"], clock=Clock.DATA)
    table.append([table.row(0, 5 * HOUR_US, key="a", port=1), table.row(0, 6 * HOUR_US, key="b", port=2)], watermark=1)
    if checkpoint:
        table.snapshot.table.create_checkpoint()
    adds = table.snapshot.adds
    for name in ("key", "port", *OWN_NAMES):
        assert (adds.column(f"min.{name}").null_count, adds.column(f"max.{name}").null_count) == (0, 0), name


@dataclass
class MomentArchive(SmallArchive):
    """One whose key is a moment; `more` are further columns of its source."""

    more: str = ""

    @property
    def file(self) -> ArchiveFile:
        file = super().file
        schema = f"at timestamp, key string, ins timestamp, until timestamp{self.more}"
        policy = replace(file.policy, new_column="add")
        return replace(file, key=("at",), source=replace(file.source, schema=schema), policy=policy)

    def bring(self, slot: int, at_us: int, **more: pa.Array) -> None:
        start_us = self.axis.start_us(slot)
        micros = {"at": at_us, "ins": start_us + 1, "until": start_us + 2 * self.axis.interval_us}
        columns = {name: pa.array([value]).cast(pa.timestamp("us", "UTC")) for name, value in micros.items()}
        path = self.folder / "source" / f"{slot}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({**columns, "key": pa.array(["k"]), **more}), path)
        update(self.job, [slot], confirmed=EVERYTHING)

    def said(self) -> list[str]:
        return str(self.snapshot().table.metadata().configuration[PROPERTY]).split(",")


@pytest.mark.usefixtures("spark")
def test_a_key_without_statistics_is_not_promised(tmp_path: Path) -> None:
    """Moments beyond the year 9999 have none in the log: from the version on that brings one, none are promised."""
    archive = MomentArchive(tmp_path, generation_of(strategy="no_rebuild"))
    archive.create()
    archive.bring(0, 1)
    assert archive.said() == ["at", *OWN_NAMES]
    archive.bring(1, 2**60)
    assert archive.said() == OWN_NAMES
    versions = [archive.job.snapshot(at) for at in range(archive.snapshot().version + 1)]
    promised = ["at" in one.table.metadata().configuration[PROPERTY].split(",") for one in versions]
    assert promised[-3:] == [True, False, False], "taken back before the file came"
    assert versions[-3].files == versions[-2].files != versions[-1].files
    archive.bring(2, 3)
    assert audit(archive.job, deep=False).findings == ()


@pytest.mark.usefixtures("spark")
def test_a_new_column_with_fields_of_its_own(tmp_path: Path) -> None:
    archive = MomentArchive(tmp_path, generation_of())
    archive.create()
    archive.bring(0, 1)
    archive.more = ", deep struct<names: array<string>, n: bigint>"
    archive.bring(1, 2, deep=pa.array([{"names": ["a"], "n": 1}]))
    assert sorted(archive.said()) == sorted(["at", "deep.n", *OWN_NAMES])
    assert {field.name for field in archive.snapshot().columns} == {"at", "key", "ins", "until", "deep"}
    archive.bring(2, 3, deep=pa.array([{"names": ["a"], "n": 1}]))
    assert audit(archive.job).findings == ()
