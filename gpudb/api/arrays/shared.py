"""Rows in the memory of this host's workers, as the server describes them, mapped without a copy."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.api.arrays.columns import Columns
from gpudb.engine.host_name import get_host_name
from gpudb.types import type_by_oid


def parse_parts(lines: str) -> list[Mapping[str, Any]]:
    """Returns the parts of a description; OSError if one is on another host."""
    parts: list[Mapping[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    if not parts or any(part["host"] != get_host_name() for part in parts):
        raise OSError("the rows are in the memory of another host")
    return parts


def map_columns(lines: str) -> Columns:
    """Returns the columns of rows in the host's memory, joined if several workers have them.

    OSError for rows of another host or user.
    """
    parts = parse_parts(lines)
    mapped = [_map_file(part) for part in parts]
    columns = {}
    for number, column in enumerate(parts[0]["columns"]):
        pieces = [part[number] for part in mapped]
        columns[column["name"]] = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
    return columns


def _map_file(part: Mapping[str, Any]) -> list[pa.Array]:
    if not part["rows"]:
        return [pa.array([], type_by_oid(column["oid"]).arrow) for column in part["columns"]]
    with Path(part["path"]).open("rb") as file:
        # A tensor may be written to: its pages are copied then.
        whole = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return list(map(partial(_make_array, whole, part["rows"]), part["columns"]))


def _make_array(whole: pa.Buffer, rows: int, column: Mapping[str, Any]) -> pa.Array:
    type_ = type_by_oid(column["oid"]).arrow
    data = whole.slice(column["start"], column["size"])
    if pa.types.is_boolean(type_):
        return pa.array(np.frombuffer(data, np.bool_))
    return pa.Array.from_buffers(type_, rows, [None, data])
