"""Kill -9 at random moments: every acknowledged commit survives, and no other one in part."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from gpudb.catalog.tables import Table
from gpudb.storage.iceberg.append import verify_checksums
from gpudb.storage.iceberg.history import list_data_files
from gpudb.storage.iceberg.scan import scan_sql
from gpudb.storage.store import Store
from tests.support.store_crasher import HOLED, RETENTION

ROUNDS = 3
SOAK_ROUNDS = 100
KINDS = {"log", "pair", "moved"}


def _crash(directory: Path, seed: int, delay: float, kinds: set[str]) -> list[str]:
    """Returns what the program printed before it was killed, `delay` seconds after it had done work of some kinds."""
    command = [sys.executable, "-m", "tests.support.store_crasher", str(directory), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        watchdog = threading.Timer(120, program.kill)
        watchdog.start()
        assert program.stdout is not None
        assert program.stderr is not None
        first = program.stdout.readline()
        if first != "ready\n":
            program.kill()
            pytest.fail(f"the program did not begin: {first}{program.stderr.read()}")
        said, missing = "", set(kinds)
        while missing and (line := program.stdout.readline()):
            said += line
            missing.discard(line.split()[0])
        killer = threading.Timer(delay, program.kill)
        killer.start()
        said += program.stdout.read()
        watchdog.cancel()
        killer.cancel()
    # The last line may be incomplete.
    return said[: said.rfind("\n") + 1].splitlines()


def _rows(store: Store, name: str) -> list[tuple[object, ...]]:
    table = store.catalog().relation("public", name)
    assert isinstance(table, Table)
    return _read(table)


def _read(table: Table) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return connection.sql(scan_sql(table)).fetchall()


def _check(store: Store, said: list[str], acknowledged: set[int], pairs: set[int], moved: set[int]) -> None:
    failures = [line for line in said if line.startswith("failed")]
    assert not failures
    for line in said:
        kind, *numbers = line.split()
        if kind == "log":
            acknowledged.update(range(int(numbers[0]), int(numbers[0]) + int(numbers[1])))
        elif kind == "pair":
            pairs.add(int(numbers[0]))
        elif kind == "moved":
            moved.add(int(numbers[0]))
        elif kind == "version":
            assert store.catalog().version >= int(numbers[0])
    logged = [int(str(row[0])) for row in _rows(store, "log")]
    assert len(logged) == len(set(logged))
    assert acknowledged <= set(logged)
    left, right = sorted(_rows(store, "left")), sorted(_rows(store, "right"))
    assert left == right
    assert pairs <= {row[0] for row in left}
    gone = {row[0] for row in _rows(store, "moved")}
    assert moved <= gone
    assert sorted([*gone, *(row[0] for row in _rows(store, "holed"))]) == list(range(HOLED))  # type: ignore[type-var]
    balances = [int(str(row[1])) for row in _rows(store, "accounts")]
    assert (len(balances), sum(balances)) == (50, 0)
    named: set[Path] = set()
    for table in store.catalog().tables():
        assert [row[:2] for row in _rows(store, table.name)] == [(1, table.name)] or not table.name.startswith("made")
        named |= {Path(file.path) for file in table.files}
        named |= {Path(path) for path in list_data_files(store.catalog().snapshots[table.oid])}
    _check_snapshots(store)
    assert set((store.directory / "tables").rglob("data/*.parquet")) == named
    for path in random.Random(0).sample(sorted(named), min(5, len(named))):
        verify_checksums(path)


def _check_snapshots(store: Store) -> None:
    """At each time that is kept, `left` and `right` had the same rows, and `accounts` summed to zero."""
    catalog = store.catalog()
    kept = {name: catalog.snapshots[catalog.relations["public", name].oid] for name in ("left", "right", "accounts")}
    # A commit of one of the two tables is one of the other.
    assert [each.committed for each in kept["left"]] == [each.committed for each in kept["right"]]
    for left, right in zip(kept["left"], kept["right"], strict=True):
        assert sorted(_read(left.table)) == sorted(_read(right.table))
    for each in kept["accounts"]:
        assert sum(int(str(row[1])) for row in _read(each.table)) == 0


@pytest.mark.timeout(1800)
def test_kill_at_random_moments(tmp_path: Path) -> None:
    _kill_often(tmp_path, ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_kill_at_many_random_moments(tmp_path: Path) -> None:
    _kill_often(tmp_path, SOAK_ROUNDS)


def _kill_often(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(20261121)
    acknowledged: set[int] = set()
    pairs: set[int] = set()
    moved: set[int] = set()
    directory = tmp_path / "data"
    lively = 0
    for seed in range(rounds):
        # Each third one is killed amid its first commits.
        said = _crash(directory, seed, chance.uniform(0.02, 0.5), set() if seed % 3 == 1 else KINDS)
        with Store(directory, RETENTION, compaction=False) as store:
            _check(store, said, acknowledged, pairs, moved)
        lively += any(line.startswith(("log", "pair")) for line in said)
    assert lively > rounds / 2
    assert pairs
    assert moved
