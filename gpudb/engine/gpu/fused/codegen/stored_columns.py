"""Emits reads of packed columns, and comparisons that do not decode them.

The constant that a column is compared with is encoded once, before the row loop; then a row's comparison takes 32 bits,
whatever the type. That holds for any base and constant, which are parameters.
"""

from __future__ import annotations

from gpudb.engine.gpu.fused.codegen.kernel_source import Code, StatementWriter, c_type
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Field, Literal

_COMMUTED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Inequalities with their sides exchanged. (Kernels are generated without `gpudb.functions`, which needs PyArrow.)"""


def read_column(out: StatementWriter, column: int, kind: str) -> Code:
    """Emits the value of a row's column in a C++ type."""
    encoding, raw = out.encodings[column], f"f{column}[v]"
    valid = _valid(out, column)
    if encoding.is_text:
        return "0", valid
    if encoding.is_float:
        text = f"(double)__uint_as_float({raw})" if encoding.width == 4 else f"__longlong_as_double({raw})"
    elif encoding.width == 8:
        text = f"({kind}){raw}"
    elif kind == "int":
        text = f"(int)((u32)base{column} + {encoding.unit}u * {raw})"
    else:
        text = f"base{column} + {encoding.unit}LL * (i64){raw}"
    return out.variable(kind, text), valid


def read_text(out: StatementWriter, column: int) -> tuple[str, str]:
    """Emits the start and the length of the row's text."""
    begin = out.variable("u32", f"v ? f{column}[v ? v - 1 : 0] : before{column}")
    return f"at{column} + {begin}", f"f{column}[v] - {begin}"


def _valid(out: StatementWriter, column: int) -> str | None:
    return f"(n{column} >> v & 1u)" if out.encodings[column].nullable else None


def compare_packed(out: StatementWriter, op: str, left: Expr, right: Expr) -> Code | None:
    """Emits an inequality of a packed column and a constant; None for other comparisons."""
    if op not in _COMMUTED:
        return None
    if isinstance(left, Literal):
        left, op, right = right, _COMMUTED[op], left
    if not isinstance(left, Field) or not isinstance(right, Literal) or not isinstance(right.value, int):
        return None
    column, encoding = left.column, out.encodings[left.column]
    if encoding.is_float or encoding.width == 8 or c_type(right.bounds) not in {"int", "i64"}:
        return None
    limit = out.parameter(right.value, "i64") if right.is_parameter else f"{right.value}LL"
    beyond = "true" if op in {">", "<="} else "false"
    first = out.precompute("u32", f"stored_from({limit}, base{column}, {encoding.unit}ull, {beyond})")
    return out.variable("bool", f"f{column}[v] {'>=' if op in {'>', '>='} else '<'} {first}"), _valid(out, column)


def packed_distance(out: StatementWriter, expr: Expr, low: str) -> Code | None:
    """Emits the distance of a packed 32-bit column from a low, modulo 2³²; None for other expressions."""
    if not isinstance(expr, Field):
        return None
    encoding = out.encodings[expr.column]
    if encoding.is_float or encoding.width == 8:
        return None
    offset = out.precompute("u32", f"(u32)base{expr.column} - {low}")
    return f"({encoding.unit}u * f{expr.column}[v] + {offset})", _valid(out, expr.column)
