"""Files as a relation in DuckDB's SQL: its readers, and the conversion of their columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gpudb.catalog.file_tables import FileColumn, FileStamp, FileTable
from gpudb.duckdb.literals import quote_identifier, quote_literal
from gpudb.storage.files.discovery import read_folders
from gpudb.storage.files.types import render_value
from gpudb.storage.object_stores.addresses import read_address
from gpudb.storage.object_stores.duckdb_files import PROTOCOL, make_path

PATH = "gpudb$path"
"""The column of the path of each row's file, as DuckDB names the file."""
READ_DATES = "dateformat = '%Y-%m-%d'"
"""The form of dates in csv files, if no option tells another one."""
_STORED = rf"^{PROTOCOL}://\d+/([a-z0-9]+)/"


def get_reader_path(file: FileStamp) -> str:
    """Returns the path by which DuckDB opens a file or an object."""
    return file.path if file.store is None else make_path(file.store, read_address(file.path))


def quote_path(file: FileStamp) -> str:
    """Returns a file's path as a literal for DuckDB's readers, which take no part of it for a pattern."""
    path = get_reader_path(file)
    return quote_literal("".join(f"[{each}]" if each in "*?[" else each for each in path))


def render_csv_options(options: Mapping[str, object]) -> str:
    """Returns the options of csv as those of DuckDB's reader."""
    # An unquoted empty field is NULL, a quoted one an empty text, as for COPY
    return f"{render_sniffed(options)}, header = {str(options['header']).lower()}, allow_quoted_nulls = false"


def render_sniffed(options: Mapping[str, object]) -> str:
    """Returns the options of csv that tell how its fields are written as those of DuckDB's reader and sniffer."""
    nulls = options["null"] if isinstance(options["null"], tuple) else (options["null"],)
    texts = [
        f"{_DUCKDB_NAMES.get(name, name)} = {quote_literal(str(options[name]))}"
        for name in ("delimiter", "quote", "escape", "compression", *_FORMS)
        if options.get(name)
    ]
    return ", ".join([*texts, f"nullstr = [{', '.join(quote_literal(str(each)) for each in nulls)}]"])


_DUCKDB_NAMES = {"delimiter": "delim"}
_FORMS = ("thousands", "decimal_separator", "dateformat", "timestampformat")


def render_files(table: FileTable) -> str:
    """Returns a SELECT over files of a format that DuckDB reads, for use in parentheses in a FROM.

    Its columns have the names of the table's, hidden ones included, and are of `SqlType.duckdb`. Projections and
    filters on it reach the readers.
    """
    columns = (*table.columns, *table.hidden)
    remote = any(file.store is not None for file in table.files)
    outputs = [f"{_render_column(each, remote=remote)} AS {quote_identifier(each.name)}" for each in columns]
    return f"SELECT {', '.join(outputs)} FROM {_render_reader(table)}"


def _render_column(column: FileColumn, *, remote: bool) -> str:
    if column.origin == "path":
        return render_path(remote=remote)
    return render_value(quote_identifier(column.name), column.held, column.type)


def render_path(*, remote: bool) -> str:
    """Returns the SQL of a file's path or address; `remote` is whether it may be an address."""
    path = quote_identifier(PATH)
    return f"regexp_replace({path}, '{_STORED}', '\\1://')" if remote else path


def render_sources(table: FileTable, sources: Sequence[tuple[str, Collection[str]]]) -> str:
    """Returns what `render_files` does for files of other formats: for each a relation that has some columns."""
    parts = []
    paths = [file.path for file in table.files] or [""]  # rows of another server are in no file
    for path, (source, held) in zip(paths, sources, strict=True):
        folders = read_folders(path)
        outputs = []
        for column in (*table.columns, *table.hidden):
            if column.origin == "path":
                value = quote_literal(path)
            elif column.origin == "folder":
                known = folders[column.name]
                value = f"CAST({'NULL' if known is None else quote_literal(known)} AS {column.type.duckdb})"
            elif column.name in held:
                value = render_value(quote_identifier(column.name), column.held, column.type)
            else:
                value = f"CAST(NULL AS {column.type.duckdb})"
            outputs.append(f"{value} AS {quote_identifier(column.name)}")
        parts.append(f"SELECT {', '.join(outputs)} FROM {quote_identifier(source)}")
    return " UNION ALL ".join(parts)


def _render_reader(table: FileTable) -> str:
    paths = ", ".join(quote_path(file) for file in table.files)
    own = [column for column in table.columns if column.origin == "file"]
    folders = [column for column in table.columns if column.origin == "folder"]
    options = [f"filename = {quote_literal(PATH)}", f"hive_partitioning = {str(bool(folders)).lower()}"]
    if folders:
        options.append(f"hive_types = {_render_types(folders)}")
    if table.by_name:
        options.append("union_by_name = true")
    if table.format == "parquet":
        # Ranges in the footers leave NaN out
        return f"read_parquet([{paths}], {', '.join(options)}, can_have_nan = true)"
    # Types are those that the statement was bound with; matched by name they may be in another order in a file
    by_name = table.by_name and table.format == "csv"
    options.append(f"{'types' if by_name else 'columns'} = {_render_types(own)}")
    if table.format == "csv":
        options += [] if by_name else ["auto_detect = false"]
        options += [render_csv_options(table.options), READ_DATES]
        return f"read_csv([{paths}], {', '.join(options)})"
    if "compression" in table.options:
        options.append(f"compression = {quote_literal(str(table.options['compression']))}")
    return f"read_json([{paths}], format = 'auto', {', '.join(options)})"


def _render_types(columns: Sequence[FileColumn]) -> str:
    pairs = (f"{quote_literal(column.name)}: {quote_literal(_type_to_read(column))}" for column in columns)
    return f"{{{', '.join(pairs)}}}"


def _type_to_read(column: FileColumn) -> str:
    """Returns the type that a reader of texts is to give: nested values of JSON stay as they are written."""
    return "JSON" if column.type.name == "json" else column.held
