"""to_char, to_date, to_timestamp and to_number: templates (PostgreSQL's manual, 9.8)."""

from __future__ import annotations

from gpudb.functions.carried import carried_numeric
from gpudb.functions.cast_numbers import parse_digits
from gpudb.functions.registry import Operands, declare, declare_wide
from gpudb.functions.to_text import to_text

declare("to_char(timestamp,text)", "pg_format_timestamp({0}, {1})")
declare("to_char(timestamptz,text)", "pg_format_timestamptz({0}, {1}, current_setting('TimeZone'))")
declare("to_char(interval,text)", "pg_format_interval({0}, {1})")


def _render_digits(operands: Operands) -> str:
    """Returns a number's digits in its type's form, and how many of a float's are exact; int4 has an exponent form."""
    text = to_text(operands.sql[0], operands.scales[0], operands.types[0])
    sure = {"float4": 6, "float8": 15, "int4": -1}.get(operands.types[0].name, 0)
    return f"pg_format_number({text}, {operands.sql[1]}, {sure})"


declare(
    "to_char(numeric,text) to_char(int4,text) to_char(int8,text) to_char(float4,text) to_char(float8,text)",
    _render_digits,
)
declare("to_date(text,text)", "pg_read_date({0}, {1})")
declare("to_timestamp(text,text)", "pg_read_timestamptz({0}, {1}, current_setting('TimeZone'))")
declare(
    "to_number(text,text)",
    lambda o: parse_digits(f"pg_read_number({o.sql[0]}, {o.sql[1]})", o.result.duckdb_value, o.result),
    scale=lambda o: f"pg_decimals(pg_read_number({o.sql[0]}, {o.sql[1]}))",
    result=lambda types, constants: carried_numeric(),
)
declare_wide("to_char(numeric,text)", _render_digits)
declare_wide("to_number(text,text)", lambda o: f"pg_wide_in(pg_read_number({o.sql[0]}, {o.sql[1]}))")
