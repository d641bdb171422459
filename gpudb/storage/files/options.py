"""Options of table functions over files, as a statement gives them: checked, and with PostgreSQL's names.

Those of csv are COPY's, and DuckDB's names of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.catalog.file_tables import FileFormat
from gpudb.errors import SqlError
from gpudb.storage.copy.options import WRITTEN, CopyOptions, check_written, find_codec

_TRUE = frozenset({"true", "on", "yes", "1", "t", "y"})
_FALSE = frozenset({"false", "off", "no", "0", "f", "n"})
_COMMON = ("filename", "hive_partitioning", "union_by_name")
_PLAIN = ("delimiter", "quote", "escape", "null", "header")
_GUESSED = ("all_varchar", "sample_size")
_CSV = (*_PLAIN, *_GUESSED, "encoding", *WRITTEN, "ignore_errors")
_OWN: Mapping[FileFormat, tuple[str, ...]] = {"csv": _CSV, "xlsx": ("sheet", "header", "skip", "all_varchar")}
_NAMES = {"delim": "delimiter", "sep": "delimiter", "nullstr": "null"}
_DEFAULT_QUOTE = '"'
SAMPLE_ROWS = 20_480
"""Rows that tell the types of a csv file's columns."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Options of a scan. `own` are those of csv or of Excel alone, of csv by PostgreSQL's names.

    With `filename` the path of each row's file is a column of `*`; `folders` is whether folders `name=value` are
    columns; `by_name` whether files may have different columns, matched by name.
    """

    filename: bool
    folders: bool
    by_name: bool
    own: Mapping[str, object]


def read_options(given: Mapping[str, object], format: FileFormat, path: str) -> ScanOptions:
    """Checks the options of a scan whose first file is `path`; 22023 for an unknown one, 42601 for a value."""
    known = _COMMON + _OWN.get(format, ())
    named: dict[str, object] = {}
    for written, value in given.items():
        name = _NAMES.get(written, written) if format == "csv" else written
        if name not in known:
            hint = f"The options of {format} files are {', '.join(known)}."
            raise SqlError.of("invalid_parameter_value", f'option "{written}" not recognized', hint=hint)
        if name in named:
            raise SqlError.of("syntax_error", f'option "{name}" is given twice')
        named[name] = value
    return ScanOptions(
        _read_boolean(named, "filename", default=False),
        _read_boolean(named, "hive_partitioning", default=True),
        _read_boolean(named, "union_by_name", default=False),
        _read_csv_options(named, path) if format == "csv" else _read_sheet_options(named),
    )


def _read_sheet_options(given: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of Excel; those that are not given are missing."""
    options: dict[str, object] = {}
    if "sheet" in given:
        options["sheet"] = str(given["sheet"])
    if "header" in given:
        options["header"] = _read_boolean(given, "header", default=True)
    if _read_boolean(given, "all_varchar", default=False):
        options["all_varchar"] = True
    if "skip" in given:
        text = str(given["skip"])
        if not (text.isascii() and text.isdigit()):
            raise SqlError.of("invalid_parameter_value", f'skip must be a number of rows, not "{text}"')
        options["skip"] = int(text)
    return options


def _read_csv_options(given: Mapping[str, object], path: str) -> dict[str, object]:
    """Returns the options of csv: those of COPY. What nothing tells is missing, and so is each default of others."""
    quote = _read_character(given, "quote", _DEFAULT_QUOTE)
    null = _read_nulls(given.get("null", ""))
    options: dict[str, object] = {
        "quote": quote,
        "escape": _read_character(given, "escape", quote),
        "null": null[0] if len(null) == 1 else null,
    }
    if "delimiter" in given or ".tsv" in path.lower().rpartition("/")[2]:
        options["delimiter"] = _read_character(given, "delimiter", "\t")
    if "header" in given:
        options["header"] = _read_boolean(given, "header", default=True)
    for name in ("all_varchar", "null_padding", "ignore_errors"):
        if _read_boolean(given, name, default=False):
            options[name] = True
    if "sample_size" in given:
        options["sample_size"] = _read_sample_size(given["sample_size"])
    if "encoding" in given and (codec := _read_encoding(str(given["encoding"]))) != "utf-8":
        options["encoding"] = codec
    for name in WRITTEN:
        if name in given and name != "null_padding":
            options[name] = str(given[name])
    if is_written(options):
        make_copy_options(options)
    return options


def is_written(options: Mapping[str, object]) -> bool:
    """Whether csv is written in another way than DuckDB's reader reads it; then COPY's reader does."""
    return isinstance(options["null"], tuple) or any(
        name in options for name in ("encoding", "ignore_errors", *WRITTEN)
    )


def make_copy_options(options: Mapping[str, object]) -> CopyOptions:
    """Returns options of csv as COPY's, whose reader leaves out empty lines, as DuckDB's does; 22023."""
    nulls = options["null"] if isinstance(options["null"], tuple) else (options["null"],)
    ignoring = "ignore_errors" in options
    plain = CopyOptions(
        format="csv",
        delimiter=str(options.get("delimiter", ",")),
        null=nulls[0],
        nulls=nulls[1:],
        header="skip" if options.get("header") else "none",
        quote=str(options["quote"]),
        escape=str(options["escape"]),
        encoding=str(options.get("encoding", "utf-8")),
        encoding_name=str(options.get("encoding", "utf-8")).upper(),
        skip_empty=True,
        ignore_errors=ignoring,
        skip_ragged=ignoring,
    )
    found = check_written(plain, {name: options[name] for name in WRITTEN if name in options})  # type: ignore[misc]
    wrong = next((each for each in found.all_nulls if any(mark in each for mark in (found.quote, "\r", "\n"))), None)
    if wrong is not None or found.delimiter == found.quote:
        message = "a null text must not have quotes or line breaks, and the delimiter must not be the quote"
        raise SqlError.of("invalid_parameter_value", message)
    return found


def _read_nulls(given: object) -> tuple[str, ...]:
    if isinstance(given, (list, tuple)):
        return tuple("" if each is None else str(each) for each in given) or ("",)
    return ("" if given is None else str(given),)


def _read_sample_size(given: object) -> int:
    text = str(given)
    if not text.removeprefix("-").isdecimal() or int(text) < -1 or int(text) == 0:
        message = f'sample_size must be a number of rows, or -1 for all, not "{text}"'
        raise SqlError.of("invalid_parameter_value", message)
    return int(text)


def _read_encoding(name: str) -> str:
    codec = find_codec(name, wide=True)
    if codec is None:
        message = f'encoding "{name}" is not known'
        raise SqlError.of("invalid_parameter_value", message, hint="Such as UTF8, UTF16, LATIN1 or WIN1252.")
    return codec


def _read_boolean(given: Mapping[str, object], name: str, *, default: bool) -> bool:
    if name not in given:
        return default
    text = str(given[name]).lower()
    if text not in _TRUE | _FALSE:
        raise SqlError.of("syntax_error", f"{name} requires a Boolean value")
    return text in _TRUE


def _read_character(given: Mapping[str, object], name: str, default: str) -> str:
    text = str(given.get(name, default))
    if len(text.encode()) != 1:
        raise SqlError.of("feature_not_supported", f"COPY {name} must be a single one-byte character")
    if text in "\r\n":
        raise SqlError.of("invalid_parameter_value", f"COPY {name} cannot be newline or carriage return")
    return text
