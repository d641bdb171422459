"""`gpudb load`: files into a table, all of them in one transaction, with a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

import gpudb.api
from gpudb.api.connection import Connection
from gpudb.api.messages import format_notice
from gpudb.api.names import format_column_definitions, qualify, quote_identifier
from gpudb.api.progress_bar import ProgressBar
from gpudb.cli import sources
from gpudb.cli.output import format_duration, format_size
from gpudb.cli.sources import Source
from gpudb.config import program
from gpudb.errors import UndefinedTable
from gpudb.storage.load.progress import Progress


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command line about the files; None is detected."""

    format: str | None = None
    create: bool = False
    header: bool | None = None
    delimiter: str | None = None
    null: str | None = None


class _Load:
    """How far the load is: bytes of the files that are read, and the rows that the database has stored."""

    def __init__(self, connection: Connection, total: int) -> None:
        self._connection = connection
        self._total = total
        self._finished = 0
        self._read = 0
        self._appended: int | None = None
        self.rows = 0

    def report(self, read: int, appended: int | None) -> None:
        """Enters bytes of the current file, and the rows that were appended, None while a COPY runs."""
        self._read, self._appended = read, appended

    def finish_file(self, size: int, rows: int) -> None:
        """Enters the end of the current file, and its rows."""
        self._finished += size
        self.rows += rows
        self.report(0, 0)

    def progress(self) -> Progress:
        """See `progress_bar.Reporting`; the database is asked for the rows of a file that is being copied."""
        rows = self._connection.progress().rows if self._appended is None else self._appended
        return Progress(self._finished + self._read, self._total, self.rows + rows)


def run(target: str | None, table: str, patterns: list[str], options: Options) -> None:
    """Loads the files. Errors: 58P01 for a missing file, 0A000 for a format, and those of COPY and INSERT."""
    files = sources.find_sources(patterns, options.format)
    total = sum(source.path.stat().st_size for source in files)
    console = Console(highlight=False, soft_wrap=True)
    with gpudb.api.connect(target or program.load().data_dir) as connection:
        started = time.perf_counter()
        load = _Load(connection, total)
        with ProgressBar(load) as bar, connection.transaction():
            name = qualify(table)
            made = _create_table(connection, name, files[0], options) if options.create else ""

            def report(read: int, appended: int | None = None) -> None:
                load.report(read, appended)
                bar.update()

            for source in files:
                rows = _load_file(connection, name, source, options, report)
                load.finish_file(source.path.stat().st_size, rows)
        if made:
            console.print(f"created {table}: {made}", markup=False)
        for notice in connection.notices:
            console.print(format_notice(notice), markup=False)
    rows = load.rows
    took = time.perf_counter() - started
    number = f"{len(files)} file{'s' if len(files) > 1 else ''}"
    console.print(
        f"loaded {rows:,} rows ({format_size(total)}, {number}) in {format_duration(took)}: {rows / took:,.0f} rows/s"
    )


def _create_table(connection: Connection, name: str, source: Source, options: Options) -> str:
    """Creates the table, with names in lower case; returns its columns, and how the file is read, as it is told."""
    if source.format == "csv":
        found = sources.describe_csv(source, options.header, options.delimiter, options.null)
        names, types = [each.name.lower() for each in found.columns], [each.type for each in found.columns]
        header = "a header" if found.options["header"] else "no header"
        told = f"; {source.path.name} has {header} and the delimiter {found.options['delimiter']!r}"
    else:
        names, types = sources.infer_columns(source)
        told = ""
    columns = format_column_definitions(names, types)
    connection.execute(f"CREATE TABLE {name} ({columns})")
    return columns + told


def _load_file(connection: Connection, name: str, source: Source, options: Options, report: Callable[..., None]) -> int:
    """Loads one file, calling `report(bytes read, rows appended)` as it progresses. Returns the rows."""
    try:
        table_columns = connection.table(name).columns
    except UndefinedTable as error:
        error.hint = "--create makes the table from the first file."
        raise
    if source.format in {"parquet", "arrow"}:
        by_name = {column.lower(): column for column in table_columns}
        rows = 0
        for batch, read in sources.read_tables(source):
            names = [
                column_name if column_name in table_columns else by_name.get(column_name.lower(), column_name)
                for column_name in batch.column_names
            ]
            rows += connection.append(name, batch.rename_columns(names))
            report(read, rows)
        return rows
    header, header_columns = sources.detect_header(source, table_columns, options.header, options.delimiter)
    clauses = [f"FORMAT {source.format}"]
    if header:
        clauses.append("HEADER")
    if source.format == "csv":
        clauses.append(f"DELIMITER {_quote_literal(sources.find_delimiter(source, options.delimiter))}")
    elif options.delimiter is not None:
        clauses.append(f"DELIMITER {_quote_literal(options.delimiter)}")
    if options.null is not None:
        clauses.append(f"NULL {_quote_literal(options.null)}")
    columns = (
        f" ({', '.join(quote_identifier(column_name) for column_name in header_columns)})" if header_columns else ""
    )
    text = f"COPY {name}{columns} FROM STDIN ({', '.join(clauses)})"
    return connection.copy_from(text, sources.read_chunks(source, report))


def _quote_literal(text: str) -> str:
    text = {"\\t": "\t"}.get(text, text)
    return "'" + text.replace("'", "''") + "'"
