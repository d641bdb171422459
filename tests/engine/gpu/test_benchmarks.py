"""The benchmarks' queries on workers: TPC-H, the star schema benchmark and TPC-DS, answers the embedded engine's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import tables
from gpudb.plan.errors import NotCarried
from tests.engine.conftest import Lab
from tests.engine.gpu import local
from tests.engine.gpu.test_cases import embedded, sorted_rows

TPCDS_CARRIED = 70
SUITES: dict[str, Callable[[Path], tables.Suite]] = {
    "tpch": lambda folder: tables.tpch(0.01, folder),
    "ssb": lambda folder: tables.ssb(0.01, folder),
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


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SUITES)
def test_workers_answer_every_benchmark(name: str, tmp_path: Path) -> None:
    """All of TPC-H and SSB are carried, of TPC-DS at least TPCDS_CARRIED; each answer on 1 and on 3 workers is right."""
    suite = SUITES[name](tmp_path)
    wrong: list[str] = []
    lacking: list[str] = []
    with loaded(suite) as lab:
        for query, text in suite.queries.items():
            request = lab.request(text)
            wanted = sorted_rows(embedded(lab, request))
            for workers in (1, 3):
                try:
                    given = sorted_rows(local.rows(request, workers, lab.database.cpu))
                except NotCarried as error:
                    lacking.append(f"{query}: {error.construct}")
                    break
                if given != wanted:
                    wrong.append(f"{query} on {workers}: {given[:2]} where {wanted[:2]}")
    assert not wrong, "\n".join(wrong)
    assert len(suite.queries) - len(lacking) >= (TPCDS_CARRIED if name == "tpcds" else len(suite.queries)), lacking
