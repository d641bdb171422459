"""Options of table functions over files, as a statement gives them: checked, and with PostgreSQL's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.catalog.file_tables import FileFormat
from gpudb.errors import SqlError

_TRUE = frozenset({"true", "on", "yes", "1", "t", "y"})
_FALSE = frozenset({"false", "off", "no", "0", "f", "n"})
_COMMON = ("filename", "hive_partitioning", "union_by_name")
_CSV = ("delimiter", "quote", "escape", "null", "header")
_DEFAULT_QUOTE = '"'


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Options of a scan. `csv` are those of csv alone, by PostgreSQL's names.

    With `filename` the path of each row's file is a column of `*`; `folders` is whether folders `name=value` are
    columns; `by_name` whether files may have different columns, matched by name.
    """

    filename: bool
    folders: bool
    by_name: bool
    csv: Mapping[str, object]


def read_options(given: Mapping[str, object], format: FileFormat, path: str) -> ScanOptions:
    """Checks the options of a scan whose first file is `path`; 22023 for an unknown one, 42601 for a value."""
    known = _COMMON + (_CSV if format == "csv" else ())
    for name in given:
        if name not in known:
            hint = f"The options of {format} files are {', '.join(known)}."
            raise SqlError.of("invalid_parameter_value", f'option "{name}" not recognized', hint=hint)
    return ScanOptions(
        _read_boolean(given, "filename", default=False),
        _read_boolean(given, "hive_partitioning", default=True),
        _read_boolean(given, "union_by_name", default=False),
        _read_csv_options(given, path) if format == "csv" else {},
    )


def _read_csv_options(given: Mapping[str, object], path: str) -> dict[str, object]:
    """Returns the options of csv: those of COPY. The delimiter and the header are missing if nothing tells them."""
    quote = _read_character(given, "quote", _DEFAULT_QUOTE)
    null = given.get("null", "")
    options: dict[str, object] = {
        "quote": quote,
        "escape": _read_character(given, "escape", quote),
        "null": "" if null is None else str(null),
    }
    if "delimiter" in given or ".tsv" in path.lower().rpartition("/")[2]:
        options["delimiter"] = _read_character(given, "delimiter", "\t")
    if "header" in given:
        options["header"] = _read_boolean(given, "header", default=True)
    return options


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
