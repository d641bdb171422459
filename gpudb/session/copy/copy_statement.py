"""COPY: direction, options, and access to server files."""

from __future__ import annotations

from typing import Any

from gpudb.engine.sharing import SharePlace
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.copy import copy_from, copy_to
from gpudb.session.copy.copy_partitions import check_partition_columns
from gpudb.session.copy.object_files import stage_object
from gpudb.session.copy.server_files import check_file_access, writable_file
from gpudb.session.copy.share_rows import share_rows
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, position
from gpudb.sql.parse.values import read_option
from gpudb.storage.copy.options import (
    CopyOptions,
    OptionError,
    RawOption,
    validate_options,
)
from gpudb.storage.object_stores.addresses import is_remote


def copy(context: Context) -> Result:
    """COPY table | (query) FROM | TO STDIN | STDOUT | 'file'."""
    node: Any = context.statement.node
    reading = bool(node.is_from)
    if node.is_program:
        check_file_access(context, reading, program=True)
        raise FeatureNotSupported("COPY … PROGRAM is not supported", hint="Pipe the program into COPY FROM STDIN.")
    if node.filename:
        check_file_access(context, reading)
    options = _options(context, node, reading)
    if reading:
        table, columns = copy_from.resolve_target(context, node)
        if not table.temporary:
            context.check_writable("COPY FROM")
        _check_forced(options, tuple(c.name for c in columns), table.name, tuple(c.name for c in table.columns))
        if node.filename:
            return copy_from.from_file(context, node, table, columns, options, node.filename)
        return copy_from.from_client(context, node, table, columns, options)
    source = copy_to.resolve_source(context, node)
    names = tuple(column.name for column in source.columns)
    _check_forced(options, names, source.relation, source.all_names)
    if options.format in {"memory", "device_memory"}:
        if node.filename:
            raise FeatureNotSupported(f"COPY TO a file in the format {options.format} is not supported")
        return share_rows(context, source, SharePlace(options.format))
    if options.partition_by:
        if not node.filename:
            raise FeatureNotSupported("COPY partition_by writes to a folder, not to STDOUT")
        check_partition_columns(source.columns, options.partition_by)
    if options.format == "json":
        source = copy_to.as_objects(context, node, source, options.partition_by)
    if not node.filename:
        return copy_to.to_client(context, source, options)
    if options.format == "text" and node.filename.lower().endswith(".csv"):
        message = f'"{node.filename}" is written in the format text, with tabs'
        context.notice(message, severity="WARNING", sqlstate="01000", hint="FORMAT csv writes commas and quotes.")
    write = copy_to.to_folder if options.partition_by else copy_to.to_file
    if is_remote(node.filename):
        with stage_object(context, node.filename) as staged:
            return write(context, source, options, staged)
    return write(context, source, options, writable_file(node.filename))


def _options(context: Context, node: Any, reading: bool) -> CopyOptions:
    options = [RawOption(option.defname, read_option(option), option.location) for option in map(inner, node.options)]
    encoding = context.session.settings["client_encoding"]
    try:
        return validate_options(options, reading=reading, encoding=encoding, file=node.filename)
    except OptionError as error:
        raise error.error.at(position(context.statement.text, error.location)) from None


def _check_forced(
    options: CopyOptions, names: tuple[str, ...], relation: str | None, all_names: tuple[str, ...]
) -> None:
    """42703 and 42P10 for the columns of FORCE_… options."""
    for option in ("force_quote", "force_not_null", "force_null"):
        for name in getattr(options, option):
            if name == "*" and getattr(options, option) == "*":
                continue
            if name not in all_names:
                of = f' of relation "{relation}"' if relation else ""
                raise SqlError.of("undefined_column", f'column "{name}"{of} does not exist')
            if name not in names:
                message = f'{option.upper()} column "{name}" not referenced by COPY'
                raise SqlError.of("invalid_column_reference", message)
