"""The case files' SELECTs on workers, and fused: what they carry is what the embedded engine answers, most of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from gpudb.engine.gpu.fused.runner import Twin
from gpudb.engine.protocol import Request, Settings
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotCarried
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from tests.differential import script
from tests.engine.conftest import Lab
from tests.engine.gpu import constructs, local

FILES = script.read_all()
CARRIED = 0.9
"""The share of the SELECTs over tables that workers carry, at least; README tells the present one."""

COUNTS = (1, 2, 4)
EVERY = Costs(scan=0)
"""Rows of every table are worth a kernel."""
TWIN = Twin(local.PACKED)
_lacking: dict[str, list[str]] = {}


def shaped(text: str | None) -> str:
    """A value's text; a float's to nine digits, since workers add in another order."""
    if text is None:
        return "NULL"
    if "." in text or "e" in text:
        with contextlib.suppress(ValueError):
            return text if len(text) < 15 else f"{float(text):.9e}"
    return text


def sorted_rows(rows: list[tuple[str | None, ...]]) -> list[Any]:
    return sorted(tuple(map(shaped, row)) for row in rows)


def embedded(lab: Lab, request: Request) -> list[tuple[str | None, ...]]:
    kinds = [column.type for column in request.query.columns]
    return local.as_text(lab.database.cpu.run(request), kinds)


@contextlib.contextmanager
def stopped_after(request: Request, seconds: float) -> Iterator[None]:
    """Stops the request if it takes longer, which its `cancel` tells then."""
    timer = threading.Timer(seconds, request.cancel.stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def outcome(run: Any) -> Any:
    try:
        return sorted_rows(run())
    except GpudbError as error:
        return error.sqlstate


def selected(lab: Lab, sql: str, settings: Settings | None = None) -> Request | None:
    """A statement's request, if it is a SELECT over tables that the embedded engine takes."""
    if not sql.lstrip(" (").upper().startswith(("SELECT", "WITH", "VALUES", "TABLE")):
        return None
    if lab.session.transaction is not None:
        return None
    try:
        request = lab.request(sql.rstrip().rstrip(";"), settings=settings)
    except (GpudbError, AssertionError):
        return None
    if not isinstance(request.query, bound.Query) or not request.query.columns:
        return None
    return request if any(isinstance(node, bound.Scan) for node in walk(request.query)) else None


def compared(name: str, counts: Sequence[int], lacking: dict[str, list[str]]) -> list[str]:
    """Runs a case file's SELECTs on so many workers, one count after the other, and tells the answers that are not the
    embedded engine's; `lacking` gets the names of the statements by what keeps them from workers, "" for nothing."""
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
                # It wants a session's state, which these requests are without.
                continue
            construct = ""
            try:
                for workers, costs, kernels in ((n, *way) for n in counts for way in ((None, None), (EVERY, TWIN))):
                    given = outcome(
                        lambda r=request, w=workers, c=costs, k=kernels: local.rows(
                            r, w, lab.database.cpu, c, kernels=k
                        )
                    )
                    if given != wanted:
                        how = f"{workers}, fused" if kernels is not None else f"{workers}"
                        wrong.append(f"{statement.name} on {how}: {given!r:.300} where {wanted!r:.300}")
            except NotCarried as error:
                construct = error.construct
            lacking.setdefault(construct, []).append(statement.name)
    finally:
        lab.close()
    return wrong


@pytest.mark.parametrize("name", FILES)
def test_workers_answer_as_the_embedded_engine_does(name: str) -> None:
    """Each file on one of the counts of workers; `--soak` runs each on all."""
    count = COUNTS[list(FILES).index(name) % len(COUNTS)]
    wrong = compared(name, (count,), _lacking)
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
@pytest.mark.parametrize("name", FILES)
def test_every_count_of_workers_answers_alike(name: str) -> None:
    wrong = compared(name, COUNTS, {})
    assert not wrong, "\n".join(wrong)


def test_most_are_carried() -> None:
    total = sum(map(len, _lacking.values()))
    if total < 500:
        pytest.skip("runs after the whole of the case files")
    most = sorted(_lacking, key=lambda each: -len(_lacking[each]))
    assert len(_lacking[""]) >= CARRIED * total, most[:40]
    assert constructs.listed() == set(_lacking) - {""}, "run python -m tests.engine.gpu.test_cases"


if __name__ == "__main__":
    found: dict[str, list[str]] = {}
    for each in FILES:
        print(*compared(each, COUNTS, found), sep="\n", end="", flush=True)
    constructs.write(found)
