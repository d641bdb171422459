"""Interleaved statements of several sessions, as scripts that run on PostgreSQL and on gpudb.

A line is a session's letter and a statement. `a~` says that the statement has to wait, `a.` alone that it ends by then:
its outcome is told there; `a?` that its outcome does not matter. Whether it waits is read from pg_locks, never from a clock.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import psycopg

from tests.support.sessions import wait_until

Connection = psycopg.Connection[tuple[object, ...]]
Outcome = list[tuple[str, object]]

SETUP = """
    DROP TABLE IF EXISTS child, parent, jobs, people, stays, t;
    CREATE TABLE t (k integer PRIMARY KEY, v integer);
    INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
    CREATE TABLE parent (id integer PRIMARY KEY, n integer);
    INSERT INTO parent VALUES (1, 0), (2, 0);
    CREATE TABLE child (id integer PRIMARY KEY, p integer REFERENCES parent);
    CREATE TABLE jobs (id integer PRIMARY KEY, state text);
    INSERT INTO jobs SELECT i, 'queued' FROM generate_series(1, 12) AS i;
    CREATE TABLE people (id integer, email text, room integer, active boolean);
    CREATE UNIQUE INDEX ON people (lower(email));
    CREATE UNIQUE INDEX ON people (room) WHERE active;
    INSERT INTO people VALUES (1, 'ann', 1, true);
    CREATE TABLE stays (id integer, room int4range, days int4range, EXCLUDE USING gist (room WITH =, days WITH &&))
"""
_REPEATABLE = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_NEXT = "SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
_TAKE = f"UPDATE jobs SET state = 'taken' WHERE id = ({_NEXT}) RETURNING id, state"
_ALL = "SELECT * FROM t ORDER BY k"
_PEOPLE = "SELECT * FROM people ORDER BY id"

SCRIPTS: Mapping[str, Sequence[str]] = {
    "each statement reads what is committed before it": [
        *("a BEGIN", f"a {_ALL}", "b INSERT INTO t VALUES (4, 40)", "b UPDATE t SET v = 11 WHERE k = 1", f"a {_ALL}"),
        *("a INSERT INTO t VALUES (5, 50)", "b DELETE FROM t WHERE k = 2", f"a {_ALL}", f"b {_ALL}", "a COMMIT"),
        *(f"b {_ALL}",),
    ],
    "own changes stay on top": [
        *("a BEGIN", "a UPDATE t SET v = v + 1 WHERE k = 1", "a DELETE FROM t WHERE k = 2"),
        *("b UPDATE t SET v = v + 100 WHERE k = 3", "b INSERT INTO t VALUES (4, 40)", f"a {_ALL}"),
        *("a UPDATE t SET v = v + 1", f"a {_ALL}", "a COMMIT", f"b {_ALL}"),
    ],
    "a savepoint goes back to a state before others": [
        *("a BEGIN", "a INSERT INTO t VALUES (5, 50)", "a SAVEPOINT s", "a UPDATE t SET v = 0 WHERE k = 1"),
        *("b UPDATE t SET v = 21 WHERE k = 2", f"a {_ALL}", "a ROLLBACK TO s", f"a {_ALL}"),
        *("b INSERT INTO t VALUES (6, 60)", f"a {_ALL}", "a COMMIT", f"b {_ALL}"),
    ],
    "repeatable read keeps the snapshot of its first statement": [
        *(f"a {_REPEATABLE}", "b UPDATE t SET v = 11 WHERE k = 1", f"a {_ALL}", "b UPDATE t SET v = 12 WHERE k = 1"),
        *(f"a {_ALL}", "a UPDATE t SET v = 0 WHERE k = 1", "a ROLLBACK", f"a {_ALL}"),
    ],
    "repeatable read waits, and fails if the row has changed": [
        *("a BEGIN", "a UPDATE t SET v = 11 WHERE k = 1", f"b {_REPEATABLE}", f"b {_ALL}"),
        *("b~ UPDATE t SET v = v + 1 WHERE k = 1", "a COMMIT", "b.", "b ROLLBACK", f"b {_ALL}"),
    ],
    "repeatable read waits, and goes on after a rollback": [
        *("a BEGIN", "a UPDATE t SET v = 11 WHERE k = 1", f"b {_REPEATABLE}", f"b {_ALL}"),
        *("b~ UPDATE t SET v = v + 1 WHERE k = 1", "a ROLLBACK", "b.", "b COMMIT", f"b {_ALL}"),
    ],
    "an update of an updated row adds to it": [
        *("a BEGIN", "b BEGIN", "a UPDATE t SET v = v + 1 WHERE k = 1", "b~ UPDATE t SET v = v * 2 WHERE k = 1"),
        *("a COMMIT", "b.", "b COMMIT", f"a {_ALL}"),
    ],
    "a row that no longer matches is left alone": [
        *("a BEGIN", "a UPDATE t SET v = 99 WHERE k = 1", "b~ UPDATE t SET v = 0 WHERE v = 10 RETURNING k"),
        *("a COMMIT", "b.", f"b {_ALL}"),
    ],
    "a row that is deleted meanwhile is gone": [
        *("a BEGIN", "a DELETE FROM t WHERE k = 1", "b~ UPDATE t SET v = 0 WHERE k <= 2 RETURNING k"),
        *("a COMMIT", "b.", f"b {_ALL}"),
    ],
    "a rollback lets the waiter go on": [
        *("a BEGIN", "a DELETE FROM t WHERE k = 1", "b~ DELETE FROM t WHERE k = 1 RETURNING v", "a ROLLBACK", "b."),
        *(f"b {_ALL}",),
    ],
    "writers of other rows do not wait": [
        *("a BEGIN", "b BEGIN", "a UPDATE t SET v = 1 WHERE k = 1", "b UPDATE t SET v = 2 WHERE k = 2"),
        *("c DELETE FROM t WHERE k = 3", "a COMMIT", "b COMMIT", f"c {_ALL}"),
    ],
    "merge and delete using wait for rows": [
        *("a BEGIN", "a UPDATE t SET v = 15 WHERE k = 1"),
        *(
            "b~ MERGE INTO t USING (VALUES (1, 5), (7, 7)) AS s (k, v) ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v)",
        ),
        *("c~ DELETE FROM t USING parent AS p WHERE p.id = t.k AND t.k = 1", "a COMMIT"),
        *("b.", "c.", "a SELECT k FROM t WHERE k > 1 ORDER BY k"),
    ],
    "a key that is inserted is waited for": [
        *("a BEGIN", "a INSERT INTO t VALUES (7, 1)", "b BEGIN", "b~ INSERT INTO t VALUES (7, 2)", "a COMMIT", "b."),
        *("b ROLLBACK", f"b {_ALL}"),
    ],
    "a key that is not inserted after all is free": [
        *(
            "a BEGIN",
            "a INSERT INTO t VALUES (7, 1)",
            "b~ INSERT INTO t VALUES (7, 2)",
            "a ROLLBACK",
            "b.",
            f"b {_ALL}",
        ),
    ],
    "a key that is deleted is waited for": [
        *("a BEGIN", "a DELETE FROM t WHERE k = 1", "b~ INSERT INTO t VALUES (1, 2)", "a COMMIT", "b.", f"b {_ALL}"),
    ],
    "a key that stays is a duplicate": [
        *("a BEGIN", "a DELETE FROM t WHERE k = 1", "b~ INSERT INTO t VALUES (1, 2)", "a ROLLBACK", "b.", f"b {_ALL}"),
    ],
    "a key that an update takes or gives is waited for": [
        *("a BEGIN", "a UPDATE t SET k = 8 WHERE k = 1", "b~ INSERT INTO t VALUES (8, 2)"),
        *("c~ INSERT INTO t VALUES (1, 3)", "a COMMIT", "b.", "c.", f"b {_ALL}"),
    ],
    "repeatable read waits for keys": [
        *("a BEGIN", "a INSERT INTO t VALUES (7, 1)", f"b {_REPEATABLE}", f"b {_ALL}"),
        *("b~ INSERT INTO t VALUES (7, 2)", "a COMMIT", "b.", "b ROLLBACK"),
    ],
    "a key of an expression that is inserted is waited for": [
        *("a BEGIN", "a INSERT INTO people VALUES (2, 'Bob', 2, true)", "b BEGIN"),
        *("b~ INSERT INTO people VALUES (3, 'BOB', 3, true)", "a COMMIT", "b.", "b ROLLBACK"),
        *("a BEGIN", "a DELETE FROM people WHERE id = 2", "b~ INSERT INTO people VALUES (3, 'BOB', 3, true)"),
        *("a ROLLBACK", "b.", f"b {_PEOPLE}"),
    ],
    "a key of some of the rows that is inserted is waited for": [
        *(
            "a BEGIN",
            "a INSERT INTO people VALUES (2, 'bob', 2, true)",
            "b INSERT INTO people VALUES (3, 'c', 2, false)",
        ),
        *("b~ INSERT INTO people VALUES (4, 'dan', 2, true)", "a COMMIT", "b.", "a BEGIN"),
        *("a UPDATE people SET active = false WHERE id = 2", "b~ UPDATE people SET active = true WHERE id = 3"),
        *("a COMMIT", "b.", f"b {_PEOPLE}"),
    ],
    "on conflict waits for keys of expressions and of some of the rows": [
        *("a BEGIN", "a INSERT INTO people VALUES (2, 'bob', 2, true)"),
        *(
            "b~ INSERT INTO people VALUES (3, 'BOB', 3, true) ON CONFLICT (lower(email))"
            " DO UPDATE SET id = excluded.id RETURNING id, room",
        ),
        *("c~ INSERT INTO people VALUES (4, 'e', 2, true) ON CONFLICT (room) WHERE active DO NOTHING", "a COMMIT"),
        *("b.", "c.", "b SELECT id FROM people WHERE id < 4 ORDER BY id"),
    ],
    "repeatable read sees keys of expressions that others have committed": [
        *(f"b {_REPEATABLE}", f"b {_PEOPLE}", "a INSERT INTO people VALUES (2, 'bob', 2, true)"),
        *("b INSERT INTO people VALUES (3, 'BOB', 3, true)", "b ROLLBACK", f"b {_PEOPLE}"),
    ],
    "rows that exclude each other are waited for": [
        *(
            "a BEGIN",
            "a INSERT INTO stays VALUES (1, '[1,1]', '[1,5]')",
            "c INSERT INTO stays VALUES (3, '[2,2]', '[1,9]')",
        ),
        *("b~ INSERT INTO stays VALUES (2, '[1,1]', '[4,8]')", "a COMMIT", "b.", "a BEGIN"),
        *(
            "a DELETE FROM stays WHERE id = 1",
            "b~ INSERT INTO stays VALUES (2, '[1,1]', '[4,8]') ON CONFLICT DO NOTHING",
        ),
        *("a COMMIT", "b.", "b SELECT * FROM stays ORDER BY id"),
    ],
    "repeatable read sees rows that others have committed and that exclude its own": [
        *(f"b {_REPEATABLE}", "b SELECT * FROM stays", "a INSERT INTO stays VALUES (1, '[1,1]', '[1,5]')"),
        *("b INSERT INTO stays VALUES (2, '[1,1]', '[4,8]')", "b ROLLBACK"),
    ],
    "on conflict waits, and does nothing": [
        *("a BEGIN", "a INSERT INTO t VALUES (7, 1)", "b~ INSERT INTO t VALUES (7, 2), (9, 9) ON CONFLICT DO NOTHING"),
        *("a COMMIT", "b.", f"b {_ALL}"),
    ],
    "on conflict waits, and updates": [
        *("a BEGIN", "a INSERT INTO t VALUES (7, 1)"),
        *("b~ INSERT INTO t VALUES (7, 2) ON CONFLICT (k) DO UPDATE SET v = t.v + excluded.v RETURNING v",),
        *("a COMMIT", "b.", f"b {_ALL}"),
    ],
    "on conflict waits for a row that is updated": [
        *("a BEGIN", "a UPDATE t SET v = 100 WHERE k = 1"),
        *("b~ INSERT INTO t VALUES (1, 2) ON CONFLICT (k) DO UPDATE SET v = t.v + excluded.v RETURNING v",),
        *("a COMMIT", "b.", f"b {_ALL}"),
    ],
    "upserts of two rows in one order": [
        *(
            "a BEGIN",
            "b BEGIN",
            "a INSERT INTO t VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET v = t.v + 1",
        ),
        *(
            "b INSERT INTO t VALUES (2, 1) ON CONFLICT (k) DO UPDATE SET v = t.v + 1",
            "a COMMIT",
            "b COMMIT",
            f"a {_ALL}",
        ),
    ],
    "a child sees a parent that was committed after its transaction began": [
        *(
            "a BEGIN",
            f"a {_ALL}",
            "b INSERT INTO parent VALUES (7, 0)",
            "a INSERT INTO child VALUES (1, 7)",
            "a COMMIT",
        ),
    ],
    "deletion of a parent waits for its children": [
        *("a BEGIN", "a INSERT INTO child VALUES (1, 1)", "b~ DELETE FROM parent WHERE id = 1", "a COMMIT", "b."),
        *("b SELECT * FROM parent ORDER BY id",),
    ],
    "a child waits for the deletion of its parent": [
        *("a BEGIN", "a DELETE FROM parent WHERE id = 1", "b~ INSERT INTO child VALUES (1, 1)", "a COMMIT", "b."),
    ],
    "a child of a parent that stays": [
        *("a BEGIN", "a DELETE FROM parent WHERE id = 1", "b~ INSERT INTO child VALUES (1, 1)", "a ROLLBACK", "b."),
        *("b SELECT * FROM child",),
    ],
    "children of one parent do not wait for each other, nor for its counter": [
        *("a BEGIN", "b BEGIN", "a INSERT INTO child VALUES (1, 1)", "b INSERT INTO child VALUES (2, 1)"),
        *("a UPDATE parent SET n = n + 1 WHERE id = 1", "a COMMIT", "b UPDATE parent SET n = n + 1 WHERE id = 1"),
        *("b COMMIT", "a SELECT * FROM parent ORDER BY id", "a SELECT * FROM child ORDER BY id"),
    ],
    "sessions take different jobs": [
        *("a BEGIN", "b BEGIN", "c BEGIN", "d BEGIN", *(f"{each} {_NEXT}" for each in "abcd")),
        *(f"{each} UPDATE jobs SET state = 'done' WHERE id = {n}" for n, each in enumerate("abcd", 1)),
        *(f"{each} COMMIT" for each in "abcd"),
        *("a SELECT id FROM jobs WHERE state = 'done' ORDER BY id",),
    ],
    "sessions take different jobs in one statement": [
        *("a BEGIN", "b BEGIN", "c BEGIN", f"a {_TAKE}", f"b {_TAKE}", f"c {_TAKE}", f"d {_TAKE}"),
        *(
            "b ROLLBACK",
            f"a {_TAKE}",
            "a COMMIT",
            "c COMMIT",
            "d SELECT * FROM jobs WHERE state <> 'queued' ORDER BY id",
        ),
    ],
    "jobs are taken in a WITH": [
        *("a BEGIN", "b BEGIN"),
        *(
            f"{each} WITH next AS (SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED)"
            ", gone AS (DELETE FROM jobs USING next WHERE jobs.id = next.id RETURNING jobs.id)"
            " SELECT id FROM gone ORDER BY id"
            for each in "ab"
        ),
        *("a ROLLBACK", "b COMMIT", "a SELECT min(id), max(id), count(*) FROM jobs"),
    ],
    "offset and limit count the rows that are not locked": [
        *("a BEGIN", "a SELECT id FROM jobs WHERE id IN (2, 3) FOR UPDATE"),
        *("b SELECT id FROM jobs ORDER BY id OFFSET 1 LIMIT 3 FOR UPDATE SKIP LOCKED",),
        *("b SELECT id FROM jobs WHERE id < 6 ORDER BY id DESC FOR UPDATE SKIP LOCKED", "a ROLLBACK"),
    ],
    "for update waits, and reads the new row": [
        *("a BEGIN", "a UPDATE t SET v = 11 WHERE k = 1", "b BEGIN", "b~ SELECT * FROM t WHERE k = 1 FOR UPDATE"),
        *("a COMMIT", "b.", "b UPDATE t SET v = v + 1 WHERE k = 1", "b COMMIT", f"a {_ALL}"),
    ],
    "locks of rows exclude each other as their modes say": [
        *("a BEGIN", "a SELECT v FROM t WHERE k = 1 FOR SHARE", "b SELECT v FROM t WHERE k = 1 FOR SHARE NOWAIT"),
        *("b SELECT v FROM t WHERE k = 1 FOR UPDATE NOWAIT", "b SELECT v FROM t WHERE k = 2 FOR UPDATE NOWAIT"),
        *("b SELECT k FROM t ORDER BY k FOR NO KEY UPDATE SKIP LOCKED", "b~ UPDATE t SET v = 0 WHERE k = 1"),
        *("c SELECT v FROM t WHERE k = 1", "a COMMIT", "b.", f"a {_ALL}"),
    ],
    "a join locks the rows of both tables, or of one": [
        *("a BEGIN", "a SELECT t.k FROM t JOIN parent AS p ON p.id = t.k WHERE t.k = 1 FOR UPDATE OF t"),
        *("b UPDATE parent SET n = 5 WHERE id = 1", "b SELECT k FROM t WHERE k = 1 FOR UPDATE NOWAIT", "a ROLLBACK"),
        *("a BEGIN", "a SELECT t.k FROM t LEFT JOIN child AS c ON c.p = t.k WHERE t.k = 1 FOR UPDATE OF t"),
        *("b SELECT k FROM t ORDER BY k FOR UPDATE SKIP LOCKED", "a ROLLBACK"),
    ],
    "a deadlock of rows": [
        *("a? SET deadlock_timeout = '60s'", "b? SET deadlock_timeout = '10ms'", "a BEGIN", "b BEGIN"),
        *("a UPDATE t SET v = 1 WHERE k = 1", "b UPDATE t SET v = 2 WHERE k = 2", "a~ UPDATE t SET v = 1 WHERE k = 2"),
        *("b UPDATE t SET v = 2 WHERE k = 1", "a.", "b ROLLBACK", "a COMMIT", f"a {_ALL}"),
    ],
    "a deadlock of keys": [
        *("a? SET deadlock_timeout = '60s'", "b? SET deadlock_timeout = '10ms'", "a BEGIN", "b BEGIN"),
        *("a INSERT INTO t VALUES (7, 1)", "b INSERT INTO t VALUES (8, 2)", "a~ INSERT INTO t VALUES (8, 1)"),
        *("b INSERT INTO t VALUES (7, 2)", "a.", "b ROLLBACK", "a COMMIT", f"a {_ALL}"),
    ],
    "lock_timeout ends waits for rows and keys": [
        *(
            "a BEGIN",
            "a UPDATE t SET v = 1 WHERE k = 1",
            "a INSERT INTO t VALUES (7, 1)",
            "b SET lock_timeout = '50ms'",
        ),
        *(
            "b UPDATE t SET v = 2 WHERE k = 1",
            "b INSERT INTO t VALUES (7, 2)",
            "b SELECT 1 FROM t WHERE k = 1 FOR UPDATE",
        ),
        *("a COMMIT", "b UPDATE t SET v = 2 WHERE k = 1", f"b {_ALL}"),
    ],
    "statements of DO and of volatile functions see what is committed before them": [
        *("a BEGIN", "a SELECT pg_advisory_xact_lock(77)", "a INSERT INTO t VALUES (50, 0)"),
        *(
            "b~ DO $$ DECLARE n integer; BEGIN n := (SELECT count(*) FROM t); PERFORM pg_advisory_xact_lock(77);"
            " INSERT INTO t SELECT 100 + n, count(*) FROM t; END $$",
        ),
        *("a COMMIT", "b.", f"b {_ALL}"),
    ],
    "who skips or refuses locked rows waits for the lock of their table": [
        *("a BEGIN", "a LOCK TABLE jobs", f"b~ {_NEXT}", "c~ SELECT id FROM jobs WHERE id = 2 FOR UPDATE NOWAIT"),
        *("a COMMIT", "b.", "c."),
    ],
    "deferred checks see what is committed before the end": [
        *("a CREATE TABLE later (p integer REFERENCES parent DEFERRABLE INITIALLY DEFERRED)", "a BEGIN"),
        *("a INSERT INTO later VALUES (7), (8)", "b INSERT INTO parent VALUES (7, 0), (8, 0)", "a COMMIT"),
        *("a BEGIN", "a INSERT INTO later VALUES (9)", "a COMMIT", "a SELECT * FROM later ORDER BY 1"),
        *("a DROP TABLE later",),
    ],
    "truncate waits for those who add rows, and they for it": [
        *("a BEGIN", "a INSERT INTO jobs VALUES (100, 'new')", "b~ TRUNCATE jobs", "a COMMIT", "b."),
        *("b SELECT count(*) FROM jobs", "a BEGIN", "a TRUNCATE jobs", "b~ INSERT INTO jobs VALUES (1, 'x')"),
        *("a COMMIT", "b.", "b SELECT count(*) FROM jobs"),
    ],
    "truncate waits for those who add many rows to a table without keys": [
        *("a CREATE TABLE heap (a int)", "a BEGIN", "a INSERT INTO heap SELECT generate_series(1, 3000)"),
        *("b~ TRUNCATE heap", "a COMMIT", "b.", "b SELECT count(*) FROM heap", "a DROP TABLE heap"),
    ],
    "a table that is locked takes no rows": [
        *("a BEGIN", "a LOCK TABLE jobs IN SHARE MODE", "b~ INSERT INTO jobs VALUES (101, 'x')", "a COMMIT", "b."),
        *("a BEGIN", "a INSERT INTO jobs VALUES (102, 'x')", "b BEGIN", "b LOCK TABLE jobs IN EXCLUSIVE MODE NOWAIT"),
        *("b ROLLBACK", "a COMMIT", "a SELECT id FROM jobs WHERE id > 100 ORDER BY id"),
    ],
    "comments wait for each other, and nobody else for them": [
        *("a BEGIN", "a COMMENT ON TABLE t IS 'one'", "b~ COMMENT ON TABLE t IS 'two'", "a COMMIT", "b."),
        *("a BEGIN", "a INSERT INTO t VALUES (60, 1)", "b COMMENT ON COLUMN t.v IS 'three'"),
        *("a UPDATE t SET v = 2 WHERE k = 60", "a COMMIT"),
        *("a SELECT obj_description('t'::regclass), col_description('t'::regclass, 2), max(v) FROM t WHERE k = 60",),
        *(
            "a BEGIN",
            "a COMMENT ON SCHEMA public IS 'here'",
            "b~ COMMENT ON SCHEMA public IS 'there'",
            "a COMMIT",
            "b.",
        ),
        *("a BEGIN", "a ALTER TABLE t ALTER v SET DEFAULT 3", "b~ COMMENT ON TABLE t IS 'four'", "a COMMIT", "b."),
        *("a SELECT obj_description('t'::regclass), obj_description('public'::regnamespace)",),
        *("a COMMENT ON SCHEMA public IS 'standard public schema'",),
    ],
    "a lock that is raised after a savepoint is shared again after a rollback to it": [
        *("a BEGIN", "a LOCK TABLE jobs IN ROW EXCLUSIVE MODE", "a SAVEPOINT s", "a LOCK TABLE jobs IN EXCLUSIVE MODE"),
        *("b~ UPDATE jobs SET state = 'mine' WHERE id = 1", "a ROLLBACK TO s", "b.", "b BEGIN"),
        *("b LOCK TABLE jobs IN EXCLUSIVE MODE NOWAIT", "b ROLLBACK", "a COMMIT"),
    ],
    "a rollback to a savepoint releases what was locked since": [
        *("a BEGIN", "a UPDATE t SET v = 1 WHERE k = 1", "a SAVEPOINT s", "a UPDATE t SET v = 1 WHERE k = 2"),
        *("b~ UPDATE t SET v = 2 WHERE k = 2", "c~ UPDATE t SET v = 3 WHERE k = 1", "a ROLLBACK TO s", "b."),
        *("a COMMIT", "c.", f"a {_ALL}"),
    ],
    "a transaction that has failed holds nothing": [
        *("a BEGIN", "a UPDATE t SET v = 1 WHERE k = 1", "b~ UPDATE t SET v = 2 WHERE k = 1", "a SELECT 1 / 0", "b."),
        *("a COMMIT", f"a {_ALL}"),
    ],
    "a table's lock excludes writers of rows": [
        *("a BEGIN", "a LOCK TABLE t", "b~ UPDATE t SET v = 1 WHERE k = 1", "a COMMIT", "b.", "a BEGIN"),
        *(
            "a UPDATE t SET v = 2 WHERE k = 1",
            "b BEGIN",
            "b LOCK TABLE t NOWAIT",
            "b ROLLBACK",
            "a COMMIT",
            f"a {_ALL}",
        ),
    ],
    "truncate waits for writers of rows": [
        *("a BEGIN", "a UPDATE t SET v = 1 WHERE k = 1", "b~ TRUNCATE t", "a COMMIT", "b.", f"a {_ALL}"),
    ],
    "a long chain of updates of one row": [
        *("a BEGIN", "a UPDATE t SET v = v + 1 WHERE k = 1", "b~ UPDATE t SET v = v + 10 WHERE k = 1 RETURNING v > 10"),
        *("c~ UPDATE t SET v = v + 100 WHERE k = 1 RETURNING v > 10", "a COMMIT", "b.", "c.", f"a {_ALL}"),
    ],
}
"""Scripts by what they show. Sessions are a to d; a statement outside of BEGIN commits."""


def play(dsns: Mapping[str, str], script: Sequence[str]) -> Outcome:
    """Runs a script; `dsns` has the server of each session. Returns what each statement gave, in order."""
    first = next(iter(dsns.values()))
    with psycopg.connect(first, autocommit=True) as connection:
        connection.execute(SETUP)
    players = {letter: _Player(dsns[letter]) for letter in sorted({line[0] for line in script})}
    outcome: Outcome = []
    try:
        for line in script:
            player, waits, sql = players[line[0]], line[1], line[2:].strip()
            if waits == ".":
                outcome.append((line[0], player.join()))
            elif waits == "~":
                player.start(sql)
            elif waits == "?":
                player.run(sql)
            else:
                outcome.append((line[0], player.run(sql)))
        return outcome
    finally:
        for player in players.values():
            player.close()
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS child, parent, jobs, people, stays, t")


class _Player:
    """One session, and another one that looks whether it waits."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._watcher = psycopg.connect(dsn, autocommit=True)
        self._thread: threading.Thread | None = None
        self._found: list[object] = []

    def run(self, sql: str) -> object:
        """The rows of a statement or its tag, or the SQLSTATE and the text of its error."""
        try:
            cursor = self._connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else cursor.statusmessage
        except psycopg.Error as error:
            return error.sqlstate, error.diag.message_primary

    def start(self, sql: str) -> None:
        """Runs a statement that has to wait."""
        self._found = []
        self._thread = threading.Thread(target=lambda: self._found.append(self.run(sql)), daemon=True)
        self._thread.start()
        wait_until(lambda: not self._is_running() or self._waits(), f"{sql} waits")
        assert self._is_running(), f"{sql} does not wait: {self._found}"

    def join(self) -> object:
        """The outcome of the statement that has waited."""
        assert self._thread is not None
        self._thread.join(60)
        assert not self._thread.is_alive(), "a statement waits on"
        self._thread = None
        return self._found[0]

    def close(self) -> None:
        """Ends the session and a statement that still waits."""
        if self._thread is not None:
            self._connection.cancel()
            self._thread.join(60)
        self._connection.close()
        self._watcher.close()

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _waits(self) -> bool:
        waits = "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted"
        row = self._watcher.execute(waits, (self._connection.info.backend_pid,)).fetchone()
        return row is not None and row[0] != 0
