"""Stages on a GPU: frames computed by cudf-polars in GPU memory, tables read from Parquet into GPU memory.

The only package of the engine that imports RAPIDS; a worker imports it once it is assigned a GPU.
"""

from __future__ import annotations

import os

# CuPy reads it when it is imported. Its own reductions compile in a tenth of a second each, those with CUB's headers
# in five.
os.environ.setdefault("CUPY_ACCELERATORS", "")
