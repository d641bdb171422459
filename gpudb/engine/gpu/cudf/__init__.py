"""Stages on a GPU: frames computed by cudf-polars in GPU memory, tables read from Parquet into GPU memory.

The only package of the engine that imports RAPIDS; a worker imports it once it is assigned a GPU. `backend` evaluates
frames; `resident_columns`, `kernel_results` and `contiguous` bring tables, kernels' results and others' rows to it.
"""

from __future__ import annotations
