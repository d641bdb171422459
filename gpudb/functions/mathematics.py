"""Mathematical functions of integers and floats (PostgreSQL's manual, 9.3); `numeric_functions` has numeric's."""

from __future__ import annotations

from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.operands import unpack
from gpudb.functions.registry import Operands, declare

_OVER = render_error("22003", "'value out of range: overflow'", "DOUBLE")
_UNDER = render_error("22003", "'value out of range: underflow'", "DOUBLE")
_RANGE = render_error("22003", "'input is out of range'", "DOUBLE")

# ---------------------------------------------------------------------------------------------- rounding, signs

declare("round(float8) dround", "round_even({0}, 0)")
declare("trunc(float8) dtrunc", "trunc({0})")
declare("ceil(float8) ceiling(float8)", "ceil({0})")
declare("floor(float8)", "floor({0})")
declare("sign(float8)", "CAST(sign({0}) AS DOUBLE)")
declare("abs(float4) abs(float8)", "abs({0})")
declare("abs(int2) abs(int4) abs(int8)", "abs({0})::{t}")

# ---------------------------------------------------------------------------------------------- powers, logarithms


def _make_guarded(condition: str, error: str, result: str) -> object:
    """Returns a function of one float that raises an error outside its domain."""

    def render(operands: Operands) -> str:
        return bind_values(
            lambda v: f"(CASE WHEN {condition.format(v)} THEN {error} ELSE {result.format(v)} END)", operands.sql[0]
        )

    return render


def _declare_with_domain(names: str, condition: str, error: str, result: str) -> None:
    declare(names, _make_guarded(condition, error, result))  # type: ignore[arg-type]


_NEGATIVE_ROOT = render_error("2201F", "'cannot take square root of a negative number'", "DOUBLE")
_declare_with_domain("sqrt(float8) dsqrt", "{0} < 0", _NEGATIVE_ROOT, "sqrt({0})")


def _make_logarithm(result: str) -> object:
    zero = render_error("2201E", "'cannot take logarithm of zero'", "DOUBLE")
    negative = render_error("2201E", "'cannot take logarithm of a negative number'", "DOUBLE")

    def render(operands: Operands) -> str:
        return bind_values(
            lambda v: f"(CASE WHEN {v} = 0 THEN {zero} WHEN {v} < 0 THEN {negative} ELSE {result.format(v)} END)",
            operands.sql[0],
        )

    return render


declare("ln(float8) dlog1", _make_logarithm("ln({0})"))  # type: ignore[arg-type]
declare("log(float8) log10(float8) dlog10", _make_logarithm("log10({0})"))  # type: ignore[arg-type]


def _render_exp(operands: Operands) -> str:
    return bind_values(
        lambda v: (
            f"(CASE WHEN isinf(exp({v})) AND isfinite({v}) THEN {_OVER}"
            f" WHEN exp({v}) = 0 AND isfinite({v}) THEN {_UNDER} ELSE exp({v}) END)"
        ),
        operands.sql[0],
    )


declare("exp(float8) dexp", _render_exp)


def _render_power(operands: Operands) -> str:
    undefined = render_error("2201F", "'zero raised to a negative power is undefined'", "DOUBLE")
    message = "'a negative number raised to a non-integer power yields a complex result'"
    return bind_values(
        lambda x, y: (
            f"(CASE WHEN {x} = 0 AND {y} < 0 THEN {undefined}"
            f" WHEN {x} < 0 AND isfinite({y}) AND {y} <> trunc({y})"
            f" THEN {render_error('2201F', message, 'DOUBLE')}"
            f" WHEN isinf(pow({x}, {y})) AND isfinite({x}) AND isfinite({y}) THEN {_OVER}"
            f" WHEN pow({x}, {y}) = 0 AND {x} <> 0 AND isfinite({x}) AND isfinite({y}) THEN {_UNDER}"
            f" ELSE pow({x}, {y}) END)"
        ),
        *operands.sql,
    )


declare("power(float8,float8) pow(float8,float8) dpow", _render_power)
# one step of Newton's method, so that cubes have integral roots
declare(
    "cbrt dcbrt",
    lambda o: bind_values(
        lambda v: (
            f"(CASE WHEN {v} = 0 OR NOT isfinite({v}) OR isnan({v}) THEN {v} WHEN abs({v}) > 1e300 THEN cbrt({v})"
            f" ELSE cbrt({v}) - (cbrt({v}) * cbrt({v}) * cbrt({v}) - {v}) / (3 * cbrt({v}) * cbrt({v})) END)"
        ),
        o.sql[0],
    ),
)

# ---------------------------------------------------------------------------------------------- trigonometry

declare("pi", "pi()")
_RADIANS_PER_DEGREE = "0.0174532925199432957692::DOUBLE"
_declare_with_domain(
    "degrees",
    f"isinf({{0}} / {_RADIANS_PER_DEGREE}) AND isfinite({{0}})",
    _OVER,
    f"({{0}} / {_RADIANS_PER_DEGREE})",
)
_declare_with_domain(
    "radians",
    f"{{0}} * {_RADIANS_PER_DEGREE} = 0 AND {{0}} <> 0",
    _UNDER,
    f"({{0}} * {_RADIANS_PER_DEGREE})",
)
for _name in ("sin", "cos", "tan"):
    _declare_with_domain(_name, "isinf({0})", _RANGE, _name + "({0})")
_declare_with_domain(
    "cot", "isinf({0})", _RANGE, "(CASE WHEN {0} = 0 THEN 'Infinity'::DOUBLE / sign(1 / {0}) ELSE 1 / tan({0}) END)"
)
for _name in ("asin", "acos"):
    _declare_with_domain(_name, "abs({0}) > 1 AND NOT isnan({0})", _RANGE, _name + "({0})")
declare("atan", "atan({0})")
declare("atan2", "atan2({0}, {1})")
for _name in ("sind", "cosd", "tand", "cotd", "asind", "acosd", "atand"):
    declare(_name, f"pg_{_name}({{0}})")
declare("atan2d", "pg_atan2d({0}, {1})")
declare("sinh", "sinh({0})")
declare("cosh", "cosh({0})")
declare("tanh", "tanh({0})")
declare("asinh", "asinh({0})")
_declare_with_domain("acosh", "{0} < 1", _RANGE, "acosh({0})")
_declare_with_domain("atanh", "abs({0}) > 1 AND NOT isnan({0})", _RANGE, "atanh({0})")
declare("erf", "pg_erf({0})")
declare("erfc", "pg_erfc({0})")

# ---------------------------------------------------------------------------------------------- integers

declare("gcd(int4,int4) gcd(int8,int8)", "CAST(gcd({0}::BIGINT, {1}::BIGINT) AS {t})")
declare("lcm(int4,int4) lcm(int8,int8)", "CAST(lcm({0}::BIGINT, {1}::BIGINT) AS {t})")
declare("bit_count(bytea)", "pg_bit_count({0})")


def _render_bucket(operands: Operands) -> str:
    return f"pg_width_bucket({', '.join(operands.sql)})"


declare("width_bucket(float8,float8,float8,int4)", _render_bucket)


def _render_array_bucket(operands: Operands) -> str:
    """Returns how many bounds of a sorted array do not exceed the operand."""
    element = operands.types[1].element
    assert element is not None
    bound = unpack("pg_b", element)[0]
    unknown = render_error("22004", "'thresholds array must not contain NULLs'", "INTEGER")
    return bind_values(
        lambda x, bounds: (
            f"(CASE WHEN {x} IS NULL OR {bounds} IS NULL THEN NULL"
            f" WHEN len(list_filter({bounds}, lambda pg_b: {bound} IS NULL)) > 0 THEN {unknown}"
            f" ELSE CAST(len(list_filter({bounds}, lambda pg_b: {bound} <= {x})) AS INTEGER) END)"
        ),
        *operands.sql,
    )


declare("width_bucket(anycompatible,anycompatiblearray)", _render_array_bucket)

# ---------------------------------------------------------------------------------------------- random numbers

declare("random", "random()")


def _render_seed(operands: Operands) -> str:
    """Seeds DuckDB's generator with a number between -1 and 1."""
    error = render_error(
        "22023", "'setseed parameter ' || pg_float8_text({0}) || ' is out of allowed range [-1,1]'", "VARCHAR"
    )
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} < -1 OR {v} > 1 OR isnan({v}) THEN {error.format(v)}"
            f" WHEN {v} IS NOT NULL THEN coalesce(CAST(setseed({v}) AS VARCHAR), '') END)"
        ),
        operands.sql[0],
    )


declare("setseed", _render_seed)


def _render_normal(operands: Operands) -> str:
    """Returns normal deviates by the Box-Muller method."""
    mean, deviation = (*operands.sql, *["0.0", "1.0"][len(operands.sql) :])
    return f"({mean}::DOUBLE + {deviation}::DOUBLE * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))"


declare("random_normal", _render_normal)
