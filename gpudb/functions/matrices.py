"""Matrices: constructors, linear algebra, aggregates and casts, computed by `gpudb.duckdb.udf.matrices`."""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.casts import cast
from gpudb.functions.let_binding import bind_values
from gpudb.functions.operands import pack
from gpudb.functions.records import pack_record
from gpudb.functions.registry import STATEMENT, Operands, declare
from gpudb.types import FLOAT8, INT8, SqlType
from gpudb.types.facts import FLOATS, INTEGERS

# ---- rows and columns of a query


def _gather_rows(operands: Operands) -> str:
    kind = operands.types[0].duckdb if operands.types[0].name != "int2" else "INTEGER"
    members = ", ".join(f"c{place} := CAST({value} AS {kind})" for place, value in enumerate(operands.sql))
    return f"pg_matrix_of_rows({operands.call('list', f'struct_pack({members})')})"


declare("array_matrix", _gather_rows)
for _name in ("rbind", "cbind"):
    declare(f"{_name}(matrix)", lambda o, name=_name: f"pg_matrix_{name}_all({o.call('list', o.sql[0])})")
    declare(f"{_name}(matrix,matrix)", f"pg_matrix_{_name}({{0}}, {{1}})")
    _axis = int(_name == "cbind")
    declare(f"{_name}(float8,matrix)", f"pg_matrix_bind_number({{1}}, {{0}}, {_axis}, true)")
    declare(f"{_name}(matrix,float8)", f"pg_matrix_bind_number({{0}}, {{1}}, {_axis}, false)")


def _gather_triples(operands: Operands) -> str:
    kinds = ["INTEGER", "INTEGER", operands.types[2].duckdb, "INTEGER", "INTEGER"][: len(operands.sql)]
    members = zip(kinds, operands.sql, strict=True)
    fields = ", ".join(f"c{place} := CAST({value} AS {kind})" for place, (kind, value) in enumerate(members))
    return f"pg_matrix_of_triples({operands.call('list', f'struct_pack({fields})')})"


declare("matrix_from_triples", _gather_triples)
declare("matrix_triples", "pg_matrix_triples({0})")
declare("matrix_sparse", "pg_matrix_sparse({0})")
declare("matrix_dense", "pg_matrix_dense({0})")
declare("matrix_is_sparse", "pg_matrix_is_sparse({0})")
declare("matrix_nonzero", "pg_matrix_nonzero({0})")
declare("matrix_sum", lambda o: f"pg_matrix_sum_all({o.call('list', o.sql[0])})")


def _unnest(operands: Operands) -> str:
    """Returns the rows of a matrix as records of the columns of a column definition list."""
    item = operands.result
    if not item.fields:
        raise FeatureNotSupported("matrix_unnest is supported in FROM, with a column definition list")
    for name, field in item.fields:
        if field.name not in INTEGERS | FLOATS | {"numeric"}:
            raise SqlError.of("datatype_mismatch", f'column "{name}" of matrix_unnest is of type {field}, not a number')
    width = len(item.fields)

    def read(matrix: str, source: SqlType) -> str:
        values = [
            pack(*cast(f"pg_r[{place}]", "0", source, field, False), field)
            for place, (_, field) in enumerate(item.fields, 1)
        ]
        return (
            f"list_transform(pg_matrix_to_{source.name}(pg_matrix_of_width({matrix}, {width})),"
            f" lambda pg_r: {pack_record(values, item)})"
        )

    def body(matrix: str) -> str:
        kinds = {"integer" if field.name in INTEGERS else field.name for _, field in item.fields}
        if kinds == {"integer"} or kinds <= FLOATS:
            return read(matrix, INT8 if kinds == {"integer"} else FLOAT8)
        is_integer = f"pg_matrix_type({matrix}) IN ('int4', 'int8')"  # double precision has too few digits for these
        return f"(CASE WHEN {is_integer} THEN {read(matrix, INT8)} ELSE {read(matrix, FLOAT8)} END)"

    return bind_values(body, operands.sql[0])


declare("matrix_unnest", _unnest)
declare("matrix_rows", "pg_matrix_to_float8({0})")

declare("matrix_chunks", "pg_matrix_chunks({0}, {1})")

# ---- clusters

_DEFAULTS = "10", "1"
"""PG-Strom's most steps, and the seed."""
for _count in range(3):
    _numbers = ", ".join(["{1}", *(f"{{{place}}}" for place in range(2, 2 + _count)), *_DEFAULTS[_count:]])
    _types = ",".join(["matrix", *["int4"] * (_count + 1)])
    declare(f"gpu_kmeans({_types})", f"pg_matrix_kmeans({{0}}, {_numbers}, {STATEMENT})")

# ---- shape and elements

declare("matrix_nrows array_matrix_height", "pg_matrix_nrows({0})")
declare("matrix_ncols array_matrix_width", "pg_matrix_ncols({0})")
declare("matrix_type", "pg_matrix_type({0})")
declare("matrix_as", "pg_matrix_as({0}, {1})")
declare("transpose", "pg_matrix_transpose({0})")
declare("matrix_element", "pg_matrix_element({0}, {1}, {2})")
declare("matrix_slice", "pg_matrix_slice({0}, {1}, {2}, {3}, {4})")
declare("matrix_row", "pg_matrix_row({0}, {1})")
declare("matrix_column", "pg_matrix_column({0}, {1})")
declare("matrix_identity(int4)", "pg_matrix_identity({0}, 'float8')")
declare("matrix_identity(int4,text)", "pg_matrix_identity({0}, {1})")
declare("matrix_zeros(int4,int4)", "pg_matrix_filled({0}, {1}, 0, 'float8')")
declare("matrix_zeros(int4,int4,text)", "pg_matrix_filled({0}, {1}, 0, {2})")
declare("matrix_fill", "pg_matrix_filled({0}, {1}, {2}, 'float8')")

# ---- linear algebra

declare("matrix_eq", "pg_matrix_eq({0}, {1})")
declare("matrix_ne", "(NOT pg_matrix_eq({0}, {1}))")
declare("matrix_add", "pg_matrix_add({0}, {1})")
declare("matrix_sub", "pg_matrix_sub({0}, {1})")
declare("matrix_hadamard", "pg_matrix_hadamard({0}, {1})")
declare("matrix_scale(matrix,float8)", "pg_matrix_scale({0}, {1})")
declare("matrix_scale(float8,matrix)", "pg_matrix_scale({1}, {0})")
declare("matrix_negate", "pg_matrix_negate({0})")
declare("matrix_mul", f"pg_matrix_mul({{0}}, {{1}}, {STATEMENT})")
declare("matrix_solve", f"pg_matrix_solve({{0}}, {{1}}, {STATEMENT})")
declare("matrix_inverse", f"pg_matrix_inverse({{0}}, {STATEMENT})")
declare("matrix_det", f"pg_matrix_det({{0}}, {STATEMENT})")
declare("matrix_trace", "pg_matrix_trace({0})")
declare("matrix_norm(matrix)", f"pg_matrix_norm({{0}}, 'fro', {STATEMENT})")
declare("matrix_norm(matrix,text)", f"pg_matrix_norm({{0}}, {{1}}, {STATEMENT})")
for _name in ("row_sums", "row_means", "column_sums", "column_means"):
    declare(f"matrix_{_name}", f"pg_matrix_{_name}({{0}})")
