"""Vectors (pgvector's type `vector`), represented as lists of FLOAT: casts, distances, arithmetic, aggregates.

Distances are computed in double precision by DuckDB's own functions of lists, which take whole vectors of rows; what
DuckDB lacks are functions over Arrow columns (`duckdb.udf.vectors`).
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.functions.equality import compare_unmerged
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.registry import Operands, declare
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS

_ARRAYS = frozenset({"_int4", "_float4", "_float8", "_numeric"})
"""The arrays that are cast to vectors."""

# ---------------------------------------------------------------------------------------------- distances


def _call_in_double(name: str) -> Callable[[Operands], str]:
    """Calls a function of lists with all operands in double precision."""
    return lambda o: f"{name}({', '.join(f'CAST({each} AS DOUBLE[])' for each in o.sql)})"


def _render_cosine(operands: Operands) -> str:
    """Returns the cosine distance; NaN beside a vector of zeros, as in pgvector."""
    left, right = (f"CAST({each} AS DOUBLE[])" for each in operands.sql)
    return f"(1 - list_cosine_similarity({left}, {right}))"


def _render_norm(operands: Operands) -> str:
    return bind_values(lambda v: f"sqrt(list_inner_product({v}, {v}))", f"CAST({operands.sql[0]} AS DOUBLE[])")


declare("l2_distance(vector,vector)", _call_in_double("list_distance"))
declare("inner_product(vector,vector)", _call_in_double("list_inner_product"))
declare("vector_negative_inner_product", _call_in_double("list_negative_inner_product"))
declare("cosine_distance(vector,vector)", _render_cosine)
declare("l1_distance(vector,vector)", "pg_vector_l1({0}, {1})")
declare("vector_l2_squared_distance", "power(list_distance(CAST({0} AS DOUBLE[]), CAST({1} AS DOUBLE[])), 2)")
declare(
    "vector_spherical_distance",
    "(acos(greatest(-1, least(1, list_inner_product(CAST({0} AS DOUBLE[]), CAST({1} AS DOUBLE[]))))) / pi())",
)
declare("vector_norm", _render_norm)
declare("vector_dims(vector)", "len({0})::INTEGER")

# ---------------------------------------------------------------------------------------------- arithmetic

for _name in ("add", "sub", "mul", "concat"):
    declare(f"vector_{_name}", f"pg_vector_{_name}({{0}}, {{1}})")
declare("l2_normalize(vector)", "pg_vector_normalize({0})")
declare(
    "binary_quantize(vector)",
    lambda o: bind_values(
        lambda v: (
            f"(CASE WHEN {v} IS NOT NULL THEN"
            f" array_to_string(list_transform({v}, lambda pg_e: CASE WHEN pg_e > 0 THEN '1' ELSE '0' END), '') END)"
        ),
        o.sql[0],
    ),
)


def _render_part(operands: Operands) -> str:
    """Returns `count` numbers from `start` on, as substring does; 22000 if there are none."""
    error = render_error("22000", "'vector must have at least 1 dimension'", "FLOAT[]")

    def body(vector: str, start: str, count: str) -> str:
        first, last = f"greatest({start}, 1)", f"least({start}::BIGINT + {count} - 1, len({vector}))"
        return (
            f"(CASE WHEN {count} < 1 OR {start} > len({vector}) OR {last} < {first} THEN {error}"
            f" ELSE {vector}[{first}:{last}] END)"
        )

    return bind_values(body, *operands.sql)


declare("subvector(vector,int4,int4)", _render_part)

# ---------------------------------------------------------------------------------------------- comparisons


def _compare(symbol: str) -> Callable[[Operands], str]:
    return lambda o: compare_unmerged(symbol, *o.sql)


for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"vector_{_name}", _compare(_symbol))
declare(
    "vector_cmp",
    lambda o: bind_values(
        lambda a, b: f"(CASE WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 WHEN {a} = {b} THEN 0 END)::INTEGER", *o.sql
    ),
)

# ---------------------------------------------------------------------------------------------- aggregates

declare("sum(vector)", lambda o: f"pg_vector_sum({o.call('list', *o.sql)})")
declare("avg(vector)", lambda o: f"pg_vector_avg({o.call('list', *o.sql)})")

# ---------------------------------------------------------------------------------------------- casts


def convert_vector(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Converts a value to or from a vector; None for other types, and for pairs of types without such a cast.

    22000 for another number of dimensions than the target's.
    """
    if source.name == "vector" and target.name == "_float4":
        return sql
    if target.name != "vector":
        return None
    if source.name == "vector":
        return _fit(sql, target) if target.modifier not in (-1, source.modifier) else sql
    if source.name in STRINGS:
        return f"pg_vector_in({sql}, {target.modifier})"
    if source.name in _ARRAYS:
        if source.dims > 1:
            raise SqlError.of("data_exception", "array must be 1-D")
        made = _from_array(sql, source)
        return made if target.modifier == -1 else _fit(made, target)
    return None


def _from_array(sql: str, source: SqlType) -> str:
    """Converts an array, of which numerics may carry their display scales."""
    if source.name == "_float4":
        return f"pg_vector_from_float4({sql})"
    if source.element is not None and source.element.is_carried:
        sql = f"list_transform({sql}, lambda pg_e: pg_e.v)"
    return f"pg_vector_from_float8(CAST({sql} AS DOUBLE[]))"


def _fit(sql: str, target: SqlType) -> str:
    message = f"'expected {target.modifier} dimensions, not ' || len({{0}})"
    return bind_values(
        lambda v: (
            f"(CASE WHEN len({v}) <> {target.modifier} THEN {render_error('22000', message.format(v), 'FLOAT[]')}"
            f" ELSE {v} END)"
        ),
        sql,
    )
