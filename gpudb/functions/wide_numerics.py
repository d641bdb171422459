"""Functions, operators and aggregates of wide numerics: NaN, infinities, and more than 38 digits.

They are computed by `duckdb/udf/wide_numerics.py`. A call takes this form if an argument is wide, or if the statement
computes its numerics so because 128 bits have no room for a value (see `carried`).
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.registry import Operands, declare_wide
from gpudb.functions.wide_casts import to_wide_key, to_wide_struct


def _wide(operands: Operands, place: int) -> str:
    return to_wide_struct(operands.sql[place], operands.scales[place], operands.types[place])


def _call(name: str, *numerics: int) -> Callable[[Operands], str]:
    """Renders a call of a function whose operands at some places, by default all, are numerics."""

    def render(operands: Operands) -> str:
        chosen = numerics or range(len(operands.sql))
        args = (_wide(operands, n) if n in chosen else sql for n, sql in enumerate(operands.sql))
        return f"pg_wide_{name}({', '.join(args)})"

    return render


def _with_places(name: str, places: str) -> Callable[[Operands], str]:
    return lambda o: f"pg_wide_{name}({_wide(o, 0)}, {places})"


for _names, _name in (
    ("numeric_add", "add"), ("numeric_sub", "sub"), ("numeric_mul", "mul"), ("numeric_div", "quotient"),
    ("numeric_mod mod(numeric,numeric)", "mod"), ("numeric_uminus", "neg"), ("numeric_abs abs(numeric)", "abs"),
    ("sign(numeric)", "sign"), ("ceil(numeric) ceiling(numeric)", "ceil"), ("floor(numeric)", "floor"),
    ("div(numeric,numeric) numeric_div_trunc", "div"), ("sqrt(numeric) numeric_sqrt", "sqrt"),
    ("exp(numeric) numeric_exp", "exp"), ("ln(numeric) numeric_ln", "ln"), ("log(numeric) log10(numeric)", "log10"),
    ("log(numeric,numeric)", "log"), ("power(numeric,numeric) pow(numeric,numeric) numeric_power", "power"),
    ("gcd(numeric,numeric)", "gcd"), ("lcm(numeric,numeric)", "lcm"), ("trim_scale(numeric)", "trim"),
):  # fmt: skip
    declare_wide(_names, _call(_name))
declare_wide("numeric_uplus", lambda o: _wide(o, 0))
declare_wide("numeric_inc", lambda o: f"pg_wide_add({_wide(o, 0)}, pg_wide_of_decimal('1', 0))")
declare_wide("round(numeric)", _with_places("round", "0"))
declare_wide("trunc(numeric)", _with_places("trunc", "0"))
declare_wide("round(numeric,int4)", _call("round", 0))
declare_wide("trunc(numeric,int4)", _call("trunc", 0))
declare_wide("scale(numeric)", _call("scale"))
declare_wide("min_scale(numeric)", _call("min_scale"))
declare_wide("width_bucket(numeric,numeric,numeric,int4)", _call("bucket", 0, 1, 2))
declare_wide(
    "generate_series(numeric,numeric) generate_series(numeric,numeric,numeric)",
    lambda o: f"pg_wide_series({', '.join(_wide(o, n) for n in range(len(o.sql)))})",
)
declare_wide("factorial", lambda o: f"pg_wide_factorial({o.sql[0]})")


def _make_comparison(symbol: str) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        left, right = (to_wide_key(*each) for each in zip(operands.sql, operands.scales, operands.types, strict=True))
        return f"({left} {symbol} {right})"

    return render


for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare_wide(f"numeric_{_name}", _make_comparison(_symbol))


def _aggregate(name: str) -> Callable[[Operands], str]:
    """Renders an aggregate as a function of the list of all values."""
    return lambda o: f"pg_wide_{name}({o.call('list', _wide(o, 0))})"


declare_wide("sum(numeric) sum(int8)", _aggregate("sum"))
declare_wide("avg(int2) avg(int4) avg(int8) avg(numeric)", _aggregate("avg"))
for _names, _name in (
    ("var_pop", "var_pop"), ("var_samp variance", "var_samp"), ("stddev_pop", "stddev_pop"),
    ("stddev_samp stddev", "stddev_samp"),
):  # fmt: skip
    declare_wide(
        " ".join(f"{each}({item})" for each in _names.split() for item in ("int2", "int4", "int8", "numeric")),
        _aggregate(_name),
    )
