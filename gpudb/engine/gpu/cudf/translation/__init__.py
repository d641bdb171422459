"""From Polars' lazy frames to cudf-polars' nodes, with what stages need and cudf-polars lacks (see `dialect`).

May import `algorithms`, `columns` and `memory` of `cudf`.
"""

from __future__ import annotations
