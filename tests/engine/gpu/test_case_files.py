"""The SELECTs of the case files on workers, fused too: supported ones return the embedded engine's answers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pytest

from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from tests.support import case_files
from tests.support.gpu import local_stages, not_on_workers
from tests.support.gpu.comparison import (
    COUNTS,
    EVERY,
    TWIN,
    embedded,
    outcome,
    selected,
)
from tests.support.lab import Lab

FILES = case_files.read_all()
SAMPLE = case_files.sample(FILES, 10)
CARRIED = 0.9
"""Minimum fraction of the SELECTs over tables that workers support.

Gpudb/plan/NOT_ON_WORKERS.md has the current one.
"""


def compared(name: str, counts: Sequence[int], lacking: dict[str, list[str]]) -> list[str]:
    """Runs a case file's SELECTs on each number of workers; returns the answers that differ from the embedded engine's.

    `lacking` collects the names of the statements by the reason why workers do not support them, "" for none.
    """
    lab = Lab()
    wrong: list[str] = []
    try:
        for statement in FILES[name]:
            request = None if statement.setup else selected(lab, statement.sql)
            if request is None:
                with contextlib.suppress(GpudbError, AssertionError):
                    for result in lab.session.run(statement.sql):
                        for _ in result.batches or ():
                            pass
                continue
            wanted = outcome(lambda r=request: embedded(lab, r))
            if wanted == "0A000":
                # It needs a session's state, which these requests lack.
                continue
            construct = ""
            try:
                for workers, costs, kernels in ((n, *way) for n in counts for way in ((None, None), (EVERY, TWIN))):
                    given = outcome(
                        lambda r=request, w=workers, c=costs, k=kernels: local_stages.rows(
                            r, w, lab.database.cpu, c, kernels=k
                        )
                    )
                    if given != wanted:
                        how = f"{workers}, fused" if kernels is not None else f"{workers}"
                        wrong.append(f"{statement.name} on {how}: {given!r:.300} where {wanted!r:.300}")
            except NotSupportedOnWorkers as error:
                construct = error.construct
            lacking.setdefault(construct, []).append(statement.name)
    finally:
        lab.close()
    return wrong


@pytest.fixture(scope="module")
def lacking() -> dict[str, list[str]]:
    """The statements of the files that the module's tests ran, by the construct that workers do not support."""
    return {}


@pytest.mark.parametrize("name", SAMPLE)
def test_workers_answer_as_the_embedded_engine_does(name: str, lacking: dict[str, list[str]]) -> None:
    """Each file of a sample on one number of workers; `--soak` runs all on all."""
    wrong = compared(name, (COUNTS[SAMPLE.index(name) % len(COUNTS)],), lacking)
    assert not wrong, "\n".join(wrong)


def test_what_workers_lack_is_listed(lacking: dict[str, list[str]]) -> None:
    if not lacking:
        pytest.skip("runs after the sample of the case files")
    assert set(lacking) - {""} <= not_on_workers.listed(), "run python -m tests.engine.gpu.test_case_files"


@pytest.mark.soak
@pytest.mark.parametrize("name", FILES)
def test_every_count_of_workers_answers_alike(name: str, lacking: dict[str, list[str]]) -> None:
    wrong = compared(name, COUNTS, lacking)
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_most_are_carried(lacking: dict[str, list[str]]) -> None:
    total = sum(map(len, lacking.values()))
    if total < 500:
        pytest.skip("runs after the whole of the case files")
    most = sorted(lacking, key=lambda each: -len(lacking[each]))
    assert len(lacking[""]) >= CARRIED * total, most[:40]
    assert not_on_workers.listed() == set(lacking) - {""}, "run python -m tests.engine.gpu.test_case_files"


if __name__ == "__main__":
    found: dict[str, list[str]] = {}
    for each in FILES:
        print(*compared(each, COUNTS, found), sep="\n", end="", flush=True)
    not_on_workers.write(found)
