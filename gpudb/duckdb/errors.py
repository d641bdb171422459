"""Translation of DuckDB's errors: PostgreSQL's message where it is known, and always an SQLSTATE."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from gpudb.errors import (
    FeatureNotSupported,
    GpudbError,
    InternalError,
    NumericOutOfRange,
    OutOfMemory,
    QueryCanceled,
    SqlError,
    sqlstates,
)
from gpudb.functions.let_binding import CONTEXT, DETAIL, HINT

ENGINE_ERRORS = (duckdb.Error, pa.ArrowException, RuntimeError, OSError)
"""Errors that DuckDB raises itself, and those that an Arrow reader of its batches raises."""

# Errors raised by the macro pg_error, or by a Python function.
_MARKED_ERROR = re.compile(r"Could not convert string '\[(\w{5})\] (.*)' to INT32|\[(\w{5})\] (.*)", re.S)
# Errors of an Arrow dataset that a statement scans
_STREAM = re.compile(r"reading the stream registered as '.*?' failed: (?:Invalid: )?([^\n]*)")
_INTEGER_NAMES = {"INT8": "smallint", "INT16": "smallint", "INT32": "integer", "INT64": "bigint"}
_TYPE_NAMES = {
    "INT16": "smallint", "INT32": "integer", "INT64": "bigint", "SMALLINT": "smallint", "INTEGER": "integer",
    "BIGINT": "bigint", "FLOAT": "real", "DOUBLE": "double precision", "DATE": "date", "BOOLEAN": "boolean",
    "BOOL": "boolean", "UUID": "uuid", "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamp with time zone",
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone", "TIME": "time", "INTERVAL": "interval",
}  # fmt: skip

# Errors that an Arrow reader raises carry DuckDB's text alone, prefixed with the kind of error.
_EXCEPTIONS: dict[str, type[duckdb.Error]] = {
    "Conversion Error": duckdb.ConversionException,
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Not implemented Error": duckdb.NotImplementedException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Serialization Error": duckdb.SerializationException,
}

_CSV = re.compile(r"CSV Error on Line: (\d+)\n(?:Original Line: ?(.*?)\n)?(.*)", re.S)
_CSV_BYTES = "Invalid unicode"
_CSV_VALUE = re.compile(r"Error when converting column \"(.*?)\"\. Could not convert string \"(.*?)\" to '(.*?)'", re.S)
_CSV_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_CSV_FILE = re.compile(r"^  file = (.*)$", re.M)
_DATA_FILE = re.compile(r'"([^"]*\.parquet)"')

_Rule = tuple[re.Pattern[str], str, str]
_RULES: tuple[_Rule, ...] = tuple(
    (re.compile(pattern, re.S), condition, message)
    for pattern, condition, message in (
        (r"Cannot (AND|OR|XOR) bit strings of different sizes", "string_data_length_mismatch",
         "cannot {1} bit strings of different sizes"),
        (r"list dimensions must be equal, got left length '(\d+)' and right length '(\d+)'", "data_exception",
         "different vector dimensions {1} and {2}"),
        (r"Division by zero|division by zero", "division_by_zero", "division by zero"),
        (r"More than one row returned by a subquery", "cardinality_violation",
         "more than one row returned by a subquery used as an expression"),
        (r"Overflow in .*? of (INT\d+)", "numeric_value_out_of_range", "{type} out of range"),
        (r"Overflow in negation of integer|Overflow on abs\((-?\d+)\)", "numeric_value_out_of_range",
         "integer out of range"),
        (r"out of range for the destination type (\w+)", "numeric_value_out_of_range", "{type} out of range"),
        (r"Overflow in .*DECIMAL|Overflow in HUGEINT|Could not cast value .* to DECIMAL|"
         r"Casting value .* to type DECIMAL|[Oo]verflow in .*decimal|Could not convert string \"-?[\d.]+\" to DECIMAL",
         "numeric_value_out_of_range", "value overflows numeric format"),
        (r"Could not convert string '(.*)' to (\w+)", "invalid_text_representation",
         'invalid input syntax for type {type2}: "{1}"'),
        (r"invalid (?:timestamp|date) field format: \"(.*?)\"", "invalid_datetime_format",
         'invalid input syntax for type timestamp: "{1}"'),
        (r"Date out of range|not in timestamp range|Overflow in date|Timestamp.*out of range|"
         r"date field value out of range|overflow.*[Tt]imestamp|Overflow exception in date/time",
         "datetime_field_overflow", "timestamp out of range"),
        (r"Argument for ntile must be", "invalid_argument_for_ntile_function",
         "argument of ntile must be greater than zero"),
        (r"cannot take logarithm of zero", "invalid_argument_for_logarithm", "cannot take logarithm of zero"),
        (r"cannot take logarithm of a negative number", "invalid_argument_for_logarithm",
         "cannot take logarithm of a negative number"),
        (r"cannot take square root of a negative number", "invalid_argument_for_power_function",
         "cannot take square root of a negative number"),
        (r"(?:missing|unexpected|invalid|bad|no argument for).*(?:regular expression|regexp|\)|\]|repetition)",
         "invalid_regular_expression", "invalid regular expression: {0}"),
        (r"Max expression depth|[Mm]aximum recursion depth|stack overflow", "statement_too_complex",
         "stack depth limit exceeded"),
        (r"Invalid RANGE (PRECEDING|FOLLOWING) value", "invalid_preceding_or_following_size",
         "invalid preceding or following size in window function"),
        (r"infinite bounds not supported", "feature_not_supported", "series without an end are not supported"),
        # An invalid size in a Parquet file: the file is damaged.
        (r"Information loss on integer cast", "data_corrupted", "could not read data file: {0}"),
        (r"subqueries in lambda expressions are not supported", "feature_not_supported",
         "a subquery as an argument of this function is not supported"),
        (r"WHERE clause cannot contain window functions", "feature_not_supported",
         "a window function as an argument of this function is not supported"),
        (r"Subqueries are not supported in LATERAL join conditions", "feature_not_supported",
         "a subquery in the condition of a LATERAL join is not supported"),
        (r"WHERE clause cannot contain aggregates", "feature_not_supported",
         "an aggregate as an argument of this function is not supported"),
        (r"Non-constant limit not supported in correlated subquery", "feature_not_supported",
         "a LIMIT that is no plain constant is not supported in a subquery that reads columns of an outer query"),
        (r"Nested UNNEST calls are not supported", "feature_not_supported",
         "set-returning functions within each other are not supported"),
        (r"UNNEST not supported here|UNNEST in lambda expressions is not supported", "feature_not_supported",
         "set-returning functions are not supported here"),
        (r"maximum total string size for regular string buffers", "program_limit_exceeded",
         "values of one batch of rows are larger than 2 GiB"),
        (r"executing the UDF: OverflowError", "numeric_value_out_of_range", "value out of range"),
        (r"executing the UDF: MemoryError", "out_of_memory", "out of memory"),
        (r"executing the UDF: RecursionError", "statement_too_complex", "stack depth limit exceeded"),
        (r"Malformed JSON|Invalid JSON|malformed JSON", "invalid_text_representation",
         "invalid input syntax for type json"),
    )
)  # fmt: skip


class EngineRestarted(SqlError):
    """58000: DuckDB refused a statement because another one had broken it. A new instance is running."""

    condition = "system_error"


def is_fatal(error: BaseException) -> bool:
    """Returns whether DuckDB accepts no further statement after this error."""
    kinds = (duckdb.FatalException, duckdb.InternalException, duckdb.ConnectionException)
    return isinstance(error, kinds) or str(error).startswith(("FATAL Error", "INTERNAL Error"))


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether memory, or the space for temporary files, was too small."""
    return isinstance(error, duckdb.OutOfMemoryException) or str(error).startswith("Out of Memory Error")


def is_over_temp_limit(error: BaseException) -> bool:
    """Returns whether temporary files would have exceeded their limit."""
    return is_out_of_memory(error) and "max_temp_directory_size" in str(error)


def broke_instance(error: BaseException) -> bool:
    """Returns whether this statement itself broke DuckDB."""
    return isinstance(error, duckdb.InternalException) or str(error).startswith("INTERNAL Error")


def translate_error(error: BaseException) -> GpudbError:
    """Translates a DuckDB error into a gpudb error; XX000 if the error is unknown."""
    if isinstance(error, GpudbError):
        return error
    text = str(error)
    if not isinstance(error, duckdb.Error):
        kind = _EXCEPTIONS.get(text.partition(": ")[0])
        error = kind(text) if kind is not None else error
    plain = text.partition("\n")[0].partition(": ")[2] or text
    if isinstance(error, duckdb.FatalException):
        return InternalError(plain, detail="The embedded engine has failed.")
    # A division by zero shows its SQL, which may contain the texts of other errors.
    marked = None if "error_on_division_by_zero" in text else _MARKED_ERROR.search(text)
    if marked is not None and (marked[1] or marked[3]) in _conditions_by_sqlstate():
        message = (marked[2] or marked[4]).partition("\n\nLINE")[0].strip()
        message, _, where = message.partition(CONTEXT)
        message, _, hint = message.partition(HINT)
        message, _, detail = message.partition(DETAIL)
        condition = _conditions_by_sqlstate()[marked[1] or marked[3]]
        return SqlError.of(condition, message, detail=detail or None, hint=hint or None, where=where or None)
    if isinstance(error, duckdb.InterruptException):
        return QueryCanceled("canceling statement due to user request")
    if isinstance(error, duckdb.OutOfMemoryException):
        return OutOfMemory("out of memory", detail=plain, hint="Raise the setting memory_limit, or read less at once.")
    if (row := _CSV.search(text)) is not None:
        return _csv_error(row, text)
    if "Error when sniffing file" in text:
        return SqlError.of("data_corrupted", plain)
    if (stream := _STREAM.search(text)) is not None:
        return SqlError.of("data_corrupted", f"rows of a frame or file cannot be read: {stream[1]}")
    if isinstance(error, duckdb.Error) and (found := data_file_error(error)) is not None:
        return found
    for pattern, condition, message in _RULES:
        if (match := pattern.search(text)) is not None:
            return SqlError.of(condition, _fill_message(message, match, plain))
    if isinstance(error, duckdb.OutOfRangeException):
        return NumericOutOfRange(plain)
    if isinstance(error, duckdb.ConversionException):
        return SqlError.of("invalid_text_representation", plain)
    if isinstance(error, duckdb.NotImplementedException):
        return FeatureNotSupported(plain)
    return InternalError(plain, detail="The embedded engine refused the statement that was made from this one.")


def is_wrong_row(error: duckdb.Error) -> bool:
    """Returns whether a row of a csv file cannot be read."""
    return _CSV.search(str(error)) is not None or _CSV_BYTES in str(error)


def _csv_error(row: re.Match[str], text: str) -> GpudbError:
    """Returns 22P02, 22P04 or 22021 for a row of a csv file that has other values or columns than the statement
    expects.
    """
    found = _CSV_FILE.search(text)
    file = found[1] if found is not None else ""
    where = f'Line {row[1]} of file "{file}": {(row[2] or "")[:200]}'
    if (value := _CSV_VALUE.search(row[3])) is not None:
        kind = _TYPE_NAMES.get(value[3].upper(), value[3].lower().replace("decimal", "numeric"))
        message = f'invalid input syntax for type {kind}: "{value[2]}"'
        hint = (
            f'Declare column "{value[1]}" as text in a column definition list, or correct the file; or say'
            " sample_size => -1, all_varchar => true or ignore_errors => true."
        )
        return SqlError.of("invalid_text_representation", message, detail=where, hint=hint)
    if (width := _CSV_WIDTH.search(row[3])) is not None:
        message = f"a row has {width[2]} columns, and {width[1]} are expected"
        hint = "skip => n leaves out lines before the header, ignore_errors => true such rows."
        if int(width[2]) < int(width[1]):
            hint = "null_padding => true ends short rows in NULLs, ignore_errors => true leaves them out."
        return SqlError.of("bad_copy_file_format", message, detail=where, hint=hint)
    reason = row[3].partition("\n")[0]
    if _CSV_BYTES in reason:
        message = f'invalid byte sequence for encoding "UTF8" in file "{file}"'
        encodings = "Say encoding => 'WIN1252', 'LATIN1' or 'UTF16'."
        return SqlError.of("character_not_in_repertoire", message, detail=f"Line {row[1]}.", hint=encodings)
    quotes = "Say another quote or escape, or ignore_errors => true." if "quote" in reason else None
    return SqlError.of("bad_copy_file_format", f"a row of csv cannot be read: {reason}", detail=where, hint=quotes)


def data_file_error(error: duckdb.Error) -> GpudbError | None:
    """Returns XX001 for a file that is damaged, truncated or missing; None for other errors."""
    text = str(error)
    if type(error) is duckdb.Error and "alloc" not in text:
        # Exceptions of DuckDB's Parquet and Thrift readers, which name no file.
        return GpudbError(f"could not read data file: {text.partition(chr(10))[0]}", condition="data_corrupted")
    if ".parquet" not in text and "Parquet" not in text and "parquet" not in text:
        return None
    first = text.partition("\n")[0]
    if "No files found" in text or "Cannot open file" in text or "No such file" in text:
        named = _DATA_FILE.search(first)
        message = f"could not open data file: {first}" if named is None else f'data file "{named[1]}" does not exist'
        return GpudbError(message, condition="data_corrupted")
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException | duckdb.SerializationException):
        return GpudbError(f"could not read data file: {first}", condition="data_corrupted")
    return None


def _conditions_by_sqlstate() -> dict[str, str]:
    return {state: condition for condition, state in sqlstates().items()}


def _fill_message(message: str, match: re.Match[str], plain: str) -> str:
    groups = match.groups()
    first = groups[0] if groups else ""
    second = groups[1] if len(groups) > 1 else ""
    return (
        message.replace("{type2}", _TYPE_NAMES.get((second or "").upper(), (second or "").lower()))
        .replace("{type}", _TYPE_NAMES.get(first or "", _INTEGER_NAMES.get(first or "", "value")))
        .replace("{1}", first or "")
        .replace("{2}", second or "")
        .replace("{0}", plain)
    )
