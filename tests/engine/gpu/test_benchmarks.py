"""TPC-H, the star schema benchmark, the taxi rides and TPC-DS on workers: every query returns the embedded answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks import tables
from gpudb.plan.errors import NotSupportedOnWorkers
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import COUNTS, embedded, sorted_rows
from tests.support.gpu.suites import SUITES, loaded


def compared(suite: tables.Suite, counts: Callable[[int], Sequence[int]]) -> tuple[list[str], list[str]]:
    """Returns workers' answers that differ from the embedded engine's, and unsupported queries.

    `counts` of a query's number are the numbers of workers on which it runs; a query without any is left out.
    """
    wrong: list[str] = []
    lacking: list[str] = []
    with loaded(suite) as lab:
        for number, (query, text) in enumerate(suite.queries.items()):
            if not counts(number):
                continue
            request = lab.request(text)
            wanted = sorted_rows(embedded(lab, request))
            for workers in counts(number):
                try:
                    given = sorted_rows(local_stages.rows(request, workers, lab.database.cpu))
                except NotSupportedOnWorkers as error:
                    lacking.append(f"{query}: {error.construct}")
                    break
                if given != wanted:
                    wrong.append(f"{query} on {workers}: {given[:2]} where {wanted[:2]}")
    return wrong, lacking


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SUITES)
def test_workers_answer_every_benchmark(name: str, tmp_path: Path) -> None:
    """Each answer is right on 1, 2 or 4 workers in turn, and so is one in four of TPC-DS's many."""
    wrong, lacking = compared(
        SUITES[name](tmp_path), lambda n: () if name == "tpcds" and n % 4 else COUNTS[n % 3 :][:1]
    )
    assert not wrong, "\n".join(wrong)
    assert not lacking


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SUITES)
def test_every_count_of_workers_answers_every_query(name: str, tmp_path: Path) -> None:
    wrong, lacking = compared(SUITES[name](tmp_path), lambda _: COUNTS)
    assert not wrong, "\n".join(wrong)
    assert not lacking
