"""A server process keeps its memory limit, whatever a statement makes; the statement ends with 53200 or 54000."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpudb import memory
from gpudb.errors import GpudbError
from tests.support.server_program import Program

LIMIT = 1 << 30
STATEMENTS = {
    "DO $$ DECLARE x text := 'x'; BEGIN LOOP x := x || x; END LOOP; END $$": {"53200", "54000"},
    "SELECT sum(length(repeat(b, 1000000))) FROM big": {"53200"},
    "SELECT array_fill(1, ARRAY[1000000000])": {"54000"},
    "SELECT array_fill(1, ARRAY[60000000])": {"53200"},
    "SELECT repeat('x', 1000000000)": {"53200"},
    "SELECT repeat('x', 1100000000)": {"54000"},
    "SELECT to_char(1, repeat('9', 10000000))": {"54000"},
    "SELECT length(replace(repeat('a', 10000000), 'a', repeat('b', 1000)))": {"54000"},
    "SELECT length(repeat('a', 90000000) || repeat('b', 90000000))": {"53200"},
    "SELECT length(concat(repeat('a', 90000000), repeat('b', 90000000)))": {"53200"},
    "SELECT length(concat_ws(',', repeat('a', 90000000), NULL, repeat('b', 90000000)))": {"53200"},
    "WITH RECURSIVE r(t, n) AS (SELECT 'a'::text, 1 UNION ALL SELECT t || t, n + 1 FROM r WHERE n < 40)"
    " SELECT max(length(t)) FROM r": {"53200"},
    "WITH RECURSIVE r(t, n) AS (SELECT 'a'::text, 1 UNION ALL SELECT concat(t, t), n + 1 FROM r WHERE n < 40)"
    " SELECT max(length(t)) FROM r": {"53200"},
    "SELECT format('%1000000000s', 'a')": {"54000"},
    "SELECT lpad('a', 1100000000, 'xy')": {"54000"},
    "SELECT length(string_agg(repeat(b, 1000000), ',')) FROM big": {"53200"},
    "SELECT cardinality(array_agg(repeat(b, 1000000))) FROM big": {"53200"},
    "SELECT length(jsonb_agg(repeat(b, 1000000))::text) FROM big": {"53200"},
}


class Server:
    """A client of a server with a memory limit of LIMIT, and the peak of the server's memory."""

    def __init__(self, program: Program) -> None:
        self.status = Path(f"/proc/{program.process.pid}/status")
        self.connection = psycopg.connect(program.dsn, autocommit=True)
        self.connection.execute("CREATE TABLE big AS SELECT g AS a, 'x'::text AS b FROM generate_series(1, 20000) g")

    def reset_peak(self) -> None:
        """Begins to measure anew."""
        self.status.with_name("clear_refs").write_text("5")

    def peak(self) -> int:
        """The most bytes in use since then."""
        (line,) = (each for each in self.status.read_text().splitlines() if each.startswith("VmHWM"))
        return int(line.split()[1]) * 1024


@pytest.fixture(scope="module", params=["cpu"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ["--engine", request.param, *(["--workers", "1"] if request.param == "twin" else [])]
    with Program(tmp_path_factory.mktemp("limited") / "data", "--memory-limit", "1GB", *options) as program:
        made = Server(program)
        with made.connection:
            yield made


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_beyond_the_limit_ends_within_it(server: Server, statement: str) -> None:
    server.reset_peak()
    with pytest.raises(psycopg.Error) as raised:
        server.connection.execute(statement)  # type: ignore[arg-type]
    assert raised.value.sqlstate in STATEMENTS[statement]
    assert server.peak() < 1.3 * LIMIT
    assert server.connection.execute("SELECT count(*) FROM big").fetchall() == [(20000,)]


def test_long_values_within_the_limit(server: Server) -> None:
    rows = server.connection.execute(
        "SELECT length(repeat('ab', 1234567)), md5(repeat('abc', 70001)), length(lpad('x', 300000, 'yz')),"
        " cardinality(array_fill(7, ARRAY[100000])), length(replace(repeat('x', 3000), 'x', repeat('é', 900)))"
    ).fetchall()
    assert rows == [(2469134, hashlib.md5(b"abc" * 70001).hexdigest(), 300000, 100000, 2700000)]


def test_a_thread_has_a_share_of_the_limit() -> None:
    memory.set_limit(200 << 20, 4)
    try:
        memory.allot(50 << 20)
        with pytest.raises(GpudbError) as raised:
            memory.allot((50 << 20) + 1)
        assert raised.value.sqlstate == "53200"
        with pytest.raises(GpudbError) as raised:
            memory.join_texts("x" * (15 << 20), "x" * (15 << 20))
        assert raised.value.sqlstate == "53200"
        assert memory.join_texts("é", "x") == "éx"
    finally:
        memory.set_limit(None)
    memory.allot(1 << 40)
