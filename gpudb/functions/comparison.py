"""Comparison operators. DuckDB orders NaN, text (by bytes) and timestamps as PostgreSQL does under collation C."""

from __future__ import annotations

from gpudb.functions.equality import compared, unmerged
from gpudb.functions.registry import Operands, Template, declare

_SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FAMILIES = (
    "bool int2 int4 int8 int24 int42 int28 int82 int48 int84 float4 float8 float48 float84 bpchar bytea"
    " uuid_ oid char name date_ time_ timestamp_ timestamptz_ interval_"
    " oidvector range_"
)


def _plain(symbol: str) -> str:
    return f"({{0}} {symbol} {{1}})"


def _rows(symbol: str) -> Template:
    ordering = symbol not in {"=", "<>"}

    def render(operands: Operands) -> str:
        (left, right), (one, other) = operands.sql, operands.types
        return unmerged(symbol, *compared(left, right, one, other, ordering=ordering))

    return render


for _name, _symbol in _SYMBOLS.items():
    for _family in _FAMILIES.split():
        declare(_family + _name, _plain(_symbol))
    declare("numeric_" + _name, _plain(_symbol))
    declare(f"record_{_name} multirange_{_name}", _rows(_symbol))
    for _pair in ("date", "timestamp"):
        declare(f"{_pair}_{_name}_timestamptz timestamptz_{_name}_{_pair}", _plain(_symbol))
    declare(f"date_{_name}_timestamp timestamp_{_name}_date", _plain(_symbol))
    declare(f"text{_name}name name{_name}text", _plain(_symbol))
declare("texteq", "({0} = {1})")
declare("textne", "({0} <> {1})")
declare("text_lt", "({0} < {1})")
declare("text_le", "({0} <= {1})")
declare("text_gt", "({0} > {1})")
declare("text_ge", "({0} >= {1})")
declare("xideq xideqint4 cideq tideq", "({0} = {1})")
declare("xidneq xidneqint4 tidne", "({0} <> {1})")
