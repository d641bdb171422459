"""Sparse vectors (pgvector's type `sparsevec`), represented as BLOB, computed by `gpudb.duckdb.udf.sparse_vectors`.

The bytes compare as the vectors do (`values.sparse_vectors`).
"""

from __future__ import annotations

from gpudb.functions.registry import declare
from gpudb.functions.vectors import declare_comparisons

declare("l2_distance(sparsevec,sparsevec)", "sqrt(pg_sparsevec_l2_squared({0}, {1}))")
declare("sparsevec_l2_squared_distance", "pg_sparsevec_l2_squared({0}, {1})")
declare("inner_product(sparsevec,sparsevec)", "pg_sparsevec_inner({0}, {1})")
declare("sparsevec_negative_inner_product", "(-pg_sparsevec_inner({0}, {1}))")
declare("cosine_distance(sparsevec,sparsevec)", "pg_sparsevec_cosine({0}, {1})")
declare("l1_distance(sparsevec,sparsevec)", "pg_sparsevec_l1({0}, {1})")
declare("l2_norm(sparsevec)", "pg_sparsevec_norm({0})")
declare("l2_normalize(sparsevec)", "pg_sparsevec_normalize({0})")
declare_comparisons("sparsevec")
