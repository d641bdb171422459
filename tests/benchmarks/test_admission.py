"""The benchmark of many heavy clients: all end, the short ones are timed, and errors are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import bench_admission
from benchmarks.bench_admission import HEAVY, SHORT, TABLE, make_rows, measure
from benchmarks.systems import gpudb_server


def test_clients_end_and_short_statements_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDB_MEMORY_LIMIT", "256MB")
    monkeypatch.setattr(bench_admission, "_EVERY_S", 0.001)
    monkeypatch.setattr(bench_admission, "_CONNECT_EVERY_S", 0.01)
    with gpudb_server(tmp_path / "db") as system:
        system.load([TABLE.format(rows=20_000)], {}, [])
        found = measure(system.dsn, clients=6, each=2)
    assert (found.errors, found.wrong) == ({}, 0)
    assert {name: len(times) for name, times in found.heavy.items()} == dict.fromkeys(HEAVY, 4)
    assert len(found.connect) >= 6
    assert found.short
    rows = make_rows(found, 6, 2, 20_000)
    assert [row.case for row in rows] == [*HEAVY, f"{SHORT} beside 6 clients", "connecting beside 6 clients"]
    assert (rows[0].note or "").startswith("12 of 12 statements ended")
