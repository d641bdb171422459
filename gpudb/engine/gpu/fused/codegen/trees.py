"""CUDA C++ of scores by ensembles of trees: the expression of a row, and a kernel over columns."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.analytics.trees.ensemble import TABLES, TreeShape
from gpudb.engine.gpu.fused.codegen.building_blocks import TREES_HEADER

BLOCK_THREADS = 256


def item_type(shape: TreeShape) -> str:
    """Returns the C++ type of features and sums."""
    return "float" if shape.single else "double"


def render_score(shape: TreeShape, tables: Sequence[str], features: str, *, label: bool) -> str:
    """Returns the expression of a score of an array of features, or of the number of its class, where `label`."""
    item = item_type(shape)
    flags = ", ".join(str(int(each)) for each in (shape.strict, shape.set_left, shape.sets, shape.zeros, shape.vectors))
    made = f"Trees<{item}, {flags}, {shape.classes}>{{{', '.join(tables)}}}"
    return f"{made}.{'label' if label else 'sum'}({features}, transform_{shape.transform}<{item}>)"


def render_kernel(shape: TreeShape, *, label: bool) -> str:
    """Returns the source of the kernel `score`, whose rows are in columns of float64.

    `columns` are their addresses, `known` those of their validity, a byte a row, 0 for a column without NULL.
    """
    item = item_type(shape)
    value = f"({item})(float)found" if shape.rounded else f"({item})found"
    found = "int" if label else "double"
    return f"""#include "{TREES_HEADER}"

extern "C" __global__ void __launch_bounds__({BLOCK_THREADS}) score(
    const u64* columns, const u64* known, i64 rows, const i64* nodes, const u32* roots, const u32* sets,
    const i64* values, {found}* made) {{
    const i64 threads = (i64)gridDim.x * {BLOCK_THREADS};
    for (i64 row = (i64)blockIdx.x * {BLOCK_THREADS} + threadIdx.x; row < rows; row += threads) {{
        {item} features[{shape.features}];
        for (int each = 0; each < {shape.features}; ++each) {{
            const double found = __ldg((const double*)columns[each] + row);
            const u8* const valid = (const u8*)known[each];
            features[each] = !valid || valid[row] ? {value} : ({item})NAN;
        }}
        made[row] = {render_score(shape, TABLES, "features", label=label)};
    }}
}}
"""
