"""Clusters of a matrix's rows, in PG-Strom's form: its first column identifies rows, the others are features.

A child process computes, as for the functions in FROM (`analytics.table_functions`), and ends with its statement.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpudb.duckdb import running
from gpudb.duckdb.udf.device_code import make_wanted
from gpudb.errors import SqlError
from gpudb.plcuda.calls import MEMORY_BYTES
from gpudb.processes.pool import ProcessPool
from gpudb.values.matrix import Matrix, build_column, iterate_values
from gpudb.values.sparse_matrix import read_dense

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry


def register(registry: FunctionRegistry) -> None:
    """Registers the function."""
    registry.add_columnar("pg_matrix_kmeans", "BLOB INTEGER INTEGER INTEGER BIGINT", "BLOB", _cluster)


@cache
def _get_pool(memory_bytes: int) -> ProcessPool:
    return ProcessPool("gpudb.analytics.table_functions", memory_bytes=memory_bytes)


def _cluster(column: pa.Array, *numbers: pa.Array) -> pa.BinaryArray:
    """Returns for each matrix that of its rows' identities and clusters, from 0 on; NULL where an operand is."""
    found: list[Matrix | None] = []
    for value, *row in zip(iterate_values(column), *(each.to_pylist() for each in numbers), strict=True):
        found.append(None if value is None or None in row else _cluster_rows(read_dense(value), *row))
    return build_column(found)


def _cluster_rows(matrix: Matrix, k: int, iterations: int, seed: int, statement: int) -> Matrix:
    """Finds clusters; 22023 for a matrix of one column, identities that are no integers, NaN and infinity."""
    if matrix.shape[1] < 2:
        raise _wrong("the matrix of gpu_kmeans has a column of identities and at least one of features")
    identities = matrix[:, 0]
    if identities.dtype.kind == "f" and not (np.isfinite(identities) & (np.abs(identities) < 2.0**63)).all():
        raise _wrong("an identity is no integer")
    if not (numbers := identities.astype(np.int64)).tolist() == identities.tolist():
        raise _wrong("an identity is no integer")
    features = pa.table({f"c{place}": matrix[:, place].astype(np.float64) for place in range(1, matrix.shape[1])})
    options: dict[str, Any] = {"k": k, "iterations": iterations, "seed": seed}
    pool = _get_pool(running.find_memory(statement) or MEMORY_BYTES)
    arguments = features, features.num_columns, options
    labels = pool.call("gpu_kmeans", arguments, make_wanted(statement)).column("cluster").to_numpy()
    return np.column_stack((numbers, labels.astype(np.int64)))


def _wrong(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)
