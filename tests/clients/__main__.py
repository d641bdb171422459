"""Runs the scenarios of all clients, or of those named; writes matrix.json and the table in docs/clients.md.

Arguments: names of families (`node`) or of scenarios (`pg_client`). `--engine twin` goes to the server,
`--dry` writes nothing. `--given` runs against the server that PGHOST, PGPORT, PGUSER, PGPASSWORD and PGSSLROOTCERT name,
such as a PostgreSQL to compare with, and writes nothing. Exits with 1 if a check failed that the matrix has as passed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import gpudb
from tests.clients import matrix, server
from tests.clients.families import FAMILIES, Family
from tests.clients.matrix import Matrix, Result, shorten
from tests.clients.scenarios import MissingError, Scenario, run


def main() -> int:
    """Runs them one after the other."""
    options = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--engine", default="cpu")
    options.add_argument("--dry", action="store_true")
    options.add_argument("--given", action="store_true")
    given = options.parse_args()
    chosen = [(family, each) for family in FAMILIES for each in family.scenarios() if _chosen(each, given.names)]
    earlier = matrix.load() if matrix.MATRIX.exists() else Matrix(gpudb.__version__, "", [])
    known = {result.client: {check.name for check in result.failed} for result in earlier.results}
    results, worse = [], 0
    with tempfile.TemporaryDirectory(prefix="gpudb-clients-") as folder, ExitStack() as stack:
        own_server = server.running(Path(folder), "--engine", given.engine)
        running = server.given() if given.given else stack.enter_context(own_server)
        for number, (family, scenario) in enumerate(chosen):
            own = Path(folder) / str(number)
            own.mkdir()
            result = _result(family, scenario, running, own)
            results.append(result)
            if not (given.dry or given.given):
                _write(result)
            _show(result)
            worse += len({check.name for check in result.failed} - known.get(result.client, set()))
    checks = [check for result in results for check in result.checks]
    skipped = sum(result.skipped is not None for result in results)
    failed = sum(check.error is not None for check in checks)
    print(
        f"{len(results) - skipped} clients, {skipped} skipped: {len(checks) - failed} passed, {failed} failed, {worse} new"
    )
    return 1 if worse else 0


def _write(result: Result) -> None:
    """Puts a result into the matrix, which another run may write meanwhile, and into the guide."""
    earlier = matrix.load() if matrix.MATRIX.exists() else Matrix(gpudb.__version__, "", [])
    made = earlier.merge(Matrix(gpudb.__version__, dt.date.today().isoformat(), [result]))
    matrix.save(made)
    matrix.write_page(made)


def _chosen(scenario: Scenario, names: list[str]) -> bool:
    return not names or scenario.family in names or scenario.name in names


def _result(family: Family, scenario: Scenario, running: server.Server, folder: Path) -> Result:
    try:
        command = family.command(scenario)
    except MissingError as error:
        return Result(scenario.client, scenario.family, skipped=shorten(str(error)))
    with running.database(scenario.database) as environment:
        return run(scenario, command, environment, folder)


def _show(result: Result) -> None:
    if result.skipped is not None:
        print(f"{result.client}: skipped, {result.skipped}", flush=True)
        return
    print(f"{result.client} {result.version}: {len(result.checks)} checks, {len(result.failed)} failed", flush=True)
    for check in result.failed:
        print(f"    {check.feature}, {check.name}: {check.error}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
