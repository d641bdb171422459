"""COPY TO STDOUT in the formats memory and device_memory: not the rows, but where they are on the workers' host.

A line of JSON for each part of the result has its rows, host and file, and of each column the name, the type's OID, the
start, the bytes and the number of NULLs. Rows in a GPU's memory have its UUID, and the size of the memory whose
descriptor the socket `path` hands out under a key (see `gpudb.engine.descriptors`). The rows stay there until the
transaction ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from gpudb.engine.sharing import SharedPart, SharePlace
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context, SessionState
from gpudb.session.copy.copy_to import Source
from gpudb.session.execution.requests.requests import share_on_engine
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.session.results import CopyOut, Result, ResultColumn
from gpudb.values.number_columns import holds_numbers, make_null_error


def share_rows(context: Context, source: Source, place: SharePlace) -> Result:
    """Runs the query of a COPY and leaves its rows with the workers.

    25P01 outside a transaction block; 0A000 for columns that are no numbers, and where there are no workers; 22004
    names a column that holds NULL and is no float.
    """
    session = context.session
    if not session.transactions.explicit:
        message = f"COPY TO in the format {place} can only be used in transaction blocks"
        raise SqlError.of("no_active_sql_transaction", message)
    for column in source.columns:
        if not holds_numbers(column.type.arrow) or column.type.name == "numeric":
            raise FeatureNotSupported(f'column "{column.name}" is of type {column.type}, which cannot be shared')
    if source.query is None or has_session_calls(source.query):
        raise FeatureNotSupported("the rows of a query with side effects cannot be shared")
    rows = share_on_engine(context, source.query, place)
    session.shared_rows.append(rows)
    for part in rows.parts:
        for column, shared in zip(source.columns, part.columns, strict=True):
            if shared.nulls and not pa.types.is_floating(column.type.arrow):
                raise make_null_error(column.name, column.type.arrow)
    copy = CopyOut(f"COPY {sum(part.rows for part in rows.parts)}", width=1)
    copy.chunks = _describe(source.columns, rows.parts)
    return copy


def _describe(columns: tuple[ResultColumn, ...], parts: tuple[SharedPart, ...]) -> Iterator[bytes]:
    for part in parts:
        described = [
            {
                "name": column.name,
                "oid": column.type.oid,
                "start": shared.start,
                "size": shared.size,
                "nulls": shared.nulls,
            }
            for column, shared in zip(columns, part.columns, strict=True)
        ]
        line: dict[str, Any] = {"rows": part.rows, "host": part.host, "path": part.path, "columns": described}
        if part.gpu is not None:
            line["gpu"] = asdict(part.gpu)
        yield json.dumps(line).encode() + b"\n"


def end_transaction(session: SessionState) -> None:
    """Lets the workers free the rows that the transaction has shared."""
    while session.shared_rows:
        session.shared_rows.pop().close()
