"""`gpudb load`: files into a table, all of them in one transaction, with a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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
from gpudb.errors import SyntaxError_, UndefinedTable
from gpudb.storage.copy.options import WRITTEN
from gpudb.storage.files.schema import CsvStart, describe_csv_options
from gpudb.storage.load.progress import Progress

_QUESTION_S, _QUESTION_PART = 1.0, 0.05
"""The database is asked for its rows once in a second, or in this part of the time that has gone."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command line about the files; None is detected."""

    format: str | None = None
    create: bool = False
    header: bool | None = None
    delimiter: str | None = None
    null: str | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    rejects_table: str | None = None

    @property
    def reading(self) -> dict[str, object]:
        """What is said of csv files, as options of `read_csv`."""
        delimiter = {"\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        said = {"header": self.header, "delimiter": delimiter, "null": self.null}
        return {**{name: value for name, value in said.items() if value is not None}, **self.more}


def parse_options(texts: Sequence[str]) -> tuple[dict[str, object], str | None]:
    """Returns options `NAME=VALUE` of `read_csv` by their names, and the table of rejected rows; 42601 for others.

    NULL's texts may be said several times.
    """
    found: dict[str, object] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark:
            raise SyntaxError_(f'option "{text}" has no value', hint="Say --option NAME=VALUE.")
        name = {"nullstr": "null"}.get(name.lower(), name.lower())
        if name == "null":
            found[name] = [*found.get(name, []), value]  # type: ignore[misc]
        else:
            found[name] = value
    rejects = found.pop("rejects_table", None)
    if rejects is not None:
        found["ignore_errors"] = True
    return found, None if rejects is None else str(rejects)


class _Load:
    """How far the load is: bytes of the files that are read, and the rows that the database has stored."""

    def __init__(self, connection: Connection, total: int) -> None:
        self._connection = connection
        self._total = total
        self._finished = 0
        self._read = 0
        self._appended: int | None = None
        self._started = self._next_question = time.monotonic()
        self._copied = 0
        self.rows = 0
        self.notices: list[str] = []

    def report(self, read: int, appended: int | None) -> None:
        """Enters bytes of the current file, and the rows that were appended, None while a COPY runs."""
        self._read, self._appended = read, appended

    def finish_file(self, size: int, rows: int) -> None:
        """Enters the end of the current file, and its rows."""
        self._finished += size
        self.rows += rows
        self._copied = 0
        self.report(0, 0)

    def progress(self) -> Progress:
        """See `progress_bar.Reporting`; the database is asked for the rows of a file that is being copied."""
        rows = self._ask() if self._appended is None else self._appended
        return Progress(self._finished + self._read, self._total, self.rows + rows)

    def _ask(self) -> int:
        """Returns the rows of the file that is being copied; asks the database less often the longer it lasts."""
        now = time.monotonic()
        if now >= self._next_question:
            self._copied = self._connection.progress().rows
            self._next_question = now + max(_QUESTION_S, _QUESTION_PART * (now - self._started))
        return self._copied


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
            is_described = options.create and files[0].format == "csv"
            made_of = sources.start_csv(files[0], options.reading) if is_described else None

            def report(read: int, appended: int | None = None) -> None:
                load.report(read, appended)
                bar.update()

            for source in files:
                rows = _load_file(connection, name, source, options, made_of, report)
                load.notices += map(format_notice, connection.notices)
                load.finish_file(source.path.stat().st_size, rows)
        if made:
            console.print(f"created {table}: {made}", markup=False)
        for told in load.notices:
            console.print(told, markup=False)
    rows = load.rows
    took = time.perf_counter() - started
    number = f"{len(files)} file{'s' if len(files) > 1 else ''}"
    console.print(
        f"loaded {rows:,} rows ({format_size(total)}, {number}) in {format_duration(took)}: {rows / took:,.0f} rows/s"
    )


def _create_table(connection: Connection, name: str, source: Source, options: Options) -> str:
    """Creates the table, with names in lower case; returns its columns, and how the file is read, as it is told."""
    if source.format == "csv":
        found = sources.describe_csv(source, options.reading)
        names, types = [each.name.lower() for each in found.columns], [each.type for each in found.columns]
        told = f"; {source.path.name} has {describe_csv_options(found.options)}"
    else:
        names, types = sources.infer_columns(source, options.reading)
        told = ""
    columns = format_column_definitions(names, types)
    connection.execute(f"CREATE TABLE {name} ({columns})")
    return columns + told


def _load_file(
    connection: Connection,
    name: str,
    source: Source,
    options: Options,
    made_of: CsvStart | None,
    report: Callable[..., None],
) -> int:
    """Loads one file, calling `report(bytes read, rows appended)` as it progresses. Returns the rows."""
    try:
        table_columns = connection.table(name).columns
    except UndefinedTable as error:
        error.hint = "--create makes the table from the first file."
        raise
    if source.format in {"parquet", "arrow", "xlsx"}:
        by_name = {column.lower(): column for column in table_columns}
        rows = 0
        for batch, read in sources.read_tables(source, options.reading):
            names = [
                column_name if column_name in table_columns else by_name.get(column_name.lower(), column_name)
                for column_name in batch.column_names
            ]
            rows += connection.append(name, batch.rename_columns(names))
            report(read, rows)
        return rows
    if source.format == "text":
        clauses = ["FORMAT text", *(["HEADER"] if options.header else [])]
        clauses += [f"DELIMITER {_quote_literal(options.delimiter)}"] if options.delimiter is not None else []
        clauses += [f"NULL {_quote_literal(options.null)}"] if options.null is not None else []
        listed: tuple[str, ...] = ()
    else:
        start = sources.start_csv(source, options.reading)
        header, listed = sources.detect_header(
            source, start.first_row, table_columns, _read_header(options, start, made_of)
        )
        clauses = [*_list_clauses(start.options, options), *(["HEADER"] if header else [])]
    columns = f" ({', '.join(map(quote_identifier, listed))})" if listed else ""
    text = f"COPY {name}{columns} FROM STDIN ({', '.join(clauses)})"
    return connection.copy_from(text, sources.read_chunks(source, report))


def _read_header(options: Options, start: CsvStart, made_of: CsvStart | None) -> bool | None:
    """Returns whether there is a header, if that is said; where the table was made of a file, if it has its header."""
    if "header" in options.reading:
        return bool(start.options["header"])
    if made_of is None:
        return None
    return bool(made_of.options["header"]) and start.first_row == made_of.first_row


def _list_clauses(reader: Mapping[str, object], options: Options) -> list[str]:
    """Returns the options of COPY that read a csv file as `read_csv` reads it."""
    nulls = reader["null"] if isinstance(reader["null"], tuple) else (reader["null"],)
    clauses = ["FORMAT csv", f"NULL ({', '.join(_quote_literal(str(each)) for each in nulls)})"]
    values = {name: reader[name] for name in ("delimiter", "quote", "escape", *WRITTEN) if name in reader}
    values.setdefault("skip", 0)
    if "encoding" in reader:
        values["encoding"] = options.reading.get("encoding", reader["encoding"])
    clauses += [f"{name.upper()} {_quote_literal(str(value))}" for name, value in values.items()]
    if "ignore_errors" in reader:
        clauses.append("ON_ERROR ignore")
    if options.rejects_table is not None:
        clauses.append(f"REJECTS_TABLE {_quote_literal(options.rejects_table)}")
    return clauses


def _quote_literal(text: str) -> str:
    text = {"\\t": "\t"}.get(text, text)
    return "'" + text.replace("'", "''") + "'"
