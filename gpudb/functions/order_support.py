"""The comparison functions of PostgreSQL's B-tree operator classes: -1, 0 or 1 for two values of an order.

Of texts PostgreSQL returns any number of that sign: what memcmp returns.
"""

from __future__ import annotations

from gpudb.functions.equality import render_sort_key
from gpudb.functions.let_binding import bind_values
from gpudb.functions.registry import Operands, declare

_NAMES = (
    "btint2cmp btint4cmp btint8cmp btint24cmp btint28cmp btint42cmp btint48cmp btint82cmp btint84cmp btfloat4cmp"
    " btfloat8cmp btfloat48cmp btfloat84cmp btoidcmp bttextcmp date_cmp timestamp_cmp timestamptz_cmp"
    " date_cmp_timestamp date_cmp_timestamptz timestamp_cmp_date timestamp_cmp_timestamptz timestamptz_cmp_date"
    " timestamptz_cmp_timestamp interval_cmp time_cmp numeric_cmp"
)


def _render(operands: Operands) -> str:
    keys = (render_sort_key(sql, item) for sql, item in zip(operands.sql, operands.types, strict=True))
    return bind_values(
        lambda one, other: (
            f"(CASE WHEN {one} < {other} THEN -1 WHEN {one} > {other} THEN 1 WHEN {one} = {other} THEN 0 END)::INTEGER"
        ),
        *keys,
    )


declare(_NAMES, _render)
