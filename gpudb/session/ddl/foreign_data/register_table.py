"""CALL gpudb_register('name', 'address'): a table of others, or files, as a foreign table that is read in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.catalog.file_tables import FileFormat, FileRequest
from gpudb.catalog.foreign import ForeignServer
from gpudb.catalog.tables import Column, ForeignSource, Table
from gpudb.catalog.wrappers import KNOWN
from gpudb.errors import SqlError, UndefinedFunction, UndefinedObject
from gpudb.session.authorization.privileges import check_privilege
from gpudb.session.context import Context
from gpudb.session.copy.load_data import read_argument
from gpudb.session.execution.foreign_data.files import check_reader, open_files
from gpudb.session.execution.foreign_data.object_stores import WRAPPER, find_server
from gpudb.session.objects.names import check_name_free, target_schema, truncate_identifier
from gpudb.session.results import Result, ResultColumn
from gpudb.session.routines.call import call, describe_call
from gpudb.sql.parse.distribute_by import fold_identifier
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.types import TEXT, SqlType

FUNCTION = "gpudb_register"
_OPTIONS = ("format", "server")


def call_procedure(context: Context) -> Result:
    """CALL: of gpudb_register, or of a procedure (see `routines.call`)."""
    return _register(context) if _is_register(context) else call(context)


def describe_procedure(context: Context) -> tuple[tuple[SqlType, ...], tuple[ResultColumn, ...] | None]:
    """The types of a CALL's parameters, and its result columns (see `routines.call`)."""
    if not _is_register(context):
        return describe_call(context)
    node: Any = context.statement.node
    given = [inner(each).arg if kind(each) == "named_arg_expr" else each for each in node.funccall.args]
    numbers = [inner(each).number for each in given if kind(each) == "param_ref"]
    return (TEXT,) * max(numbers, default=0), None


def _is_register(context: Context) -> bool:
    node: Any = context.statement.node
    return strings(node.funccall.funcname) == (FUNCTION,)


def _register(context: Context) -> Result:
    """Creates a foreign table with the columns that the address has now.

    42501 unless the role is a member of pg_read_server_files and may use the server; 42704 without one; and what
    `open_table` raises.
    """
    context.check_writable(FUNCTION)
    name, address, options = _read_arguments(context)
    user = context.session.user
    check_reader(context, user)
    server = _find_server(context, address, options.get("server"))
    check_privilege(context.transaction.catalog, user, server, "U")
    schema, relation = _split_name(context, name)
    check_name_free(context.transaction.catalog, schema, relation)
    format: FileFormat | None = options.get("format")  # type: ignore[assignment]
    files = open_files(context, FileRequest((address,), format, {"server": server.name}), None)
    columns = tuple(Column(each.name, each.type) for each in files.columns)
    stored = {"address": address, **({"format": options["format"]} if "format" in options else {})}
    source = ForeignSource(server.oid, tuple(f"{key}={value}" for key, value in stored.items()))
    oid, catalog = context.transaction.catalog.allocate_oid()
    table = Table(oid, schema, relation, columns, user, kind="f", foreign=source)
    context.transaction.set_catalog(catalog.put(table))
    return Result("CALL")


def _read_arguments(context: Context) -> tuple[str, str, Mapping[str, str]]:
    node: Any = context.statement.node
    plain: list[str | None] = []
    options: dict[str, str] = {}
    for each in node.funccall.args:
        if kind(each) == "named_arg_expr":
            options[inner(each).name.lower()] = read_argument(context, inner(each).arg) or ""
        else:
            plain.append(read_argument(context, each))
    if len(plain) != 2 or not all(plain) or set(options) - set(_OPTIONS):
        message = f"procedure {FUNCTION} takes the name of a table and an address"
        raise UndefinedFunction(message, hint=f"Options by name are {', '.join(_OPTIONS)}.")
    formats = ("arrow", "csv", "delta", "iceberg", "json", "parquet")
    if options.get("format", "csv") not in formats:
        raise SqlError.of("invalid_parameter_value", f"formats are {', '.join(formats)}")
    return str(plain[0]), str(plain[1]), options


def _find_server(context: Context, address: str, name: str | None) -> ForeignServer:
    """The server of a name, the one with the longest scope, or the one that the extension created; 42704."""
    found = find_server(context, address, context.session.user, name)
    server = context.transaction.catalog.servers.get(KNOWN[WRAPPER].server or "") if found is None else found
    if server is None:
        message = f'there is no server of {WRAPPER} for "{address}"'
        raise UndefinedObject(message, hint=f"Run CREATE EXTENSION {WRAPPER}.")
    return server


def _split_name(context: Context, name: str) -> tuple[str, str]:
    parts = [fold_identifier(part.strip()) for part in name.split(".")]
    if len(parts) > 2 or not all(parts):
        raise SqlError.of("invalid_name", f'invalid table name "{name}"')
    return target_schema(context, parts[0] if len(parts) == 2 else ""), truncate_identifier(parts[-1])
