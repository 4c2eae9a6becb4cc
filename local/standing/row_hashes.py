"""What the rows of derived archives are told apart by: the lower half of the MD5 of a row as JSON.

Columns go by name and without those that are NULL: a table that gets another column keeps the hashes of its rows.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa


def hashes_of(rows: pa.Table) -> pa.Array:
    """The hash of each row; `row_hash` itself does not count."""
    plain = rows.select(sorted(name for name in rows.column_names if name != "row_hash"))
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("plain", plain)
        text = "json_merge_patch('{}', to_json(plain))"  # a patch of NULL removes
        hashes = connection.sql(f"SELECT md5_number_lower({text}) AS h FROM plain").to_arrow_table()
    return pa.array(hashes.column("h").to_numpy().view("int64"), pa.int64())
