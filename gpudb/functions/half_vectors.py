"""Vectors of half precision (pgvector's type `halfvec`), represented as BLOB: distances, arithmetic, aggregates.

The bytes compare as the vectors do (`values.half_vectors`). Distances are those of vectors (`functions.vectors`), to
which both operands are converted.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import bind_computed, bind_values, render_error
from gpudb.functions.registry import Operands, declare
from gpudb.functions.vectors import DISTANCES, declare_comparisons, render_bits, render_part
from gpudb.types import SqlType

# ---------------------------------------------------------------------------------------------- distances


def _measure(template: str) -> Callable[[Operands], str]:
    """Returns a distance of vectors as one of vectors of half precision; 22000 for different dimensions."""

    def render(operands: Operands) -> str:
        known = [_count(kind, value) for kind, value in zip(operands.types, operands.constants, strict=True)]

        def body(left: str, right: str) -> str:
            found = template.format(f"pg_halfvec_to_vector({left})", f"pg_halfvec_to_vector({right})")
            if known[0] is not None and known[0] == known[1]:
                return found
            counts = [f"(octet_length({each}) // 2)" for each in (left, right)]
            message = f"'different halfvec dimensions ' || {counts[0]} || ' and ' || {counts[1]}"
            error = render_error("22000", message, "DOUBLE")
            return f"(CASE WHEN {counts[0]} <> {counts[1]} THEN {error} ELSE {found} END)"

        return bind_computed(body, *operands.sql)

    return render


def _count(kind: SqlType, value: object) -> int | None:
    """Returns the dimensions of an operand; None if they are unknown."""
    return len(value) // 2 if isinstance(value, bytes) else kind.length


for _name, _template in DISTANCES.items():
    _own = _name.replace("vector_", "halfvec_")
    declare(_own if _own != _name else f"{_name}(halfvec,halfvec)", _measure(_template))
declare("vector_dims(halfvec)", "(octet_length({0}) // 2)::INTEGER")
declare(
    "l2_norm(halfvec)",
    lambda o: bind_values(
        lambda v: f"sqrt(list_inner_product({v}, {v}))", f"CAST(pg_halfvec_to_vector({o.sql[0]}) AS DOUBLE[])"
    ),
)

# ---------------------------------------------------------------------------------------------- arithmetic

for _name in ("add", "sub", "mul", "concat"):
    declare(f"halfvec_{_name}", f"pg_halfvec_{_name}({{0}}, {{1}})")
declare("l2_normalize(halfvec)", "pg_halfvec_normalize({0})")
declare("binary_quantize(halfvec)", lambda o: render_bits(f"pg_halfvec_to_vector({o.sql[0]})"))


def _render_part(operands: Operands) -> str:
    vector, start, count = operands.sql
    return f"pg_halfvec_from_float4({render_part('halfvec', f'pg_halfvec_to_vector({vector})', start, count)})"


declare("subvector(halfvec,int4,int4)", _render_part)

# ---------------------------------------------------------------------------------------------- comparisons, aggregates

declare_comparisons("halfvec")
declare("sum(halfvec)", lambda o: f"pg_halfvec_sum({o.call('list', *o.sql)})")
declare("avg(halfvec)", lambda o: f"pg_halfvec_avg({o.call('list', *o.sql)})")
