"""The isolation checker finds each anomaly in a history that has it, and none in one that has not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.support.isolation_checker import End, Recorded, Versions, find_anomalies
from tests.support.isolation_workload import SETUP, IsolationWorkload, read_counters
from tests.support.server_program import running_server

NEW: Versions = {"a": (0, 0), "b": (0, 0)}


def _make(number: int, reads: list[Versions], writes: dict[str, int], end: End = End.COMMITTED) -> Recorded:
    return Recorded(number, f"client {number}", repeatable=True, reads=reads, writes=writes, end=end)


def _both(a: tuple[int, int], b: tuple[int, int]) -> Versions:
    return {"a": a, "b": b}


def _lost_update() -> tuple[list[Recorded], Versions]:
    return [_make(1, [NEW], {"a": 1}), _make(2, [NEW], {"a": 1})], _both((1, 2), (0, 0))


def _lost_commit() -> tuple[list[Recorded], Versions]:
    return [_make(1, [NEW], {"a": 1})], NEW


def _fractured_read() -> tuple[list[Recorded], Versions]:
    writer = _make(1, [NEW], {"a": 1, "b": 1})
    return [writer, _make(2, [_both((1, 1), (0, 0))], {})], _both((1, 1), (1, 1))


def _long_fork() -> tuple[list[Recorded], Versions]:
    writers = [_make(1, [NEW], {"a": 1}), _make(2, [NEW], {"b": 1})]
    readers = [_make(3, [_both((1, 1), (0, 0))], {}), _make(4, [_both((0, 0), (1, 2))], {})]
    return writers + readers, _both((1, 1), (1, 2))


def _aborted_read() -> tuple[list[Recorded], Versions]:
    writer = _make(1, [NEW], {"a": 1}, End.ABORTED)
    return [writer, _make(2, [_both((1, 1), (0, 0))], {}), _make(3, [NEW], {"a": 1})], _both((1, 3), (0, 0))


def _unrepeatable_read() -> tuple[list[Recorded], Versions]:
    seen = _both((1, 1), (0, 0))
    return [_make(1, [NEW], {"a": 1}), _make(2, [NEW, seen], {})], seen


def _earlier_read() -> tuple[list[Recorded], Versions]:
    seen = _both((1, 1), (0, 0))
    later = Recorded(3, "client 2", repeatable=True, reads=[NEW], end=End.COMMITTED)
    return [_make(1, [NEW], {"a": 1}), _make(2, [seen], {}), later], seen


def _own_write_unseen() -> tuple[list[Recorded], Versions]:
    writer = _make(1, [NEW], {"a": 1})
    writer.own.append(NEW)
    return [writer], _both((1, 1), (0, 0))


@pytest.mark.parametrize(
    ("anomaly", "make"),
    [
        ("lost update", _lost_update),
        ("lost:", _lost_commit),
        ("fractured read", _fractured_read),
        ("long fork", _long_fork),
        ("aborted read", _aborted_read),
        ("unrepeatable read", _unrepeatable_read),
        ("earlier version", _earlier_read),
        ("own write", _own_write_unseen),
    ],
)
def test_it_finds_the_anomaly(anomaly: str, make: Callable[[], tuple[list[Recorded], Versions]]) -> None:
    found = find_anomalies(*make())
    assert any(anomaly in each for each in found), found


def test_it_takes_a_commit_of_unknown_end_as_seen_or_not() -> None:
    writer = _make(1, [NEW], {"a": 1, "b": 1}, End.UNKNOWN)
    assert find_anomalies([writer], NEW) == []
    assert find_anomalies([writer], _both((1, 1), (1, 1))) == []


def test_one_server_has_no_anomaly(tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(SETUP)
        workload = IsolationWorkload([dsn, dsn], clients=2, count=20, seed=1)
        workload.run()
        assert not workload.unexpected, workload.unexpected
        assert find_anomalies(workload.history, read_counters(connection)) == []
        assert sum(bool(each.writes) and each.end is End.COMMITTED for each in workload.history) > 10
