"""The commands and their options. Each command is implemented in the file of its name, imported when it runs."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from gpudb.errors import GpudbError

app = typer.Typer(
    name="gpudb",
    help="A distributed GPU analytics database that speaks PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DataDir = Annotated[Path | None, typer.Option("--data-dir", metavar="DIR", help="Where tables live.")]
Url = Annotated[str | None, typer.Option("--url", help="A server: postgresql://user@host:port/database.")]


def _show_version(requested: bool) -> None:
    if requested:
        print(f"gpudb {version('gpudb')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Tell the version.")
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port; 0 takes a free one.  [default: 5433]")] = None,
    data_dir: DataDir = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A TOML file of settings.")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="What the engine may use, such as 8GB.")] = None,
    max_connections: Annotated[int | None, typer.Option(help="Clients at once.  [default: 1000]")] = None,
    temp_file_limit: Annotated[str | None, typer.Option(help="Limit of temporary files, such as 100GB.")] = None,
    shutdown_timeout: Annotated[
        float | None, typer.Option(help="Seconds that transactions have after SIGTERM.  [default: 5]")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key, PEM.")] = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Log statements there.")] = None,
    engine: Annotated[str | None, typer.Option(help="auto, cpu, twin or gpu.  [default: auto]")] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Worker processes of the twin engine, or how many of a scheduler's.  [default: 2, or all]"),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
    ] = None,
) -> None:
    """Serve PostgreSQL clients until SIGTERM or Ctrl-C."""
    from gpudb import config as configuration
    from gpudb.cli.serve import serve as run

    run(
        configuration.load(
            config,
            host=host,
            port=port,
            data_dir=data_dir,
            memory_limit=memory_limit,
            max_connections=max_connections,
            temp_file_limit=temp_file_limit,
            shutdown_timeout=shutdown_timeout,
            tls_cert=tls_cert,
            tls_key=tls_key,
            statement_log=log,
            engine=engine,
            workers=workers,
            scheduler=scheduler,
        )
    )


@app.command()
def sql(
    target: Annotated[
        str | None, typer.Argument(metavar="[URL | DIR]", help="A server's URL, or a data directory.")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Option("--command", "-c", metavar="SQL", help="Run it and leave.")
    ] = None,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """A SQL shell on a server or, without one, on a database in this process."""
    from gpudb.cli.sql import run

    raise typer.Exit(run(_get_target(target, data_dir, url), command or []))


@app.command()
def load(
    table: Annotated[str, typer.Argument(help="The table; schema.table for one elsewhere.")],
    files: Annotated[list[str], typer.Argument(metavar="FILES…", help="Files, or globs.")],
    url: Url = None,
    data_dir: DataDir = None,
    format: Annotated[
        str | None, typer.Option("--format", help="csv, text, parquet or arrow; by the name otherwise.")
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Make the table from the first file.")] = False,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether csv files have a first line of names.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Between values of csv and text files.")] = None,
    null: Annotated[str | None, typer.Option(help="What stands for NULL in csv and text files.")] = None,
) -> None:
    """Load files into a table, all of them or nothing. .gz and .zst are unpacked."""
    from gpudb.cli.load import Options, run

    options = Options(format, create=create, header=header, delimiter=delimiter, null=null)
    run(_get_target(None, data_dir, url), table, files, options)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1, help="How many taxi rides.")] = 2_000_000,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", metavar="DIR", help="Keep tables there; else temporary.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running.")] = False,
    seed: Annotated[int, typer.Option(help="Rides of one seed are the same everywhere.")] = 1,
) -> None:
    """Serve, load taxi rides with COPY, run the four taxi queries, and tell how to connect."""
    from gpudb.cli.demo import run

    run(rows, data_dir, keep=keep, seed=seed)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False, data_dir: DataDir = None) -> None:
    """What is here: GPUs, drivers, libraries, disk and memory; and what to do about what is missing."""
    from gpudb.cli.doctor import run

    run(as_json=as_json, data_dir=data_dir)


def _get_target(argument: str | None, data_dir: Path | None, url: str | None) -> str | None:
    targets = [value for value in (argument, str(data_dir) if data_dir else None, url) if value is not None]
    if len(targets) > 1:
        raise typer.BadParameter("name one of a URL and a data directory")
    return targets[0] if targets else None


def main() -> None:
    """Runs a command; an error is printed in PostgreSQL's form, with exit status 1."""
    try:
        app()
    except GpudbError as error:
        from gpudb.cli.output import format_error

        sys.stderr.write(format_error(error) + "\n")
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader of our output has closed it: exit silently, and keep Python from reporting it at exit.
        sys.stderr.close()
        raise SystemExit(141) from None
