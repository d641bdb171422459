"""`gpudb load`: files into a table, all of them in one transaction, with a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

import gpudb.api
from gpudb import config
from gpudb.api.connection import Connection
from gpudb.api.names import format_column_definitions, qualify, quote_identifier
from gpudb.cli import sources
from gpudb.cli.output import format_duration, format_notice, format_size
from gpudb.cli.sources import Source
from gpudb.errors import UndefinedTable


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command line about the files; None is detected."""

    format: str | None = None
    create: bool = False
    header: bool | None = None
    delimiter: str | None = None
    null: str | None = None


def run(target: str | None, table: str, patterns: list[str], options: Options) -> None:
    """Loads the files. Errors: 58P01 for a missing file, 0A000 for a format, and those of COPY and INSERT."""
    files = sources.find_sources(patterns, options.format)
    total = sum(source.path.stat().st_size for source in files)
    console = Console(highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[rows]:,} rows, {task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
    )
    rows = 0
    with gpudb.api.connect(target or config.load().data_dir) as connection:
        started = time.perf_counter()
        with (
            Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
            connection.transaction(),
        ):
            task = progress.add_task("", total=total, rows=0, rate=0.0)
            before = 0
            name = qualify(table)
            if options.create:
                _create_table(connection, name, files[0], options)
            for source in files:

                def report(read: int, seen: int, base: int = before, count: int = rows) -> None:
                    rate = (count + seen) / (time.perf_counter() - started)
                    progress.update(task, completed=base + read, rows=count + seen, rate=rate)

                progress.update(task, description=source.path.name)
                rows += _load_file(connection, name, source, options, report)
                before += source.path.stat().st_size
                progress.update(task, completed=before, rows=rows)
        for notice in connection.notices:
            console.print(format_notice(notice), markup=False)
    took = time.perf_counter() - started
    number = f"{len(files)} file{'s' if len(files) > 1 else ''}"
    console.print(
        f"loaded {rows:,} rows ({format_size(total)}, {number}) in {format_duration(took)}: {rows / took:,.0f} rows/s"
    )


def _create_table(connection: Connection, name: str, source: Source, options: Options) -> None:
    names, types = sources.infer_columns(source, options.header, options.delimiter)
    connection.execute(f"CREATE TABLE {name} ({format_column_definitions(names, types)})")


def _load_file(
    connection: Connection, name: str, source: Source, options: Options, report: Callable[[int, int], None]
) -> int:
    """Loads one file, calling `report(bytes read, rows seen)` as it progresses. Returns the number of rows."""
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
    delimiter = options.delimiter or source.delimiter
    if delimiter is not None:
        clauses.append(f"DELIMITER {_quote_literal(delimiter)}")
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
