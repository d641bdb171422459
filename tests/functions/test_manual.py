"""Functions that the manual's table lists as equal: every overload on generated arguments, compared with PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from itertools import islice

import pytest

from gpudb.functions.library import Function
from gpudb.functions.manual import GUIDE, README, Entry, list_entries, render_page, update_totals
from tests.support.functions.calls import Call, aggregates, calls, hypothetical_sets, ordered_sets, windows
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import Outcome, WireClient

_ALL = list(list_entries())
_BATCH = 40
_FEW = 6
"""Rows of arguments for each list of types of an overload."""
_LEVELS = "CREATE TYPE documented_level AS ENUM ('low', 'medium', 'high')"
_NUMERIC = frozenset({1700, 1231})


@pytest.fixture(scope="module")
def gpudb(gpudb_server: str, oracle: Oracle) -> Iterator[WireClient]:
    """A session; both servers have a sequence and a type that examples name."""
    assert oracle.execute("CREATE SEQUENCE documented").sqlstate is None
    assert oracle.execute(_LEVELS).sqlstate is None
    with WireClient(gpudb_server, 60) as client:
        assert client.execute("CREATE SEQUENCE documented").sqlstate is None
        assert client.execute(_LEVELS).sqlstate is None
        yield client
        client.execute("DROP SEQUENCE documented")
        client.execute("DROP TYPE documented_level")


def test_the_page_is_up_to_date() -> None:
    assert README.read_text(encoding="utf-8") == render_page(), "run python -m gpudb.functions.manual"


def test_the_guide_has_the_totals() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert "functions, operators and constructs" in text
    assert update_totals(text) == text, "run python -m gpudb.functions.manual"


def test_few_are_missing() -> None:
    assert sum(each.mark == "not yet" for each in _ALL) < 0.05 * len(_ALL)


def test_every_name_is_listed_once() -> None:
    seen = [(each.section, each.kind, each.signature) for each in _ALL]
    assert len(seen) == len(set(seen))


_SAME = [each for each in _ALL if each.mark == "same" and each.target is not None and not each.example]
_EXAMPLES = {each.example: each for each in _ALL if each.example and each.mark == "same"}
_OTHERS = {each.example: each for each in _ALL if each.example and each.mark == "differs"}


_of_each_overload = pytest.mark.parametrize("entry", _SAME, ids=[f"{each.section} {each.signature}" for each in _SAME])


@_of_each_overload
def test_same(entry: Entry, oracle: Oracle, gpudb: WireClient) -> None:
    _compare(calls(entry, _FEW), entry.kind, oracle, gpudb, one_of=4)


@pytest.mark.soak
@_of_each_overload
def test_same_on_many_arguments(entry: Entry, oracle: Oracle, gpudb: WireClient) -> None:
    _compare(calls(entry), entry.kind, oracle, gpudb)


def _compare(made: Iterable[Call], kind: str, oracle: Oracle, gpudb: WireClient, one_of: int = 1) -> None:
    """Compares calls; of statements over rows together, one of so many."""
    wrong: list[str] = []
    for call in made:
        if kind in _TOGETHER:
            for sql in islice(_TOGETHER[kind](call), 0, None, one_of):
                wrong += _compared(sql, oracle.execute(sql), gpudb.execute(sql))
            if kind == "hypothetical":
                break
        elif isinstance(call.target, Function) and call.target.returns_set:
            wrong += _sets(call, oracle, gpudb)
        else:
            wrong += _scalars(call, oracle, gpudb)
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:30])


_TOGETHER = {
    "aggregate": aggregates,
    "ordered": ordered_sets,
    "hypothetical": hypothetical_sets,
    "window": windows,
}


@pytest.mark.parametrize("sql", _EXAMPLES, ids=[f"{each.section} {each.signature}" for each in _EXAMPLES.values()])
def test_same_example(sql: str, oracle: Oracle, gpudb: WireClient) -> None:
    wrong = _compared(sql, oracle.execute(sql), gpudb.execute(sql))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("sql", _OTHERS, ids=[f"{each.section} {each.signature}" for each in _OTHERS.values()])
def test_differs(sql: str, oracle: Oracle, gpudb: WireClient) -> None:
    """A function that is documented as different differs."""
    assert _compared(sql, oracle.execute(sql), gpudb.execute(sql))


_REFUSED = [each for each in _ALL if each.mark == "not yet" and each.example]


@pytest.mark.parametrize("entry", _REFUSED, ids=[f"{each.section} {each.signature}" for each in _REFUSED])
def test_not_yet(entry: Entry, gpudb: WireClient) -> None:
    """A function that is documented as missing is refused."""
    assert gpudb.execute(entry.example).sqlstate == "0A000"


# ---------------------------------------------------------------------------------------------- one call, many arguments


def _scalars(call: Call, oracle: Oracle, gpudb: WireClient) -> list[str]:
    wrong: list[str] = []
    good: list[tuple[str, Outcome, tuple[str | None, ...]]] = []
    for expression, row in zip(call.constants(), call.rows, strict=True):
        expected = oracle.execute(f"SELECT {expression}")
        if expected.failed:
            wrong += _compared(f"SELECT {expression}", expected, gpudb.execute(f"SELECT {expression}"))
        else:
            good.append((expression, expected, row))
    for at in range(0, len(good), _BATCH):
        part = good[at : at + _BATCH]
        found = gpudb.execute(f"SELECT {', '.join(expression for expression, _, _ in part)}")
        for number, (expression, expected, _) in enumerate(part):
            sql = f"SELECT {expression}"
            one = gpudb.execute(sql) if found.failed else _column(found, number)
            wrong += _compared(sql, expected, one)
    if good and call.types:
        kept = [row for _, _, row in good]
        sql = f"SELECT n, {call.expression(call.columns)} AS made FROM {call.table(kept)} ORDER BY n"
        expected = oracle.execute(sql)
        if not expected.failed:
            wrong += _compared(sql, expected, gpudb.execute(sql))
    return wrong


def _column(outcome: Outcome, number: int) -> Outcome:
    """One column of a row as a separate outcome."""
    return Outcome(
        ((outcome.rows[0][number],),), (outcome.columns[number],), (outcome.oids[number],),
        (outcome.typmods[number],), outcome.tag, status=outcome.status,
    )  # fmt: skip


def _sets(call: Call, oracle: Oracle, gpudb: WireClient) -> list[str]:
    wrong: list[str] = []
    for expression in call.constants():
        sql = f"SELECT * FROM {expression}"
        wrong += _compared(sql, oracle.execute(sql), gpudb.execute(sql))
    if call.types:
        sql = f"SELECT n, x.* FROM {call.table(call.rows)}, LATERAL {call.expression(call.columns)} AS x"
        expected = oracle.execute(sql)
        if not expected.failed:
            wrong += _compared(sql, expected, gpudb.execute(sql))
    return wrong


# ---------------------------------------------------------------------------------------------- beyond 38 digits


def _compared(sql: str, expected: Outcome, found: Outcome) -> Sequence[str]:
    if not expected.failed and any(oid in _NUMERIC for oid in expected.oids):
        if found.sqlstate in {"22003", "0A000"} and any(_wide(value) for row in expected.rows for value in row):
            return []
        expected, found = _held(expected), _held(found)
    found_lines = differences(expected, found, ordered=False)
    return ["\n".join([sql[:300], *found_lines[:4]])] if found_lines else []


_NUMBERS = re.compile(r"-?\d+(\.\d+)?")


def _wide(value: str | None) -> bool:
    """Returns whether a number exceeds 18 digits before the point or 20 after."""
    if value is None:
        return False
    return value in {"NaN", "Infinity", "-Infinity"} or any(
        len(each.group().split(".")[0].lstrip("-")) > 18 or len((each.group(1) or "").lstrip(".")) > 20
        for each in _NUMBERS.finditer(value)
    )


def _cut(value: str) -> str:
    if not Decimal(value).is_finite():
        return value
    with localcontext(prec=80):
        return f"{Decimal(value).quantize(Decimal('1e-20'), ROUND_HALF_UP):f}"


def _held(outcome: Outcome) -> Outcome:
    """The outcome with wide numbers truncated to 20 decimals."""
    rows = tuple(
        tuple(
            _cut(value) if oid == 1700 and value is not None and _wide(value) else value
            for value, oid in zip(row, outcome.oids, strict=True)
        )
        for row in outcome.rows
    )
    return Outcome(
        rows, outcome.columns, outcome.oids, outcome.typmods, outcome.tag, outcome.sqlstate, outcome.message,
        status=outcome.status,
    )  # fmt: skip
