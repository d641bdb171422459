"""Mathematical functions of integers and floats (PostgreSQL's manual, 9.3); `numeric_functions` has numeric's."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.functions.float_trees import Operand, Step, apply_plain, apply_step
from gpudb.functions.let_binding import bind_values, make_macro_template, render_error
from gpudb.functions.operands import unpack
from gpudb.functions.registry import Operands, declare

_OVER = render_error("22003", "'value out of range: overflow'", "DOUBLE")
_UNDER = render_error("22003", "'value out of range: underflow'", "DOUBLE")
_RANGE = render_error("22003", "'input is out of range'", "DOUBLE")

# ---------------------------------------------------------------------------------------------- rounding, signs


def _declare_plain(names: str, template: str) -> None:
    """Declares functions that have no errors, and whose result is finite where the operand is, and only there."""
    declare(names, lambda operands: apply_plain(template, operands.sql[0]))


_declare_plain("round(float8) dround", "round_even({0}, 0)")
_declare_plain("trunc(float8) dtrunc", "trunc({0})")
_declare_plain("ceil(float8) ceiling(float8)", "ceil({0})")
_declare_plain("floor(float8)", "floor({0})")
declare("sign(float8)", "CAST(sign({0}) AS DOUBLE)")
_declare_plain("abs(float4) abs(float8)", "abs({0})")
declare("abs(int2) abs(int4) abs(int8)", "abs({0})::{t}")

# ---------------------------------------------------------------------------------------------- powers, logarithms


def _declare_step(names: str, step: Step) -> None:
    declare(names, lambda operands: apply_step(step, *operands.sql))


def _declare_with_domain(names: str, condition: str, error: str, result: str, but: str = "") -> None:
    """Declares functions of one float that raise an error outside their domain; infinities in it stay infinite.

    Where the condition holds, and `but` too, the result is NaN.
    """

    def errors(_: str, v: Operand) -> list[tuple[str, str]]:
        outside = condition if not but else f"{condition} AND NOT {but}"
        return [(outside.format(v.sql), error.format(v.sql))]

    guarded = f"(CASE WHEN {condition} THEN 'NaN'::DOUBLE ELSE {result} END)"
    _declare_step(names, Step(guarded.format, errors))


def _keep_finite(_: str, *operands: Operand) -> str | None:
    """Returns the condition that operands are finite, of a function whose result may be finite all the same."""
    return " AND ".join(f"isfinite({each.sql})" for each in operands if each.is_computed) or None


_NEGATIVE_ROOT = render_error("2201F", "'cannot take square root of a negative number'", "DOUBLE")
_declare_with_domain("sqrt(float8) dsqrt", "{0} < 0", _NEGATIVE_ROOT, "sqrt({0})")


def _declare_logarithm(names: str, result: str) -> None:
    zero = render_error("2201E", "'cannot take logarithm of zero'", "DOUBLE")
    negative = render_error("2201E", "'cannot take logarithm of a negative number'", "DOUBLE")
    _declare_with_domain(names, "{0} <= 0", f"CASE WHEN {{0}} = 0 THEN {zero} ELSE {negative} END", result)


_declare_logarithm("ln(float8) dlog1", "ln({0})")
_declare_logarithm("log(float8) log10(float8) dlog10", "log10({0})")


def _list_exp_errors(result: str, v: Operand) -> list[tuple[str, str]]:
    finite = f"isfinite({v.sql})"
    return [(f"isinf({result}) AND {finite}", _OVER), (f"{result} = 0 AND {finite}", _UNDER)]


_declare_step("exp(float8) dexp", Step("exp({})".format, _list_exp_errors, lambda result, _: f"{result} <> 0"))


def _list_power_errors(result: str, base: Operand, exponent: Operand) -> Iterator[tuple[str, str]]:
    x, y, constant = base.sql, exponent.sql, exponent.constant
    if constant is None or constant < 0:
        undefined = "'zero raised to a negative power is undefined'"
        yield f"{x} = 0 AND {y} < 0", render_error("2201F", undefined, "DOUBLE")
    if constant is None or not constant.is_integer():
        message = "'a negative number raised to a non-integer power yields a complex result'"
        yield f"{x} < 0 AND isfinite({y}) AND {y} <> trunc({y})", render_error("2201F", message, "DOUBLE")
    finite = " AND ".join(f"isfinite({each.sql})" for each in (base, exponent) if each.constant is None) or "true"
    yield f"isinf({result}) AND {finite}", _OVER
    yield f"{result} = 0 AND {x} <> 0 AND {finite}", _UNDER


def _trust_power(result: str, x: Operand, y: Operand) -> str:
    known = None if y.constant else _keep_finite(result, x, y)
    return " AND ".join(filter(None, [f"({result} <> 0 OR {x.sql} = 0)", known]))


_declare_step(
    "power(float8,float8) pow(float8,float8) dpow", Step("pow({}, {})".format, _list_power_errors, _trust_power)
)
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
_declare_step(
    "degrees",
    Step(
        f"({{}} / {_RADIANS_PER_DEGREE})".format,
        lambda result, v: [(f"isinf({result}) AND isfinite({v.sql})", _OVER)],
    ),
)
_declare_step(
    "radians",
    Step(
        f"({{}} * {_RADIANS_PER_DEGREE})".format,
        lambda result, v: [(f"{result} = 0 AND {v.sql} <> 0", _UNDER)],
        lambda result, v: f"({result} <> 0 OR {v.sql} = 0)",
    ),
)


def _declare_periodic(name: str, result: str) -> None:
    """Declares a function that raises an error for infinities: their remainder is NaN, that of others themselves."""
    unchecked = result.replace("{0}", "({0} % 'Infinity'::DOUBLE)")
    _declare_step(name, Step(unchecked.format, lambda _, v: [(f"isinf({v.sql})", _RANGE)]))


for _name in ("sin", "cos", "tan"):
    _declare_periodic(_name, _name + "({0})")
_declare_with_domain(
    "cot", "isinf({0})", _RANGE, "(CASE WHEN {0} = 0 THEN 'Infinity'::DOUBLE / sign(1 / {0}) ELSE 1 / tan({0}) END)"
)
for _name in ("asin", "acos"):
    _declare_with_domain(_name, "NOT abs({0}) <= 1", _RANGE, _name + "({0})", but="isnan({0})")
_declare_step("atan", Step("atan({})".format, sure=_keep_finite))
_declare_step("atan2", Step("atan2({}, {})".format, sure=_keep_finite))
for _name in ("sind", "cosd", "tand", "cotd", "asind", "acosd", "atand"):
    declare(_name, f"pg_{_name}({{0}})")
declare("atan2d", "pg_atan2d({0}, {1})")
declare("sinh", "sinh({0})")
declare("cosh", "cosh({0})")
declare("tanh", "tanh({0})")
_declare_plain("asinh", "asinh({0})")
_declare_with_domain("acosh", "{0} < 1", _RANGE, "acosh({0})")
_declare_with_domain("atanh", "NOT abs({0}) <= 1", _RANGE, "atanh({0})", but="isnan({0})")
declare("erf", "pg_erf({0})")
declare("erfc", "pg_erfc({0})")

# ---------------------------------------------------------------------------------------------- integers

declare("gcd(int4,int4) gcd(int8,int8)", "CAST(gcd({0}::BIGINT, {1}::BIGINT) AS {t})")
declare("lcm(int4,int4) lcm(int8,int8)", "CAST(lcm({0}::BIGINT, {1}::BIGINT) AS {t})")
declare("bit_count(bytea)", "pg_bit_count({0})")


declare("width_bucket(float8,float8,float8,int4)", make_macro_template("pg_width_bucket"))


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
