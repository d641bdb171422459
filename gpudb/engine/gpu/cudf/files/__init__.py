"""Files that are read into GPU memory: Parquet by libcudf, Arrow and csv by KvikIO and kernels of our own.

May import `columns` and `memory` of `cudf`.
"""

from __future__ import annotations
