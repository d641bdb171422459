"""The commands and their options. Each command is implemented in the file of its name, imported when it runs."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.models import CommandInfo

from gpudb.cli.text_command import TextCommand, TextGroup
from gpudb.distribution import __version__
from gpudb.errors import GpudbError

app = typer.Typer(
    name="gpudb",
    cls=TextGroup,
    help="A distributed GPU analytics database that speaks PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DataDir = Annotated[Path | None, typer.Option("--data-dir", metavar="DIR", help="The data directory.")]
Url = Annotated[str | None, typer.Option("--url", help="A server's URL: postgresql://user@host:port/database.")]


def _show_version(requested: bool) -> None:
    if requested:
        print(f"gpudb {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    context: typer.Context,  # has the values of all options, which are named as their settings
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port; 0 selects a free one.  [default: 5433]")] = None,
    http_host: Annotated[str | None, typer.Option(help="Address of HTTP.  [default: 127.0.0.1]")] = None,
    http_port: Annotated[
        int | None, typer.Option(help="TCP port of HTTP: console, health, metrics; 0 selects a free one.")
    ] = None,
    http_tls: Annotated[bool | None, typer.Option("--http-tls", help="Encrypt HTTP, by --tls-cert.")] = None,
    data_dir: DataDir = None,
    catalog: Annotated[
        str | None, typer.Option(metavar="URL", help="PostgreSQL that has the catalog, for several servers.")
    ] = None,
    tables_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Prefix of an object storage for the tables' files.")
    ] = None,
    read_only: Annotated[bool | None, typer.Option("--read-only", help="Refuse every write.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="TOML file of settings.")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Memory limit of the CPU engine, such as 8GB.")] = None,
    max_connections: Annotated[int | None, typer.Option(help="Maximum number of clients.  [default: 1000]")] = None,
    temp_file_limit: Annotated[str | None, typer.Option(help="Limit of temporary files, such as 100GB.")] = None,
    shutdown_timeout: Annotated[
        float | None, typer.Option(help="Seconds that transactions have after SIGTERM.  [default: 5]")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate chain in PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Private key of the certificate in PEM.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(metavar="FILE", help="Authorities of clients in PEM.")] = None,
    hba_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Rules of who may connect.")] = None,
    audit_log: Annotated[Path | None, typer.Option(metavar="FILE", help="File of the audit log.")] = None,
    statement_log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="File of the statement log.")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="Engine: auto, cpu, twin or gpu.  [default: auto]")] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Number of workers of twin, or of a scheduler.  [default: 2, or all]"),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers run the statements.")
    ] = None,
    cluster_tls_ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Authority of the scheduler's cluster in PEM.")
    ] = None,
    cluster_tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="This server's certificate for the scheduler in PEM.")
    ] = None,
    cluster_tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Private key of that certificate in PEM.")
    ] = None,
    cluster_insecure: Annotated[
        bool | None, typer.Option("--cluster-insecure", help="Use a scheduler without certificates.")
    ] = None,
) -> None:
    """Serve PostgreSQL clients until SIGTERM or Ctrl-C."""
    from gpudb.cli.serve import serve as run
    from gpudb.config import program

    run(program.load(config, **{name: value for name, value in context.params.items() if name != "config"}))


@app.command(cls=TextCommand)
def sql(
    target: Annotated[
        str | None, typer.Argument(metavar="[URL | DIR]", help="A server's URL, or a data directory.")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Option("--command", "-c", metavar="SQL", help="Run the statement and exit.")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="aligned, unaligned, csv, json, markdown, html, parquet, arrow or xlsx."
        ),
    ] = "aligned",
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Start a SQL shell on a server, or on a database in this process."""
    from gpudb.cli.sql import run

    raise typer.Exit(run(_get_target(target, data_dir, url), command or [], form))


@app.command()
def top(
    target: Annotated[str | None, typer.Argument(metavar="[URL]", help="A server's URL.")] = None,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and exit.")] = False,
    sort: Annotated[str, typer.Option(help="Order of the statements: time, calls, mean or rows.")] = "time",
    url: Url = None,
) -> None:
    """Show a server's sessions, statements, queue and devices, live."""
    from gpudb.cli.top import run

    server = _get_target(target, None, url) or "postgresql://gpudb@127.0.0.1:5433/gpudb"
    raise typer.Exit(run(server, interval=interval, once=once, sort=sort))


@app.command()
def load(
    table: Annotated[str, typer.Argument(help="The table's name, with its schema if necessary.")],
    files: Annotated[list[str], typer.Argument(metavar="FILES…", help="Files or patterns of names.")],
    url: Url = None,
    data_dir: DataDir = None,
    format: Annotated[
        str | None, typer.Option("--format", help="csv, text, parquet, arrow or xlsx.  [default: by the file's name]")
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the table from the first file's columns.")] = False,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether csv files begin with a line of column names.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of values in csv and text files.")] = None,
    null: Annotated[str | None, typer.Option(help="Text of NULL in csv and text files.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of read_csv() for csv files, such as encoding=LATIN1 or skip=2; also rejects_table.",
        ),
    ] = None,
) -> None:
    """Load files into a table in one transaction. Files named .gz and .zst are decompressed."""
    from gpudb.cli.load import Options, parse_options, run

    more, rejects = parse_options(option or [])
    options = Options(format, create, header, delimiter, null, more, rejects)
    run(_get_target(None, data_dir, url), table, files, options)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1, help="Number of taxi rides.")] = 2_000_000,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", metavar="DIR", help="Data directory.  [default: a temporary one]"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running.")] = False,
    console: Annotated[bool, typer.Option("--console", help="Serve the console, and open a dashboard.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the generated rides.")] = 1,
    port: Annotated[
        int | None, typer.Option(help="TCP port; 0 selects a free one.  [default: 5433, or a free one]")
    ] = None,
) -> None:
    """Serve, load taxi rides with COPY, run the four taxi queries, and print how to connect."""
    from gpudb.cli.demo import run

    run(rows, data_dir, keep=keep, console=console, seed=seed, port=port)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, data_dir: DataDir = None
) -> None:
    """Report GPUs, drivers, libraries, disk and memory, and how to install what is missing."""
    from gpudb.cli.doctor import run

    run(as_json=as_json, data_dir=data_dir)


@app.command()
def check(
    data_dir: DataDir = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read every file and verify its pages' checksums.")] = False,
) -> None:
    """Verify a data directory that no server has open; exit status 1 if something is wrong."""
    from gpudb.cli.maintenance import check as run
    from gpudb.config import program

    raise typer.Exit(run(program.load(data_dir=data_dir).data_dir, deep=deep))


@app.command("repair")
def repair_command(
    data_dir: DataDir = None,
    purge: Annotated[bool, typer.Option("--purge", help="Also remove the files in lost+found.")] = False,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="Repair this table from its kept snapshots.")
    ] = None,
    snapshot: Annotated[
        int | None,
        typer.Option("--snapshot", metavar="ID", help="With --table, its snapshot.  [default: the newest whole one]"),
    ] = None,
) -> None:
    """Rebuild a catalog that is lost, damaged or outdated, or with --table restore a damaged table."""
    from gpudb.cli.maintenance import repair, repair_table
    from gpudb.config import program

    directory = program.load(data_dir=data_dir).data_dir
    if table is not None:
        raise typer.Exit(repair_table(directory, table, snapshot))
    if snapshot is not None:
        raise typer.BadParameter("--snapshot goes with --table")
    raise typer.Exit(repair(directory, purge=purge))


@app.command("move-catalog")
def move_catalog_command(
    data_dir: DataDir = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="The database of PostgreSQL that gets the catalog.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="The database of PostgreSQL that has the catalog.")
    ] = None,
) -> None:
    """Move the catalog of a data directory that no server has open to PostgreSQL, or back from there."""
    from gpudb.cli.maintenance import move_catalog
    from gpudb.config import program

    if (to is None) is (source is None):
        raise typer.BadParameter("give either --to or --from")
    move_catalog(program.load(data_dir=data_dir).data_dir, to=to, source=source)


@app.command()
def backup(
    destination: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder, or URL such as s3://bucket/prefix.")],
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Add a backup of a running server, or of a data directory, to a folder or a URL."""
    from gpudb.cli.backup import backup as run
    from gpudb.config import program

    run(_get_target(None, data_dir, url) or program.load().data_dir, destination)


@app.command()
def restore(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder or URL of backups.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New data directory.")],
    id: Annotated[str | None, typer.Option("--backup", metavar="ID", help="The backup.  [default: the last]")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Restore the state of a time that the backups reach.")
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace the data directory DIR, which is kept under another name.")
    ] = False,
) -> None:
    """Restore a backup into a new data directory, or with --in-place in the place of one."""
    from gpudb.cli.backup import restore as run

    run(source, directory, id=id, at=at, in_place=in_place)


@app.command()
def verify_backup(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder or URL of backups.")],
) -> None:
    """List the backups of a folder and verify all their files; exit status 1 if one is damaged."""
    from gpudb.cli.backup import verify as run

    raise typer.Exit(run(source))


@app.command()
def cluster_certificates(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory without certificates.")],
) -> None:
    """Make the certificates of a Dask scheduler, its workers and a server that uses them."""
    from gpudb.cli.cluster_certificates import run

    run(directory)


def _get_target(argument: str | None, data_dir: Path | None, url: str | None) -> str | None:
    targets = [value for value in (argument, str(data_dir) if data_dir else None, url) if value is not None]
    if len(targets) > 1:
        raise typer.BadParameter("name one of a URL and a data directory")
    return targets[0] if targets else None


def _select_command(words: list[str]) -> typer.Typer:
    """Returns the application with the one command that is called: reading the options of all of them takes longer."""
    called = [each for each in app.registered_commands if _get_name(each) == words[0]] if words else []
    if not called:
        return app
    selected = copy.copy(app)
    selected.registered_commands = called
    return selected


def _get_name(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__.replace("_", "-")


def main() -> None:
    """Runs a command; an error is printed in PostgreSQL's form, with exit status 1."""
    try:
        _select_command(sys.argv[1:2])()
    except GpudbError as error:
        from gpudb.api.messages import format_error

        sys.stderr.write(format_error(error) + "\n")
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader of our output has closed it: exit silently, and keep Python from reporting it at exit.
        sys.stderr.close()
        raise SystemExit(141) from None
