"""Arrow tables as Parquet files: a file appears whole, or not at all."""

from __future__ import annotations

import os

import pyarrow as pa

from gpudb.api.files import replacing
from gpudb.errors import FeatureNotSupported, SqlError


def write_parquet(table: pa.Table, path: str | os.PathLike[str], compression: str) -> int:
    """Writes a table to a file, which replaces one of that name; returns the number of rows.

    0A000 for a column without a Parquet type, 22023 for an unknown compression, OSError if it cannot be written.
    """
    import pyarrow.parquet as pq

    try:
        with replacing(path) as partial:
            pq.write_table(table, partial, compression=compression)
    except pa.ArrowNotImplementedError as error:
        hint = "Cast the column to text, or an interval to its seconds: extract(epoch from …)."
        raise FeatureNotSupported(f"Parquet has no such type: {error}", hint=hint) from None
    except pa.ArrowException as error:
        raise SqlError.of("invalid_parameter_value", str(error)) from None
    return int(table.num_rows)
