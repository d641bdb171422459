"""Random changes of a table, committed and rolled back, against a model: every engine has its rows after each step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpudb.catalog.tables import Table
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Cancel, Engine, Request, Settings
from gpudb.session.database import Database
from gpudb.session.execution.binding.binding import bind_statement, parse_statements
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bound import DataChange
from gpudb.storage import compaction
from gpudb.storage.compaction import compact
from gpudb.storage.transaction import Transaction
from tests.support.lab import ENGINES, engine_of
from tests.support.sessions import run, state

Rows = dict[int, tuple[int | None, str]]
"""The values `v` and `s` of a table by its key `k`."""
DEFINITION = "k int PRIMARY KEY, v int, s text"


@pytest.fixture(scope="module", params=[*ENGINES[:2], *ENGINES[3:]])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that outlives the database."""
    made = engine_of(request.param, CpuEngine(spill=tmp_path_factory.mktemp("spill")))
    yield made
    made.close()


class Changes:
    """A database with table `t`, its rows in a model, and random changes of both."""

    def __init__(self, directory: Path, seed: int, distribution: str) -> None:
        self._directory = directory
        self._random = random.Random(seed)
        self.rows: Rows = {}
        self._next = 0
        self._begun: Rows | None = None
        """The rows before the open transaction."""
        self._marks: list[Rows] = []
        self._past: list[tuple[Transaction, Rows]] = []
        self._open()
        run(self._session, f"CREATE TABLE t ({DEFINITION}) {distribution}")

    def _open(self) -> None:
        self.database = Database(self._directory)
        self._session = self.database.session("gpudb")

    def close(self) -> None:
        for transaction, _ in self._past:
            transaction.rollback()
        self._past.clear()
        self._session.close()
        self.database.close()

    def _some(self, most: int) -> list[int]:
        """Some keys, adjacent or not."""
        known = sorted(self.rows)
        count = min(len(known), self._random.randint(1, most))
        if self._random.random() < 0.5:
            first = self._random.randint(0, len(known) - count)
            return known[first : first + count]
        return self._random.sample(known, count)

    def step(self) -> str:
        """Makes a random change; returns its name."""
        steps = [self.insert] * 3 + [self.update] * 4 + [self.delete] * 4 + [self.merge, self.upsert] * 2
        steps += [self.move_key, self.reinsert, self.violate, self.truncate_or_fill]
        if self._begun is None:
            steps += [self.begin] * 4 + [self.compact] * 2 + [self.reopen, self.keep_reader, self.restore]
        else:
            steps += [self.mark] * 2 + [self.end] * 2 + [self.rollback_to] * (2 * len(self._marks))
        chosen = self._random.choice(steps)
        chosen()
        return chosen.__name__

    def _put(self, keys: list[int], text: str) -> str:
        values: list[str] = []
        for key in keys:
            value = self._random.choice([None, key % 7, 5])
            self.rows[key] = value, text
            values.append(f"({key}, {'NULL' if value is None else value}, '{text}')")
        return ", ".join(values)

    def _new_keys(self, count: int) -> list[int]:
        self._next += count
        return list(range(self._next - count, self._next))

    def insert(self) -> None:
        keys = self._new_keys(self._random.choice([1, 3, 200, 1000]))
        run(self._session, f"INSERT INTO t VALUES {self._put(keys, 'new')}")

    def update(self) -> None:
        if not self.rows:
            return
        keys = self._some(self._random.choice([1, 5, 100]))
        run(self._session, f"UPDATE t SET v = k + 1, s = s || '+' WHERE k IN ({_join(keys)})")
        self.rows.update({key: (key + 1, self.rows[key][1] + "+") for key in keys})

    def delete(self) -> None:
        if not self.rows:
            return
        keys = self._some(self._random.choice([1, 5, 100, 600]))
        run(self._session, f"DELETE FROM t WHERE k IN ({_join(keys)})")
        for key in keys:
            del self.rows[key]

    def merge(self) -> None:
        if len(self.rows) < 2:
            return
        first, *updated = self._some(20)
        added = self._new_keys(3)
        source = ", ".join(f"({key})" for key in [first, *updated, *added])
        run(
            self._session,
            f"MERGE INTO t USING (VALUES {source}) v (n) ON k = n WHEN MATCHED AND n = {first} THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET v = NULL WHEN NOT MATCHED THEN INSERT VALUES (n, n, 'merged')",
        )
        del self.rows[first]
        self.rows.update({key: (None, self.rows[key][1]) for key in updated})
        self.rows.update({key: (key, "merged") for key in added})

    def upsert(self) -> None:
        if not self.rows:
            return
        keys = self._some(10) + self._new_keys(2)
        values = ", ".join(f"({key}, -{key}, 'upserted')" for key in keys)
        run(
            self._session,
            f"INSERT INTO t VALUES {values} ON CONFLICT (k) DO UPDATE SET v = excluded.v, s = excluded.s",
        )
        self.rows.update({key: (-key, "upserted") for key in keys})

    def move_key(self) -> None:
        if not self.rows:
            return
        (key,) = self._some(1)
        (new,) = self._new_keys(1)
        run(self._session, f"UPDATE t SET k = {new} WHERE k = {key}")
        self.rows[new] = self.rows.pop(key)

    def reinsert(self) -> None:
        if not self.rows:
            return
        keys = self._some(5)
        run(self._session, f"DELETE FROM t WHERE k IN ({_join(keys)})")
        run(self._session, f"INSERT INTO t VALUES {self._put(keys, 'again')}")

    def violate(self) -> None:
        if not self.rows or self._begun is not None:
            return
        (key,) = self._some(1)
        assert (
            state(self._session, f"DELETE FROM t WHERE k > {key}; INSERT INTO t VALUES ({key}, 0, 'twice')") == "23505"
        )

    def truncate_or_fill(self) -> None:
        if len(self.rows) > 8000:
            run(self._session, "TRUNCATE t")
            self.rows.clear()
        else:
            self.insert()

    def begin(self) -> None:
        run(self._session, "BEGIN")
        self._begun = dict(self.rows)

    def mark(self) -> None:
        run(self._session, f"SAVEPOINT s{len(self._marks)}")
        self._marks.append(dict(self.rows))

    def rollback_to(self) -> None:
        number = self._random.randrange(len(self._marks))
        run(self._session, f"ROLLBACK TO s{number}")
        self.rows = dict(self._marks[number])
        del self._marks[number + 1 :]

    def end(self) -> None:
        assert self._begun is not None
        if self._random.random() < 0.6:
            run(self._session, "COMMIT")
        else:
            run(self._session, "ROLLBACK")
            self.rows = self._begun
        self._begun = None
        self._marks.clear()

    def compact(self) -> None:
        found = self.database.store.catalog().relation("public", "t")
        assert isinstance(found, Table)
        compact(self.database.store, found.oid)

    def reopen(self) -> None:
        self.close()
        self._open()

    def keep_reader(self) -> None:
        """Keeps a snapshot, in place of another."""
        if len(self._past) > 1:
            self._past.pop(0)[0].rollback()
        self._past.append((self.database.store.begin(), dict(self.rows)))

    def restore(self) -> None:
        """Goes back to the snapshot before the last commit, and to the last one again: the rows are the same."""
        known = run(self._session, "SELECT snapshot_id FROM gpudb_snapshots('t') ORDER BY committed_at")
        if len(known) > 1:
            run(self._session, f"SELECT gpudb_restore_snapshot('t', {known[-2][0]})")
            run(self._session, f"SELECT gpudb_restore_snapshot('t', {known[-1][0]})")

    def compare(self, engine: Engine) -> None:
        """Compares the session's rows, those of its transaction in an engine, and those of older snapshots."""
        _check(partial(run, self._session), self.rows)
        with self.database.store.begin() as committed:
            own = self._session.transactions.current or committed
            for transaction, rows in [(own, self.rows), *self._past]:
                _check(partial(_answer, engine, transaction), rows)


def _join(keys: list[int]) -> str:
    return ", ".join(map(str, keys))


def _check(ask: Callable[[str], list[tuple[Any, ...]]], rows: Rows) -> None:
    values = [value for value, _ in rows.values() if value is not None]
    assert ask("SELECT count(*), sum(k), min(k), max(k), count(v), sum(v) FROM t") == [
        (
            len(rows),
            sum(rows) if rows else None,
            min(rows, default=None),
            max(rows, default=None),
            len(values),
            sum(values) if values else None,
        )
    ]
    assert {key: (value, text) for key, value, text in ask("SELECT k, v, s FROM t")} == rows
    texts: dict[str, int] = {}
    for _, text in rows.values():
        texts[text] = texts.get(text, 0) + 1
    assert dict(ask("SELECT s, count(*) FROM t WHERE v IS NULL OR v >= 0 OR v < 0 GROUP BY s")) == texts


def _answer(engine: Engine, transaction: Transaction, sql: str) -> list[tuple[Any, ...]]:
    (statement,) = parse_statements(sql)
    query = bind_statement(StatementBinder(transaction.catalog, statement.text), statement)
    assert not isinstance(query, DataChange)
    stream = engine.run(Request(query, transaction.catalog, Settings(), (), Cancel()))
    try:
        return [row for batch in stream for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
    finally:
        stream.close()


@pytest.mark.parametrize(
    ("seed", "steps", "distribution"), [(1, 24, ""), (4, 24, ""), (3, 10, "DISTRIBUTE BY HASH (k)")]
)
def test_rows_are_those_of_a_model(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, steps: int, distribution: str
) -> None:
    chooser = random.Random(-seed)
    monkeypatch.setattr(compaction, "SMALL_ROWS", chooser.choice([0, 100]))
    monkeypatch.setattr(compaction, "REWRITTEN_SHARE", chooser.choice([0.1, 0.9]))
    # They are steps.
    monkeypatch.setattr(compaction.Compactor, "schedule", lambda *_: None)
    changes = Changes(tmp_path / "data", seed, distribution)
    taken: list[str] = []
    try:
        for _ in range(steps):
            taken.append(changes.step())
            changes.compare(engine)
    except AssertionError as error:
        error.add_note(f"after {taken}")
        raise
    finally:
        changes.close()
