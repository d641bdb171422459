"""Statistical aggregates: variances of exact numbers are exact, those of floats are DuckDB's; percentiles, mode."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.functions.aggregates import get_display_scale
from gpudb.functions.carried import carried_numeric
from gpudb.functions.equality import has_many_representations
from gpudb.functions.let_binding import render_error
from gpudb.functions.numeric import to_unscaled
from gpudb.functions.operands import pack, unpack
from gpudb.functions.registry import MISSING, Operands, declare
from gpudb.functions.resolve import to_numeric_type
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import EXACT_NUMBERS

# ---------------------------------------------------------------------------------------------- variances

_VARIANCES = {
    "var_pop": (False, False, "var_pop"),
    "var_samp": (True, False, "var_samp"),
    "variance": (True, False, "var_samp"),
    "stddev_pop": (False, True, "stddev_pop"),
    "stddev_samp": (True, True, "stddev_samp"),
    "stddev": (True, True, "stddev_samp"),
}


_SMALL, _SQUARED = 14, 19
"""Digits of values whose squares add up to less than 38 digits, and of those whose squares have 38 at most."""
_WORD = 1 << 64


def _make_variance(sample: bool, root: bool) -> Callable[[Operands], str]:
    """Renders a variance of the number of values, their sum and the sum of their squares, or of a list of all values.

    The squares of large values are added up in two parts: their low and their high words.
    """

    def render(operands: Operands) -> str:
        value, item = operands.sql[0], to_numeric_type(operands.types[0])
        decimals, flags = operands.result.numeric_digits[1], f"{str(sample).lower()}, {str(root).lower()}"
        precision, scale = item.numeric_digits
        if item.is_carried or precision > _SQUARED:
            shown = operands.call("max", get_display_scale(operands)) if item.is_carried else str(scale)
            return f"pg_variance_of_{decimals}({operands.call('list', value)}, CAST({shown} AS INTEGER), {flags})"
        digits = f"CAST({value} AS HUGEINT)" if operands.types[0].name != "numeric" else to_unscaled(value, item)
        parts = [f"{digits} * {digits}", "0"]
        if precision > _SMALL:
            parts = [f"{parts[0]} % {_WORD}::HUGEINT", f"{parts[0]} // {_WORD}::HUGEINT"]
        sums = (f"CAST({operands.call('sum', part)} AS DECIMAL({MAX_DIGITS},0))" for part in (digits, *parts))
        return f"pg_variance_{decimals}({operands.call('count', value)}, {', '.join(sums)}, {scale}, {flags})"

    return render


for _name, (_sample, _root, _duckdb) in _VARIANCES.items():
    declare(
        " ".join(f"{_name}({item})" for item in sorted(EXACT_NUMBERS)),
        _make_variance(_sample, _root),
        result=lambda types, constants: carried_numeric(),
    )
    declare(
        f"{_name}(float4) {_name}(float8)",
        lambda o, name=_duckdb: _call_float_aggregate(o, name, f"CAST({o.sql[0]} AS DOUBLE)"),
    )


def _call_float_aggregate(operands: Operands, name: str, *args: str, value: str | None = None) -> str:
    """Returns DuckDB's float aggregate over `args`; NaN if the one `value` is not finite, where DuckDB subtracts
    nothing.
    """
    return f"pg_moment({operands.call(name, *args)}, {operands.call('any_value', value or args[0])})"


# ---------------------------------------------------------------------------------------------- two variables


def _render_part(operands: Operands, name: str) -> str:
    """Returns a sum or mean over pairs, y before x."""
    y, x = operands.sql
    if name not in {"sxx", "syy"}:
        return operands.call(f"regr_{name}", y, x)
    one, other = (x, y) if name == "sxx" else (y, x)
    return _call_float_aggregate(operands, f"regr_{name}", y, x, value=f"CASE WHEN {other} IS NOT NULL THEN {one} END")


def _raise_on_overflow(operands: Operands, result: str) -> str:
    """Raises 22003 if finite values have sums, or sums of products, beyond float8; else returns `result`."""
    y, x = operands.sql

    def finite(value: str, other: str) -> str:
        beyond = operands.call("bool_or", f"(CASE WHEN {other} IS NOT NULL THEN NOT isfinite({value}) END)")
        return f"NOT {beyond}"

    def lost(*names: str) -> str:
        return " OR ".join(f"NOT isfinite({operands.call(f'regr_{name}', y, x)})" for name in names)

    conditions = (
        f"({finite(x, y)} AND ({lost('avgx', 'sxx')}))",
        f"({finite(y, x)} AND ({lost('avgy', 'syy')}))",
        f"({finite(x, y)} AND {finite(y, x)} AND {lost('sxy')})",
    )
    overflow = render_error("22003", "'value out of range: overflow'", operands.result.duckdb)
    return f"(CASE WHEN {' OR '.join(conditions)} THEN {overflow} ELSE {result} END)"


for _name in ("sxx", "sxy", "syy", "avgx", "avgy"):
    declare(f"regr_{_name}", lambda o, name=_name: _raise_on_overflow(o, _render_part(o, name)))
for _name in ("covar_pop", "covar_samp"):
    declare(_name, lambda o, name=_name: _raise_on_overflow(o, o.call(name, *o.sql)))
declare("regr_count", lambda o: f"CAST({o.call('regr_count', *o.sql)} AS BIGINT)")


def _render_parts(operands: Operands) -> dict[str, str]:
    return {name: _render_part(operands, name) for name in ("sxx", "sxy", "syy", "avgx", "avgy")}


def _make_pair_aggregate(template: str) -> Callable[[Operands], str]:
    """Returns NULL, as PostgreSQL does, where DuckDB returns NaN because x or y is constant."""
    return lambda o: _raise_on_overflow(o, template.format(**_render_parts(o)))


declare("corr", _make_pair_aggregate("({sxy} / sqrt(nullif({sxx}, 0) * nullif({syy}, 0)))"))
declare("regr_slope", _make_pair_aggregate("({sxy} / nullif({sxx}, 0))"))
declare("regr_intercept", _make_pair_aggregate("({avgy} - {avgx} * ({sxy} / nullif({sxx}, 0)))"))
declare(
    "regr_r2",
    _make_pair_aggregate(
        "(CASE WHEN {sxx} = 0 THEN NULL WHEN {syy} = 0 THEN 1 ELSE {sxy} * {sxy} / ({sxx} * {syy}) END)"
    ),
)

# ---------------------------------------------------------------------------------------------- ordered sets


def _get_fractions(operands: Operands) -> list[object]:
    value = operands.constants[0]
    return list(value) if isinstance(value, list | tuple) else [value]


def _make_percentile(name: str | None) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        for fraction in _get_fractions(operands):
            if fraction is None and operands.types[0].element is None:
                return f"CAST(NULL AS {operands.result.duckdb})"
            if isinstance(fraction, float) and not 0 <= fraction <= 1:
                message = f"percentile value {fraction:g} is not between 0 and 1"
                raise SqlError.of("numeric_value_out_of_range", message)
        if MISSING in _get_fractions(operands):
            return _render_at_fractions(operands, name != "quantile_disc")
        if operands.types[0].element is None and name is not None and not has_many_representations(operands.types[1]):
            return operands.call(name, operands.sql[1], operands.sql[0])
        return _render_at_fractions(operands, name != "quantile_disc")

    return render


def _render_at_fractions(operands: Operands, between: bool) -> str:
    """Returns values at one fraction or several of all sorted values; NULL if there are none."""
    item = operands.types[1]
    fractions, many = operands.sql[0], operands.types[0].element is not None
    values = operands.call("list", pack(operands.sql[1], operands.scales[1], item))
    present = f"list_filter({values}, lambda pg_e: {unpack('pg_e', item)[0]} IS NOT NULL)"
    # the list is an operand beside the fraction, so that it is built once
    listed = fractions if many else f"[{fractions}]"
    if MISSING in _get_fractions(operands):
        listed = f"list_transform({listed}, lambda pg_f: {_check_fraction('pg_f')})"
    rows = f"[struct_pack(f := {listed}, l := {present})]"
    at = _interpolate(item) if between else "(pg_p).l[greatest(1, CAST(ceil(pg_f * len((pg_p).l)) AS BIGINT))]"
    results = f"list_transform((pg_p).f, lambda pg_f: CASE WHEN pg_f IS NOT NULL THEN {at} END)"
    by_fraction = f"list_transform({rows}, lambda pg_p: CASE WHEN len((pg_p).l) > 0 THEN {results} END)[1]"
    return by_fraction if many else f"({by_fraction})[1]"


def _check_fraction(value: str) -> str:
    """Returns a fraction that is computed; 22003 outside 0 to 1."""
    shown = f"'percentile value ' || pg_float8_text({value}) || ' is not between 0 and 1'"
    return f"CASE WHEN NOT ({value} BETWEEN 0 AND 1) THEN {render_error('22003', shown, 'DOUBLE')} ELSE {value} END"


def _interpolate(item: SqlType) -> str:
    """Interpolates linearly between the two values around a fraction."""
    position = "pg_f * (len((pg_p).l) - 1)"
    low, high = (f"(pg_p).l[1 + CAST({edge}({position}) AS BIGINT)]" for edge in ("floor", "ceil"))
    part = f"({position} - floor({position}))"
    if item.name == "interval":
        gap = f"({high} - {low})"
        kinds = (("months", "INTEGER"), ("days", "INTEGER"), ("us", "BIGINT"))
        parts = ", ".join(f"CAST(pg_interval_{name}({gap}) AS {kind})" for name, kind in kinds)
        moved = f"{low} + pg_interval_mul({parts}, {part})"
    else:
        moved = f"{low} + ({high} - {low}) * {part}"
    return f"CASE WHEN floor({position}) = ceil({position}) THEN {low} ELSE {moved} END"


declare("percentile_cont(float8,float8) percentile_cont(_float8,float8)", _make_percentile("quantile_cont"))
declare("percentile_cont(float8,interval) percentile_cont(_float8,interval)", _make_percentile(None))
declare(
    "percentile_disc(float8,anyelement) percentile_disc(_float8,anyelement)",
    _make_percentile("quantile_disc"),
    result=lambda types, constants: types[1].array if types[0].element is not None else types[1],
)


def _render_mode_scale(operands: Operands) -> str:
    """Returns the display scale of the first of the most frequent values."""
    values = operands.call("list", f"struct_pack(v := {operands.sql[0]}, s := {operands.scales[0]})")
    return f"list_filter({values}, lambda pg_e: (pg_e).v = {operands.call('mode', operands.sql[0])})[1].s"


declare("mode", lambda o: o.call("mode", o.sql[0]), scale=_render_mode_scale, result=lambda types, constants: types[0])
