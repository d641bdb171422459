"""Initial values of columns that a table with rows gets."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from gpudb.storage.iceberg.column_layout import stored_type, to_stored
from gpudb.types import SqlType


def encode_initial(type: SqlType, value: pa.Array) -> str | None:
    """Returns `Column.initial` for a new column of a table with rows; `value` is its default, an array of length 1.

    None for NULL. The text is DuckDB's of the stored value, and can be cast back.
    """
    if value.null_count:
        return None
    stored = to_stored(value, type, stored_type(type, 1))
    frame = pa.table({"v": stored})  # noqa: F841 -- DuckDB finds it by its name
    with duckdb.connect() as connection:
        row = connection.execute("SELECT v::VARCHAR FROM frame").fetchone()
    assert row is not None
    return str(row[0])
