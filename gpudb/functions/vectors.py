"""Vectors (pgvector's type `vector`), represented as lists of FLOAT: distances, arithmetic, aggregates.

Distances are computed in double precision by DuckDB's own functions of lists, which take whole vectors of rows; what
DuckDB lacks are functions over Arrow columns (`duckdb.udf.vectors`).
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.equality import compare_unmerged
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.registry import Operands, declare

# ---------------------------------------------------------------------------------------------- distances

_LEFT, _RIGHT = "CAST({0} AS DOUBLE[])", "CAST({1} AS DOUBLE[])"
DISTANCES = {
    "l2_distance": f"list_distance({_LEFT}, {_RIGHT})",
    "inner_product": f"list_inner_product({_LEFT}, {_RIGHT})",
    "vector_negative_inner_product": f"list_negative_inner_product({_LEFT}, {_RIGHT})",
    # NaN beside a vector of zeros, as in pgvector
    "cosine_distance": f"(1 - list_cosine_similarity({_LEFT}, {_RIGHT}))",
    "l1_distance": "pg_vector_l1({0}, {1})",
    "vector_l2_squared_distance": f"power(list_distance({_LEFT}, {_RIGHT}), 2)",
    "vector_spherical_distance": f"(acos(greatest(-1, least(1, list_inner_product({_LEFT}, {_RIGHT})))) / pi())",
}
"""Distances of two vectors."""
for _name, _template in DISTANCES.items():
    declare(_name if _name.startswith("vector_") else f"{_name}(vector,vector)", _template)


def _render_norm(operands: Operands) -> str:
    return bind_values(lambda v: f"sqrt(list_inner_product({v}, {v}))", f"CAST({operands.sql[0]} AS DOUBLE[])")


declare("vector_norm", _render_norm)
declare("vector_dims(vector)", "len({0})::INTEGER")

# ---------------------------------------------------------------------------------------------- arithmetic

for _name in ("add", "sub", "mul", "concat"):
    declare(f"vector_{_name}", f"pg_vector_{_name}({{0}}, {{1}})")
declare("l2_normalize(vector)", "pg_vector_normalize({0})")


def render_bits(vector: str) -> str:
    """Returns a bit for each number, 1 if it is above zero."""
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} IS NOT NULL THEN"
            f" array_to_string(list_transform({v}, lambda pg_e: CASE WHEN pg_e > 0 THEN '1' ELSE '0' END), '') END)"
        ),
        vector,
    )


declare("binary_quantize(vector)", lambda o: render_bits(o.sql[0]))


def render_part(name: str, *operands: str) -> str:
    """Returns `count` numbers from `start` on, as substring does; 22000 if there are none. `name` is the type's."""
    error = render_error("22000", f"'{name} must have at least 1 dimension'", "FLOAT[]")

    def body(vector: str, start: str, count: str) -> str:
        first, last = f"greatest({start}, 1)", f"least({start}::BIGINT + {count} - 1, len({vector}))"
        return (
            f"(CASE WHEN {count} < 1 OR {start} > len({vector}) OR {last} < {first} THEN {error}"
            f" ELSE {vector}[{first}:{last}] END)"
        )

    return bind_values(body, *operands)


declare("subvector(vector,int4,int4)", lambda o: render_part("vector", *o.sql))

# ---------------------------------------------------------------------------------------------- comparisons


def _compare(symbol: str) -> Callable[[Operands], str]:
    return lambda o: compare_unmerged(symbol, *o.sql)


def declare_comparisons(name: str) -> None:
    """Declares the comparisons of a type, whose values DuckDB compares as it does."""
    for each, symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        declare(f"{name}_{each}", _compare(symbol))
    declare(
        f"{name}_cmp",
        lambda o: bind_values(
            lambda a, b: f"(CASE WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 WHEN {a} = {b} THEN 0 END)::INTEGER",
            *o.sql,
        ),
    )


declare_comparisons("vector")

# ---------------------------------------------------------------------------------------------- aggregates

declare("sum(vector)", lambda o: f"pg_vector_sum({o.call('list', *o.sql)})")
declare("avg(vector)", lambda o: f"pg_vector_avg({o.call('list', *o.sql)})")
