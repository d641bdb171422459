"""CREATE FOREIGN TABLE, IMPORT FOREIGN SCHEMA, and the options of foreign tables and their columns."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.file_tables import FileFormat, FileRequest
from gpudb.catalog.foreign import ForeignServer
from gpudb.catalog.tables import Column, ForeignSource, Table
from gpudb.catalog.wrappers import KnownWrapper, find_by_handler
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.authorization.privileges import check_privilege
from gpudb.session.context import Context
from gpudb.session.ddl.foreign_data.foreign_objects import get_wrapper, require_server
from gpudb.session.ddl.foreign_data.foreign_options import change_options
from gpudb.session.ddl.foreign_data.remote_schemas import list_remote_definitions
from gpudb.session.ddl.parse_nodes import definition_field
from gpudb.session.ddl.tables.create_table import define_table
from gpudb.session.execution.foreign_data.files import check_reader, open_files
from gpudb.session.objects.names import check_name_free, find_new_name, target_schema
from gpudb.session.objects.relations import find_column, put_relation
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, kind, parse, position

_REFUSED = {
    pg.CONSTR_PRIMARY: "primary key",
    pg.CONSTR_UNIQUE: "unique",
    pg.CONSTR_EXCLUSION: "exclusion",
    pg.CONSTR_FOREIGN: "foreign key",
}
_IMPORTED: dict[str, tuple[FileFormat, str]] = {"parquet_fdw": ("parquet", "filename"), "arrow_fdw": ("arrow", "file")}
"""The format of files that a wrapper imports, and the option of a table that names them."""
_REMOTE = re.compile(r'FOREIGN\s+SCHEMA\s+"((?:[^"]|"")+)"', re.IGNORECASE)
_SUFFIXES = {"parquet": (".parquet", ".pq"), "arrow": (".arrow", ".arrows", ".feather", ".ipc")}


def create_foreign_table(context: Context) -> Result:
    """CREATE FOREIGN TABLE [IF NOT EXISTS] name (…) SERVER s [OPTIONS (…)] [DISTRIBUTE BY …]."""
    node: Any = context.statement.node
    context.check_writable("CREATE FOREIGN TABLE")
    base = node.base_stmt
    if len(base.inh_relations) or base.HasField("partbound"):
        raise FeatureNotSupported("CREATE FOREIGN TABLE … INHERITS and PARTITION OF are not supported")
    _check_constraints(context, base.table_elts)
    found = find_new_name(context, base.relation, if_not_exists=base.if_not_exists, location=base.relation.location)
    if found is None:
        return Result("CREATE FOREIGN TABLE")
    schema, name = found
    check_name_free(context.transaction.catalog, schema, name)
    server = _usable_server(context, node.servername)
    wrapper = get_wrapper(context.transaction.catalog, server)
    options = change_options(context, (), node.options, wrapper, "table")
    known = find_by_handler(wrapper.handler)
    source = ForeignSource(server.oid, options, stored=known is not None and known.stored)
    of_columns = {inner(each).colname: inner(each).fdwoptions for each in base.table_elts if kind(each) == "column_def"}

    def as_foreign(table: Table) -> Table:
        columns = tuple(
            replace(column, options=change_options(context, (), of_columns.get(column.name, ()), wrapper, "column"))
            for column in table.columns
        )
        return replace(table, kind="f", foreign=source, columns=columns)

    define_table(context, base, schema, name, change=as_foreign)
    return Result("CREATE FOREIGN TABLE")


def _usable_server(context: Context, name: str) -> ForeignServer:
    server = require_server(context.transaction.catalog, name)
    check_privilege(context.transaction.catalog, context.session.user, server, "U")
    return server


def _check_constraints(context: Context, elements: Any) -> None:
    """0A000 for a constraint that foreign tables cannot have."""
    for each in map(inner, elements):
        own = [inner(one) for one in getattr(each, "constraints", ())]
        for constraint in [each, *own]:
            word = _REFUSED.get(getattr(constraint, "contype", None))
            if word is not None:
                error = FeatureNotSupported(f"{word} constraints are not supported on foreign tables")
                raise error.at(position(context.statement.text, constraint.location))


# ---- options


def set_table_options(context: Context, table: Table, step: Any) -> None:
    """ALTER FOREIGN TABLE … OPTIONS (…); 42809 for another table."""
    source = _require_foreign(table)
    elements = inner(definition_field(step)).items
    options = change_options(context, source.options, elements, _wrapper_of(context, source), "table")
    put_relation(context, replace(table, foreign=replace(source, options=options)))


def set_column_options(context: Context, table: Table, step: Any) -> None:
    """ALTER FOREIGN TABLE … ALTER COLUMN c OPTIONS (…); 42809 for another table, 42703."""
    source = _require_foreign(table)
    column = find_column(table, step.name)
    elements = inner(definition_field(step)).items
    options = change_options(context, column.options, elements, _wrapper_of(context, source), "column")
    columns = tuple(replace(each, options=options) if each is column else each for each in table.columns)
    put_relation(context, replace(table, columns=columns))


def _require_foreign(table: Table) -> ForeignSource:
    if table.foreign is None:
        raise SqlError.of("wrong_object_type", f'"{table.name}" is not a foreign table')
    return table.foreign


def _wrapper_of(context: Context, source: ForeignSource) -> Any:
    server = context.transaction.catalog.find_server(source.server)
    assert server is not None, "a server is dropped with its tables"
    return get_wrapper(context.transaction.catalog, server)


# ---- import


def import_foreign_schema(context: Context) -> Result:
    """IMPORT FOREIGN SCHEMA s [LIMIT TO | EXCEPT (…)] FROM SERVER v INTO local [OPTIONS (…)].

    With parquet_fdw the schema is a folder, each of whose files is a table; so it is with arrow_fdw, or the option file
    names the file of the one table that the schema names.
    """
    node: Any = context.statement.node
    context.check_writable("IMPORT FOREIGN SCHEMA")
    server = _usable_server(context, node.server_name)
    schema = target_schema(context, node.local_schema)
    wrapper = get_wrapper(context.transaction.catalog, server)
    known = find_by_handler(wrapper.handler)
    listed = {inner(each).relname for each in node.table_list}
    if known is not None and known.name == "postgres_fdw":
        given = {inner(each).defname: inner(inner(each).arg).sval for each in node.options}
        definitions = list_remote_definitions(context, server, node.remote_schema, schema, given)
        for name, text in definitions.items():
            if _is_wanted(node, listed, name):
                create_foreign_table(replace(context, statement=parse(text)[0], plan=None))
        return Result("IMPORT FOREIGN SCHEMA")
    if known is None or known.name not in _IMPORTED:
        message = f'foreign-data wrapper "{wrapper.name}" does not support IMPORT FOREIGN SCHEMA'
        raise SqlError.of("fdw_no_schemas", message)
    check_reader(context, context.session.user)
    for name, path in _list_files(node, known, _read_remote_name(context)).items():
        if _is_wanted(node, listed, name):
            _import_file(context, schema, name, path, known, server)
    return Result("IMPORT FOREIGN SCHEMA")


def _is_wanted(node: Any, listed: set[str], name: str) -> bool:
    """Whether LIMIT TO or EXCEPT lets a table be imported."""
    wanted = {pg.FDW_IMPORT_SCHEMA_LIMIT_TO: name in listed, pg.FDW_IMPORT_SCHEMA_EXCEPT: name not in listed}
    return wanted.get(node.list_type, True)


def _read_remote_name(context: Context) -> str:
    """The name of the remote schema, which may be a path longer than an identifier."""
    node: Any = context.statement.node
    quoted = _REMOTE.search(context.statement.text)
    return node.remote_schema if quoted is None else quoted[1].replace('""', '"')


def _list_files(node: Any, known: KnownWrapper, remote: str) -> dict[str, str]:
    """The file of each table by its name."""
    # Heavy, and for few statements
    from gpudb.storage.load.files import convert_errors

    given = {inner(each).defname: inner(inner(each).arg).sval for each in node.options}
    if known.name == "arrow_fdw" and "file" in given:
        return {node.remote_schema: given["file"]}
    if given:
        hint = "There are no valid options in this context." if known.name != "arrow_fdw" else None
        raise SqlError.of("fdw_invalid_option_name", f'invalid option "{next(iter(given))}"', hint=hint)
    folder = Path(remote)
    suffixes = _SUFFIXES[_IMPORTED[known.name][0]]
    with convert_errors(folder):
        if not folder.is_dir():
            raise SqlError.of("fdw_schema_not_found", f'"{folder}" is not a directory')
        return {each.stem: str(each) for each in sorted(folder.iterdir()) if each.suffix.lower() in suffixes}


def _import_file(
    context: Context, schema: str, name: str, path: str, known: KnownWrapper, server: ForeignServer
) -> None:
    format, option = _IMPORTED[known.name]
    request = FileRequest((path,), format, {"hive_partitioning": False})
    columns = tuple(Column(each.name, each.type) for each in open_files(context, request, None).columns)
    check_name_free(context.transaction.catalog, schema, name)
    oid, catalog = context.transaction.catalog.allocate_oid()
    named = shlex.quote(path) if option == "filename" else path  # the one that names several files
    source = ForeignSource(server.oid, (f"{option}={named}",))
    table = Table(oid, schema, name, columns, context.session.user, kind="f", foreign=source)
    context.transaction.set_catalog(catalog.put(table))
