"""Random statements of exact arithmetic return PostgreSQL's digits: embedded, by frames in parts, and by kernels."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from itertools import islice
from typing import Any

import pytest

from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.types import CARRIED_SCALE, MAX_DIGITS
from tests.support.generated.exact_statements import SETUP, statements
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, TWIN, embedded
from tests.support.lab import Lab
from tests.support.layouts import in_layouts
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient

CASES, SOAK_CASES = 200, 10_000
PARTS = 2
LEAST_DECIMALS = 16
"""The least decimals of a quotient that is rounded to fewer than PostgreSQL's."""
WAYS = ((1, None, None), (3, EVERY, None), (2, EVERY, TWIN), (1, Costs(scan=0), TWIN))
"""The number of workers, the costs, and the kernels of a run."""
_EXACT = Context(prec=200)
_OUT_OF_RANGE = {"22003", "22012"}
Rows = list[tuple[str | None, ...]]
Outcome = Rows | str


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(SETUP)
    yield made
    made.close()


@pytest.fixture(scope="module")
def postgresql(oracle: Oracle) -> Iterator[WireClient]:
    with WireClient(oracle.create_database("exact")) as client:
        assert not client.execute(SETUP).failed
        yield client


def _run(compute: Callable[[], Rows]) -> Outcome:
    try:
        return compute()
    except GpudbError as error:
        return error.sqlstate


def _differences(found: Outcome, wanted: Outcome, kinds: list[str]) -> str | None:
    """Returns how an outcome differs from PostgreSQL's; None for the same one, and for values of more than 38 digits.

    Of several errors in a statement either may be raised.
    """
    if isinstance(found, str) or isinstance(wanted, str):
        if isinstance(found, str) and isinstance(wanted, str):
            return None if {found, wanted} <= _OUT_OF_RANGE else f"{found} instead of {wanted}"
        if found == "22003" and _is_beyond(wanted, kinds):
            return None
        return f"{found!r:.200} instead of {wanted!r:.200}"
    if len(found) != len(wanted):
        return f"{len(found)} rows instead of {len(wanted)}"
    keys = [place for place, kind in enumerate(kinds) if kind not in {"numeric", "float8"}]
    for ours, theirs in zip(_by(found, keys), _by(wanted, keys), strict=True):
        for mine, other, kind in zip(ours, theirs, kinds, strict=True):
            if not _same(mine, other, kind):
                return f"{mine} instead of {other} ({kind})"
    return None


def _by(rows: Rows, keys: list[int]) -> Rows:
    return sorted(rows, key=lambda row: [(row[place] is None, row[place] or "") for place in keys])


def _is_beyond(rows: Rows, kinds: list[str]) -> bool:
    """Returns whether no numeric has as many digits before the point as some values and as many decimals as others."""
    texts = [
        value.lstrip("-").partition(".")
        for row in rows
        for value, kind in zip(row, kinds, strict=True)
        if value is not None and kind == "numeric"
    ]
    whole, decimals = (max((len(text[part]) for text in texts), default=0) for part in (0, 2))
    return whole + decimals > MAX_DIGITS


def _same(mine: str | None, other: str | None, kind: str) -> bool:
    if mine is None or other is None or kind not in {"numeric", "float8"}:
        return mine == other
    if kind == "float8":
        # PostgreSQL's running sums cancel digits that exact sums keep.
        return float(mine) == pytest.approx(float(other), rel=1e-6, abs=1e-9)
    decimals = len(mine.partition(".")[2])
    if len(other.partition(".")[2]) > max(decimals, CARRIED_SCALE) and decimals >= LEAST_DECIMALS:
        # What operands of more than 20 decimals would show is rounded.
        return abs(_EXACT.subtract(Decimal(mine), Decimal(other))) < Decimal(1).scaleb(-decimals)
    return mine == other


def _ways(lab: Lab, sql: str, ways: Sequence[Any] = WAYS) -> Iterator[tuple[Any, Outcome]]:
    yield "embedded", _run(lambda: in_layouts(lambda: embedded(lab, lab.request(sql))))
    for workers, costs, kernels in ways:
        try:
            yield (
                (workers, kernels is not None),
                _run(
                    lambda: in_layouts(
                        lambda: local_stages.rows(lab.request(sql), workers, lab.database.cpu, costs, kernels=kernels)  # noqa: B023
                    )
                ),
            )
        except NotSupportedOnWorkers as reason:
            yield None, str(reason)


def _check(lab: Lab, postgresql: WireClient, seed: str, cases: int, *, every: bool = False) -> Counter[str]:
    """Checks statements embedded and in `every` way, or in half of the ways by turns."""
    counted: Counter[str] = Counter()
    for number, sql in enumerate(islice(statements(random.Random(seed)), cases)):
        answer = postgresql.execute(sql)
        wanted: Outcome = answer.sqlstate if answer.failed else list(answer.rows)
        kinds = [column.type.name for column in lab.request(sql).query.columns]
        for way, found in _ways(lab, sql, WAYS if every else WAYS[number % 2 :: 2]):
            if way is None:
                counted["left to the embedded engine"] += 1
                continue
            wrong = _differences(found, wanted, kinds)
            assert wrong is None, f"{way}: {sql}\n{wrong}"
            counted["the same"] += 1
    return counted


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_digits_are_postgresqls(lab: Lab, postgresql: WireClient, part: int) -> None:
    counted = _check(lab, postgresql, f"exact {part}", CASES // PARTS)
    assert counted["left to the embedded engine"] < counted["the same"] / 20


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_digits_of_many_statements_are_postgresqls(lab: Lab, postgresql: WireClient) -> None:
    _check(lab, postgresql, "exact soak", SOAK_CASES, every=True)
