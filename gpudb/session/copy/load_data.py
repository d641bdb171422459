"""load_data and add_files: load files into a table; also dispatches the other functions that are statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import AFTER, BEFORE, INSERT, TRUNCATE, has_event
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.session.authorization.authorize import check_named_relation
from gpudb.session.context import Context
from gpudb.session.copy import backup, cache_functions, copy_from, table_snapshots
from gpudb.session.copy.named_tables import find_named_table
from gpudb.session.copy.server_files import check_file_access
from gpudb.session.dml.domain_checks import append_checked
from gpudb.session.objects.relations import lock_table
from gpudb.session.progress import CopyProgress
from gpudb.session.results import Result, ResultColumn
from gpudb.session.triggers.firing import fire_for_statement
from gpudb.sql.parse.parser import RawStatement, inner, kind, strings
from gpudb.sql.parse.statement_functions import find_function_call
from gpudb.sql.parse.values import format_value, read_constant, strip_casts
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.load.loader import BATCH_ROWS, LoadParameters, load_files
from gpudb.storage.load.progress import Progress
from gpudb.types import INT8

_ARGUMENTS = ("table", "pattern", "delimiter", "quote", "batch_rows", "header", "null_text", "mode")


def function_columns(statement: RawStatement) -> tuple[ResultColumn, ...]:
    """The result column of a SELECT that is carried out as a statement."""
    return (ResultColumn(strings(find_function_call(statement.node).funcname)[0], INT8),)


def run_function(context: Context) -> Result:
    """Runs a SELECT of load_data, add_files, gpudb_backup, gpudb_restore_snapshot or a cache function.

    add_files(table, pattern) → bigint adds Parquet files unchanged (see `storage.load.adoption`); load_data converts:

    load_data(table, pattern [, delimiter [, quote [, batch_rows [, header [, null_text [, mode]]]]]]) → bigint

    | argument | meaning | default |
    |---|---|---|
    | table | the table's name, optionally with its schema | |
    | pattern | a file on the server or a glob: csv, csv.gz, csv.zst, Parquet, Arrow | |
    | delimiter | separator of a csv file's fields, one character | `,` |
    | quote | quote of a csv file's fields, one character; '' is the default | `"` |
    | batch_rows | number of rows per batch read from Parquet and Arrow files | 100000 |
    | header | number of lines to skip at the start of each csv file | 0 |
    | null_text | the unquoted text that means NULL in a csv file | '' |
    | mode | `append`, or `replace`: removes the table's rows in the same transaction | `append` |

    Returns one row: the number of rows loaded. All files are loaded, or none. 42501 unless the role
    is a superuser or a member of pg_read_server_files; a role that may also SELECT from the table may add_files of
    its own data folder.
    """
    call = find_function_call(context.statement.node)
    arguments = [read_argument(context, each) for each in call.args]
    function = strings(call.funcname)[0]
    if function == "add_files":
        return _add_files(context, arguments)
    if function == table_snapshots.FUNCTION:
        number = table_snapshots.parse_snapshot_id(arguments)
        table = find_named_table(context, arguments[0] or "", table_snapshots.PRIVILEGES)
        count = table_snapshots.restore_snapshot(context, table, number)
        return Result("SELECT", function_columns(context.statement), _count_row(count))
    if function == backup.FUNCTION or function in cache_functions.FUNCTIONS:
        count = (
            backup.call_backup(context, arguments)
            if function == backup.FUNCTION
            else cache_functions.call_cache_function(context, function, arguments)
        )
        return Result("SELECT", function_columns(context.statement), _count_row(count))
    if not 2 <= len(arguments) <= len(_ARGUMENTS):
        message = f"function load_data takes 2 to {len(_ARGUMENTS)} arguments, not {len(arguments)}"
        raise UndefinedFunction(message, hint=f"They are {', '.join(_ARGUMENTS)}.")
    values = dict(zip(_ARGUMENTS, arguments))
    context.check_writable("load_data()")
    check_file_access(context, reading=True)
    return _load_data(context, values)


def _add_files(context: Context, arguments: list[str | None]) -> Result:
    if len(arguments) != 2:
        message = f"function add_files takes 2 arguments, not {len(arguments)}"
        raise UndefinedFunction(message, hint="They are table, pattern.")
    context.check_writable("add_files()")
    own = _is_below_tables(context, arguments[1] or "")
    if not own:
        check_file_access(context, reading=True)
    table = find_named_table(context, arguments[0] or "", "a")
    if own:
        _check_own_file(context, table, arguments[1] or "")
    if table.partitioned_by is not None or table.partition_bound is not None:
        message = f'add_files to table "{table.name}" is not supported: it is partitioned or a partition'
        raise FeatureNotSupported(message, hint="Load the files with load_data(), which routes their rows.")
    if has_event(table.triggers, INSERT):
        hint = "Load the files with load_data(), for whose rows triggers fire."
        message = f'add_files to table "{table.name}" is not supported: it has triggers for INSERT'
        raise FeatureNotSupported(message, hint=hint)
    count = context.transaction.adopt(table.oid, arguments[1] or "")
    context.session.database.store.activity.add_load(count)
    return Result("SELECT", function_columns(context.statement), _count_row(count))


def _is_below_tables(context: Context, name: str) -> bool:
    """Returns whether a name is the path of one file below the folders of tables."""
    path = Path(name)
    if not path.is_absolute() or path.is_symlink():
        return False
    path, folder = path.resolve(), context.session.database.store.folder(0).parent.resolve()
    return path.is_relative_to(folder) and path.is_file()


def _check_own_file(context: Context, table: Table, name: str) -> None:
    """42501 for a file that is not in the table's own data folder, where other programs write for it, without the role
    for files of the server; and for one that is there, without SELECT.
    """
    if Path(name).resolve().is_relative_to(context.session.database.store.data_folder(table).resolve()):
        check_named_relation(context, context.binder().accesses, table, "r", [each.name for each in table.columns])
    else:
        check_file_access(context, reading=True)


def _load_data(context: Context, values: dict[str, str | None]) -> Result:
    mode = (values.get("mode") or "append").lower()
    if mode not in {"append", "replace"}:
        raise _invalid(f'load_data mode "{mode}" is neither "append" nor "replace"')
    table = find_named_table(context, values["table"] or "", "aD" if mode == "replace" else "a")
    if mode == "replace":
        lock_table(context, table, writers=True)
        fire_for_statement(context, table, TRUNCATE, BEFORE)
        context.transaction.truncate(table.oid)
        fire_for_statement(context, table, TRUNCATE, AFTER)
    table = context.transaction.table(table.oid)
    loading = LoadParameters(
        table,
        copy_from.column_defaults(context, table, ()),
        Clock(context.session.settings["TimeZone"], context.started),
        _csv_options(values),
        _number("batch_rows", values.get("batch_rows"), BATCH_ROWS, 1),
        copy_from.with_generated_columns(context, table, None),
    )
    progress = CopyProgress(table.oid, "FILE")
    context.session.running.progress = progress

    def report(step: Progress) -> None:
        progress.counts, progress.bytes_processed, progress.bytes_total = step, step.done, step.total

    count = load_files(
        values["pattern"] or "",
        loading,
        lambda batches: append_checked(context, table, batches),
        report=report,
        check=context.cancel.check,
        processes=context.session.database.store.row_processes,
    )
    context.session.database.store.activity.add_load(count)
    return Result("SELECT", function_columns(context.statement), _count_row(count))


def _count_row(count: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array([count], pa.int64())], names=["c1"])


def _csv_options(values: dict[str, str | None]) -> CopyOptions:
    header = _number("header", values.get("header"), 0, 0)
    delimiter = _character("delimiter", values.get("delimiter"), ",")
    quote = _character("quote", values.get("quote"), '"')
    null = values.get("null_text") or ""
    if delimiter in "\r\n" or quote in "\r\n" or delimiter == quote:
        raise _invalid("load_data delimiter and quote must be different characters, and no line breaks")
    if delimiter in null or quote in null or "\n" in null or "\r" in null:
        raise _invalid("load_data null_text must not have delimiter, quote or line breaks")
    return CopyOptions(
        format="csv",
        delimiter=delimiter,
        null=null,
        header="skip" if header else "none",
        header_lines=header or 1,
        quote=quote,
        escape=quote,
    )


def _invalid(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


def _character(name: str, argument: str | None, default: str) -> str:
    found = {"\\t": "\t"}.get(argument or default, argument or default)
    if len(found.encode()) != 1:
        raise _invalid(f"load_data {name} must be a single one-byte character")
    return found


def _number(name: str, argument: str | None, default: int, least: int) -> int:
    text = {"true": "1", "false": "0", "t": "1", "f": "0"}.get((argument or "").lower(), argument or "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise _invalid(f'load_data {name} must be a number from {least}, not "{argument}"')
    return int(text)


# ---- the parse tree


def read_argument(context: Context, node: Any) -> str | None:
    """The text of a constant or a parameter; 0A000 for any other expression."""
    node = strip_casts(node)
    if kind(node) == "param_ref":
        number = inner(node).number
        if not 1 <= number <= len(context.parameters):
            raise SqlError.of("undefined_parameter", f"there is no parameter ${number}")
        value = context.parameters[number - 1]
        return None if value is None else str(value)
    if kind(node) == "a_const":
        constant = read_constant(inner(node))
        return None if constant is None else format_value(constant)
    raise SqlError.of("feature_not_supported", "the arguments must be constants")
