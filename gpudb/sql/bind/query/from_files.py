"""Table functions over files: read_parquet, read_csv and others, and read_files for any of them.

Their arguments are constants, or parameters of a statement that has values: which columns there are depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.catalog.file_tables import FileFormat, FileRequest
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.query.parameter_values import read_parameter
from gpudb.sql.bind.query.sources import Source, add_hidden, build_source
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.bound import FileScan, OutputColumn
from gpudb.sql.parse.file_names import READ_FILES
from gpudb.sql.parse.parser import expression_location, inner, kind, strings
from gpudb.sql.parse.values import read_constant, strip_casts
from gpudb.types import TEXT, SqlType

FUNCTIONS: dict[str, FileFormat | None] = {
    "read_parquet": "parquet",
    "read_csv": "csv",
    "read_json": "json",
    "read_arrow": "arrow",
    "read_xlsx": "xlsx",
    "read_iceberg": "iceberg",
    "read_delta": "delta",
    READ_FILES: None,
}
"""Table functions over files, with the format of each."""


def bind_files(binder: Binder, call: Any, columns: Sequence[Any], node: Any, alias: Any) -> Source:
    """Binds a call of one of FUNCTIONS in FROM, with its column definition list."""
    name = strings(call.funcname)[-1]
    if node.ordinality:
        raise FeatureNotSupported(f"WITH ORDINALITY of {name} is not supported")
    patterns: list[str] = []
    options: dict[str, object] = {}
    for each in call.args:
        if kind(each) == "named_arg_expr":
            argument = inner(each)
            options[argument.name.lower()] = _read_argument(binder, name, argument.arg)
        else:
            value = _read_argument(binder, name, each)
            patterns += value if isinstance(value, list) else [value]
    if not patterns or not all(isinstance(each, str) and each for each in patterns):
        raise UndefinedFunction(f"function {name} takes names of files, and options by name", position=None)
    declared = None
    if columns:
        declared = tuple((each.colname, resolve_value_type(each.type_name, binder)) for each in map(inner, columns))
    request = FileRequest(tuple(patterns), FUNCTIONS[name], options, declared)
    # The files may be others for the next statement
    binder.cacheable, binder.reads_files = False, True
    files = binder.open_files(request, binder.accesses.invoker)
    rel = binder.new_rel()
    shown, hidden = (
        tuple(OutputColumn(column.name, column.type) for column in each) for each in (files.columns, files.hidden)
    )
    source = build_source(binder, rel, FileScan(rel, files, (*shown, *hidden)), shown, name, alias)
    return add_hidden(source, rel, len(shown), hidden)


def _read_argument(binder: Binder, function: str, node: Any) -> Any:
    """Returns the value of a constant, or those of an array of them; 0A000 for any other expression."""
    cast = inner(node).type_name if kind(node) == "type_cast" else None
    node = strip_casts(node)
    if kind(node) == "a_array_expr":
        return [_read_argument(binder, function, each) for each in inner(node).elements]
    if kind(node) == "a_const":
        return read_constant(inner(node))
    if kind(node) == "param_ref" and binder.arguments is None:
        type = TEXT if cast is None else resolve_value_type(cast, binder)
        return _read_parameter(binder, function, inner(node).number, type)
    error = SqlError.of("feature_not_supported", f"the arguments of {function} must be constants or parameters")
    raise binder.locate(error, expression_location(node))


def _read_parameter(binder: Binder, function: str, number: int, type: SqlType) -> Any:
    """Returns a parameter's value, a list for an array (see `read_parameter`)."""
    value = read_parameter(binder, number, type, f"the columns of {function} are not known: its arguments have")
    return list(value) if isinstance(value, (list, tuple)) else value
