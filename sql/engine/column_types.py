"""The table's column types as DuckDB and Arrow name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalake import Field, Schema
from deltalake.schema import ArrayType, MapType, PrimitiveType, StructType, VariantType

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier

if TYPE_CHECKING:
    import pyarrow as pa

_PRIMITIVES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
}

DeltaType = PrimitiveType | ArrayType | MapType | StructType | VariantType


def duckdb_type(delta_type: DeltaType) -> Sql:
    """The DuckDB type that a column of the table has."""
    if isinstance(delta_type, ArrayType):
        return Sql(f"{duckdb_type(delta_type.element_type)}[]")
    if isinstance(delta_type, MapType):
        return Sql(f"MAP({duckdb_type(delta_type.key_type)}, {duckdb_type(delta_type.value_type)})")
    if isinstance(delta_type, StructType):
        fields = (Sql(f"{quote_identifier(f.name)} {duckdb_type(f.type)}") for f in delta_type.fields)
        return Sql(f"STRUCT({join(', ', fields)})")
    name = str(delta_type.type)
    if name.startswith("decimal("):
        return Sql(name.upper())
    if name not in _PRIMITIVES:
        raise InvalidInput(
            f"the table has a column of type {name}, which this program does not know", "upgrade tidewheel"
        )
    return Sql(_PRIMITIVES[name])


def arrow_schema(fields: list[Field]) -> pa.Schema:
    """The same columns for Arrow, every one nullable."""
    import pyarrow as pa

    return pa.schema([pa.field(f.name, f.type) for f in pa.schema(Schema(fields))])
