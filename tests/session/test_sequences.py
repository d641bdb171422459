"""Sequences between sessions and over time: no value twice, even after a crash, and many values are fast."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, value


def test_no_value_twice_between_sessions(session: Session, other: Session) -> None:
    run(session, "CREATE SEQUENCE shared_seq")
    drawn = [value(each, "SELECT nextval('shared_seq')") for each in (session, other, other, session)]
    assert drawn == [1, 2, 3, 4]
    assert value(session, "SELECT currval('shared_seq')") == 4
    assert value(other, "SELECT lastval()") == 3


def test_rolled_back_values_are_spent(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE spent (id serial, v text)")
    run(session, "BEGIN; INSERT INTO spent (v) VALUES ('a'), ('b')")
    run(other, "INSERT INTO spent (v) VALUES ('c')")
    run(session, "ROLLBACK")
    assert run(other, "SELECT id FROM spent") == [(3,)]


def test_options_of_others_count_at_once_but_where_it_stands_is_kept(session: Session, other: Session) -> None:
    run(session, "CREATE SEQUENCE altered_seq")
    run(other, "BEGIN; SELECT 1")
    run(session, "BEGIN; ALTER SEQUENCE altered_seq INCREMENT 10")
    assert value(other, "SELECT nextval('altered_seq')") == 1
    assert value(other, "SELECT nextval('altered_seq')") == 2
    run(session, "COMMIT")
    # The other session's transaction is older than the change and still sees the old state.
    assert value(other, "SELECT nextval('altered_seq')") == 12
    run(other, "COMMIT")


def test_a_cache_belongs_to_its_session(session: Session, other: Session) -> None:
    run(session, "CREATE SEQUENCE cached_seq CACHE 10")
    assert value(session, "SELECT nextval('cached_seq')") == 1
    assert value(other, "SELECT nextval('cached_seq')") == 11
    assert value(session, "SELECT nextval('cached_seq')") == 2


def test_numbers_follow_the_order_of_the_query(session: Session) -> None:
    run(session, "CREATE TABLE ordered (id bigserial, n bigint)")
    run(session, "INSERT INTO ordered (n) SELECT n FROM generate_series(1, 300000) AS g(n) ORDER BY n DESC")
    assert run(session, "SELECT min(id), max(id), count(DISTINCT id) FROM ordered") == [(1, 300000, 300000)]
    assert value(session, "SELECT count(*) FROM ordered WHERE id + n <> 300001") == 0


def test_a_million_values_are_drawn_in_blocks(session: Session) -> None:
    run(session, "CREATE TABLE many (id bigserial, n integer)")
    started = time.perf_counter()
    run(session, "INSERT INTO many (n) SELECT 1 FROM generate_series(1, 1000000)")
    assert time.perf_counter() - started < 60
    assert value(session, "SELECT last_value FROM many_id_seq") == 1_000_000


def test_registered_frames_take_part(session: Session) -> None:
    run(session, "CREATE TABLE numbered (id serial, n bigint)")
    run(session, "CREATE SEQUENCE frame_seq START 100")
    session.frames["rows"] = pa.table({"n": pa.array([5, 6, 7])})
    from gpudb.sql.bound import OutputColumn
    from gpudb.types import INT8

    session.frame_columns["rows"] = (OutputColumn("n", INT8),)
    assert run(session, "SELECT n, nextval('frame_seq') FROM rows ORDER BY n") == [(5, 100), (6, 101), (7, 102)]
    session.frames.clear()
    session.frame_columns.clear()


def test_places_without_an_order_are_refused(session: Session) -> None:
    run(session, "CREATE SEQUENCE place_seq")
    for sql in (
        "SELECT 1 FROM generate_series(1, 3) AS g(n) WHERE nextval('place_seq') > 1",
        "SELECT DISTINCT nextval('place_seq') FROM generate_series(1, 3)",
        "SELECT max(nextval('place_seq')) FROM generate_series(1, 3)",
        "SELECT (SELECT nextval('place_seq') + n) FROM generate_series(1, 3) AS g(n)",
        "EXPLAIN ANALYZE SELECT nextval('place_seq')",
    ):
        assert fails(session, sql).sqlstate == "0A000", sql
    run(session, "EXPLAIN SELECT nextval('place_seq')")
    assert value(session, "SELECT nextval('place_seq')") == 1


def test_prepared_statements_draw_anew(session: Session) -> None:
    run(session, "CREATE SEQUENCE prepared_seq; PREPARE draw AS SELECT nextval('prepared_seq')")
    assert [value(session, "EXECUTE draw") for _ in range(3)] == [1, 2, 3]
    again = [value(session, "SELECT nextval('prepared_seq')") for _ in range(3)]
    assert again == [4, 5, 6]


def test_a_clean_end_leaves_no_gap(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CREATE TABLE kept (id serial, v text); INSERT INTO kept (v) VALUES ('a')")
    run(session, "CREATE SEQUENCE untouched START 7")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "INSERT INTO kept (v) VALUES ('b')")
    assert run(session, "SELECT * FROM kept ORDER BY id") == [(1, "a"), (2, "b")]
    assert value(session, "SELECT nextval('untouched')") == 7
    session.close()
    database.close()


def test_copy_fills_what_it_is_not_given(session: Session, tmp_path: Path) -> None:
    run(
        session,
        "CREATE TABLE copied (id integer GENERATED ALWAYS AS IDENTITY, n integer, d text DEFAULT 'x' || 'y',"
        " twice integer GENERATED ALWAYS AS (n * 2) STORED)",
    )
    data = tmp_path / "rows.csv"
    data.write_text("1\n2\n3\n")
    run(session, f"COPY copied (n) FROM '{data}' (FORMAT csv) WHERE n > 1")
    assert run(session, "SELECT * FROM copied ORDER BY n") == [(1 + 1, 2, "xy", 4), (3, 3, "xy", 6)]
    data.write_text("70,7,z\n")
    run(session, f"COPY copied FROM '{data}' (FORMAT csv)")
    assert run(session, "SELECT * FROM copied WHERE n = 7") == [(70, 7, "z", 14)]
    assert fails(session, f"COPY copied (n, twice) FROM '{data}' (FORMAT csv)").sqlstate == "42P10"
    out = tmp_path / "out.csv"
    run(session, f"COPY copied TO '{out}' (FORMAT csv)")
    assert out.read_text() == "2,2,xy\n3,3,xy\n70,7,z\n"


def test_loaded_files_go_without_generated_columns(session: Session, tmp_path: Path) -> None:
    run(
        session,
        "CREATE TABLE loaded (n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED,"
        " id integer GENERATED BY DEFAULT AS IDENTITY)",
    )
    data = tmp_path / "rows.csv"
    data.write_text("1,10\n2,20\n")
    run(session, f"SELECT load_data('loaded', '{data}')")
    pq.write_table(pa.table({"n": pa.array([5, 6], pa.int32())}), tmp_path / "rows.parquet")
    run(session, f"SELECT load_data('loaded', '{tmp_path}/rows.parquet')")
    assert run(session, "SELECT * FROM loaded ORDER BY n") == [(1, 2, 10), (2, 4, 20), (5, 10, 1), (6, 12, 2)]
    pq.write_table(pa.table({"n": [7], "twice": [7]}), tmp_path / "given.parquet")
    assert fails(session, f"SELECT load_data('loaded', '{tmp_path}/given.parquet')").sqlstate == "42P10"
