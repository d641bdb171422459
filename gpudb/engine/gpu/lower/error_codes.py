"""Errors as values: a code a row, 0 for none; the largest code of a column is raised with its SQLSTATE."""

from __future__ import annotations

from functools import reduce

import polars as pl

from gpudb.errors import SqlError
from gpudb.plan.errors import NotSupportedOnWorkers

_ERRORS: tuple[tuple[str, str], ...] = (
    ("successful_completion", ""),
    ("division_by_zero", "division by zero"),
    ("numeric_value_out_of_range", "smallint out of range"),
    ("numeric_value_out_of_range", "integer out of range"),
    ("numeric_value_out_of_range", "bigint out of range"),
    ("numeric_value_out_of_range", "numeric field overflow"),
    ("numeric_value_out_of_range", "value out of range: overflow"),
    ("numeric_value_out_of_range", "value out of range: underflow"),
    ("numeric_value_out_of_range", "value overflows numeric format"),
    ("cardinality_violation", "more than one row returned by a subquery used as an expression"),
    ("string_data_right_truncation", "value too long for type"),
    ("substring_error", "negative substring length not allowed"),
    ("datetime_field_overflow", "date out of range"),
    ("invalid_row_count_in_limit_clause", "LIMIT must not be negative"),
    ("invalid_row_count_in_result_offset_clause", "OFFSET must not be negative"),
    ("invalid_parameter_value", "step size cannot equal zero"),
    ("null_value_not_allowed", "frame offset must not be null"),
    ("invalid_preceding_or_following_size", "frame offset must not be negative"),
    ("invalid_argument_for_ntile_function", "argument of ntile must be greater than zero"),
    ("invalid_argument_for_nth_value_function", "argument of nth_value must be greater than zero"),
    ("invalid_argument_for_power_function", "cannot take square root of a negative number"),
    ("datetime_field_overflow", "interval out of range"),
    ("invalid_argument_for_logarithm", "cannot take logarithm of zero"),
    ("invalid_argument_for_logarithm", "cannot take logarithm of a negative number"),
    ("invalid_argument_for_power_function", "zero raised to a negative power is undefined"),
    (
        "invalid_argument_for_power_function",
        "a negative number raised to a non-integer power yields a complex result",
    ),
    ("numeric_value_out_of_range", "input is out of range"),
    ("invalid_argument_for_width_bucket_function", "operand, lower bound, and upper bound cannot be NaN"),
)
DIVISION, SMALLINT, INTEGER, BIGINT, NUMERIC, OVERFLOW, UNDERFLOW, FORMAT, ROWS, LENGTH, SUBSTRING, DATE = range(1, 13)
LIMIT, OFFSET, STEP, FRAME_NULL, FRAME_SIZE, NTILE, NTH, ROOT, INTERVAL = range(13, 22)
ZERO_LOGARITHM, NEGATIVE_LOGARITHM, ZERO_POWER, COMPLEX_POWER, INPUT, BUCKET = range(22, 28)
CALENDAR = 100
"""Not an error of the statement: infinity, or a year beyond libcudf's range, whose fields workers cannot compute."""
BODY_ERRORS = 1000
"""The first code of errors of PL/CUDA functions, which the pipelines know that call them."""
OUT_OF_RANGE = {"int2": SMALLINT, "int4": INTEGER, "int8": BIGINT, "numeric": NUMERIC}
"""The code of a value beyond a type's limits."""

Error = pl.Expr | None
"""The code of each row as Int8; None for an expression that cannot fail."""


def to_exception(code: int) -> SqlError | NotSupportedOnWorkers:
    """Returns the exception for a code."""
    if code == CALENDAR:
        return NotSupportedOnWorkers("a date or timestamp beyond the workers' calendar")
    condition, message = _ERRORS[code]
    return SqlError.of(condition, message)


def error_if(when: pl.Expr, code: int) -> pl.Expr:
    """Returns the code where a condition is true, 0 elsewhere."""
    return pl.when(when).then(pl.lit(code, pl.Int8)).otherwise(pl.lit(0, pl.Int8))


def first_error(*errors: Error) -> Error:
    """Returns the first code of each row that is not 0."""
    found = [each for each in errors if each is not None]
    return reduce(lambda rest, each: pl.when(each != 0).then(each).otherwise(rest), reversed(found)) if found else None


def mask_error(error: Error, where: pl.Expr) -> Error:
    """Returns the codes of the rows where a condition is true, 0 elsewhere."""
    return None if error is None else pl.when(where).then(error).otherwise(pl.lit(0, pl.Int8))
