"""The benchmark suites at small scale, loaded into a lab."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import tables
from tests.support.lab import Lab

SUITES: dict[str, Callable[[Path], tables.Suite]] = {
    "tpch": lambda folder: tables.tpch(0.01, folder),
    "ssb": lambda folder: tables.ssb(0.01, folder),
    "taxi": lambda folder: tables.taxi(100_000, folder),
    "tpcds": lambda folder: tables.tpcds(0.01, folder),
}


@contextlib.contextmanager
def loaded(suite: tables.Suite) -> Iterator[Lab]:
    lab = Lab()
    try:
        for statement in suite.schema:
            lab.run(statement)
        for table, path in suite.tables.items():
            lab.run(f"SELECT load_data('{table}', '{path}')")
        yield lab
    finally:
        lab.close()
