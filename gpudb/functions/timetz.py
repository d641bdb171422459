"""time with time zone: casts, arithmetic, zones. `pg_timetz(microseconds, west)` constructs one (see
`values.timetz`).
"""

from __future__ import annotations

from gpudb.functions.datetime import get_constant_zone, render_fixed_offset
from gpudb.functions.let_binding import bind_values, make_macro_template, render_error
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import get_constant_text
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS
from gpudb.values.calendar import DAY
from gpudb.values.timetz import MAX_OFFSET, MAX_OFFSET_ERROR

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"timetz_{_name}", f"({{0}} {_symbol} {{1}})")
declare("timetz_cmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")

# ---------------------------------------------------------------------------------------------- arithmetic


def _add_interval(value: str, sign: str, span: str) -> str:
    """Adds within the day: days and months are ignored."""
    moved = f"(pg_timetz_us({{0}}) {sign} pg_interval_us({{1}}) % {DAY} + {DAY}) % {DAY}"
    return bind_values(lambda k, s: f"pg_timetz({moved.format(k, s)}, pg_timetz_west({k}))", value, span)


declare("timetz_pl_interval", lambda o: _add_interval(o.sql[0], "+", o.sql[1]))
declare("timetz_mi_interval", lambda o: _add_interval(o.sql[0], "-", o.sql[1]))
declare("interval_pl_timetz", lambda o: _add_interval(o.sql[1], "+", o.sql[0]))
declare("datetimetz_pl timestamptz(date,timetz)", make_macro_template("pg_moment_at"))
declare("timetzdate_pl", lambda o: bind_values(lambda k, d: f"pg_moment_at({d}, {k})", *o.sql))

# ---------------------------------------------------------------------------------------------- zones


def _convert_zone(value: str, east: str) -> str:
    """Converts to another zone's clock; 0A000 for an offset that a value cannot represent."""

    def moved(k: str, z: str) -> str:
        converted = f"pg_timetz((pg_timetz_utc({k}) + {z} * 1000000 + 2 * {DAY}) % {DAY}, -{z})"
        error = render_error("0A000", f"'{MAX_OFFSET_ERROR}'", "BIGINT")
        return f"CASE WHEN abs({z}) >= {MAX_OFFSET} THEN {error} ELSE {converted} END"

    return bind_values(moved, value, f"CAST({east} AS BIGINT)")


def _convert_to_named_zone(operands: Operands) -> str:
    """Uses a zone's current offset."""
    text = get_constant_text(operands, 0)
    if text is not None:
        get_constant_zone(text)  # an unknown zone is an error at once
    # The text is kept and runs again at another time.
    return _convert_zone(operands.sql[1], f"pg_zone_utc({operands.sql[0]}, epoch_us(now()))")


declare("timezone(text,timetz)", _convert_to_named_zone)
declare(
    "timezone(interval,timetz)",
    lambda o: _convert_zone(o.sql[1], f"pg_interval_us({render_fixed_offset(o)}) // 1000000"),
)

# ---------------------------------------------------------------------------------------------- casts


def to_timetz(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Converts a value to a time with time zone, at the target's precision."""
    if source.name in STRINGS:
        timetz = f"pg_timetz_in({sql})"
    elif source.name in {"time", "timestamptz"}:
        timetz = bind_values(lambda v: f"pg_timetz_of_{source.name}({v})", sql)
    elif source.name == "timetz":
        timetz = sql
    else:
        return None
    if target.modifier in {-1, 6} or (source.name == "timetz" and source.modifier == target.modifier):
        return timetz
    return bind_values(
        lambda k: f"pg_timetz(pg_round_us(pg_timetz_us({k}), {target.modifier}), pg_timetz_west({k}))", timetz
    )
