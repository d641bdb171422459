"""Parsing: positions of statements, rejected texts, DISTRIBUTE BY, and nesting depth."""

from __future__ import annotations

import pytest

from gpudb.errors import GpudbError
from gpudb.sql.parse.nesting import MAX_CHAIN, UNCHECKED_LENGTH, check_depth
from gpudb.sql.parse.parser import deparse, inner, kind, parse, position, present, strings


def _state(text: str) -> tuple[str, int | None]:
    with pytest.raises(GpudbError) as caught:
        parse(text)
    return caught.value.sqlstate, caught.value.position


def test_several_statements() -> None:
    text = "SELECT 1;  INSERT INTO t VALUES (';') ;\n-- a comment; with a semicolon\nDELETE FROM t;;"
    statements = parse(text)
    assert [each.kind for each in statements] == ["SelectStmt", "InsertStmt", "DeleteStmt"]
    assert [each.text.split("\n")[-1].strip() for each in statements] == [
        "SELECT 1",
        "INSERT INTO t VALUES (';')",
        "DELETE FROM t",
    ]
    for each in statements:
        assert text[each.start :].startswith(each.text)


@pytest.mark.parametrize("text", ["", "   ", ";", ";;;", "-- nothing", "/* nothing /* nested */ */", "\n\t;"])
def test_no_statement(text: str) -> None:
    assert parse(text) == []


@pytest.mark.parametrize(
    "text, at",
    [
        ("SELEC 1", 1),
        ("SELECT 1 FRM t", 14),
        ("  SELECT FROM WHERE", 15),
        ("SELECT 'é', 'é' é é", 19),
        ("SELECT '日本語' AS a,, 2", 19),
        ("SELECT 1; SELECT (", 19),
        ("SELECT 'ü'; SELECT 'ü' AS 'x'", 27),
        ("SELECT 'open", 8),
        ('SELECT "open', 8),
        ("SELECT $$open", 8),
        ("SELECT /* open", 8),
        ("SELECT E'\\u00'", 10),
        ("SELECT 1e", 8),
        ("CREATE TABLE t (a int,)", 23),
    ],
)
def test_syntax_errors_point_at_the_character(text: str, at: int) -> None:
    sqlstate, found = _state(text)
    assert sqlstate[:2] in {"42", "22"}
    assert found == at


def test_locations_count_from_the_statement_itself() -> None:
    text = "SELECT 'é' AS é; SELECT ä, nothing FROM t"
    first, second = parse(text)
    assert text[second.start :] == second.text
    node = second.node
    reference = inner(inner(node.target_list[1]).val)  # type: ignore[attr-defined]
    at = position(second.text, reference.location)
    assert at is not None
    assert second.text[at - 1 :].startswith("nothing")
    assert first.start == 0


def test_position_counts_characters() -> None:
    assert position("abc", -1) is None
    assert position("abc", 0) == 1
    assert position("éa", 2) == 2
    assert position("日本x", 6) == 3


def test_a_zero_byte_is_refused() -> None:
    assert _state("SELECT 'a\0b'")[0] == "22021"


def test_nodes_are_opened() -> None:
    (statement,) = parse("SELECT s.a, * FROM s.t WHERE NOT b")
    node = statement.node
    target = inner(node.target_list[0])  # type: ignore[attr-defined]
    assert kind(target.val) == "column_ref"
    assert strings(inner(target.val).fields) == ("s", "a")
    assert present(node.where_clause)  # type: ignore[attr-defined]
    assert not present(node.having_clause)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, b FROM t WHERE c = 'it''s' ORDER BY 1 DESC NULLS LAST LIMIT 5",
        "INSERT INTO t (a) VALUES (1), (DEFAULT) RETURNING *",
        "UPDATE t SET a = b + 1 FROM u WHERE t.x = u.x",
        "CREATE TABLE \"Ä\" (a integer NOT NULL, b text DEFAULT 'x')",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    ],
)
def test_deparse_is_the_same_statement(sql: str) -> None:
    (statement,) = parse(sql)
    text = deparse(statement.node)
    assert deparse(parse(text)[0].node) == text


# ---- DISTRIBUTE BY


@pytest.mark.parametrize(
    "clause, expected",
    [
        ("DISTRIBUTE BY HASH (a)", ("hash", ("a",))),
        ("distribute by hash(a, B)", ("hash", ("a", "b"))),
        ('DISTRIBUTE BY HASH ("B", a)', ("hash", ("B", "a"))),
        ('DISTRIBUTE  BY\nHASH("q""x")', ("hash", ('q"x',))),
        ("DISTRIBUTE BY REPLICATION", ("replication", ())),
        ("DISTRIBUTE BY ROUNDROBIN", ("roundrobin", ())),
    ],
)
def test_distribute_by(clause: str, expected: tuple[str, tuple[str, ...]]) -> None:
    (statement,) = parse(f"CREATE TABLE t (a int) {clause}")
    found = statement.distribution
    assert found is not None
    assert (found.kind, found.columns) == expected


def test_each_statement_has_its_own_distribution() -> None:
    text = "CREATE TABLE é (a int) DISTRIBUTE BY HASH (a); CREATE TABLE b (a int); CREATE TABLE c AS SELECT 1 AS a DISTRIBUTE BY REPLICATION"
    kinds = [each.distribution.kind if each.distribution else None for each in parse(text)]
    assert kinds == ["hash", None, "replication"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'DISTRIBUTE BY HASH (a)'",
        'SELECT 1 AS "DISTRIBUTE BY HASH (a)"',
        "SELECT 1 -- DISTRIBUTE BY HASH (a)",
        "SELECT /* DISTRIBUTE BY HASH (a) */ 1",
        "SELECT $$DISTRIBUTE BY HASH (a)$$",
        "SELECT 1 AS distribute",
    ],
)
def test_distribute_by_inside_texts_and_comments(text: str) -> None:
    (statement,) = parse(text)
    assert statement.distribution is None


def test_distribute_by_is_refused_elsewhere() -> None:
    assert _state("SELECT 'é' DISTRIBUTE BY HASH (a)") == ("42601", 12)
    assert _state("DELETE FROM t DISTRIBUTE BY REPLICATION")[0] == "42601"
    assert _state("CREATE TABLE t (a int) DISTRIBUTE BY MODULO (a)")[0] == "0A000"


def test_positions_after_a_distribution() -> None:
    text = "CREATE TABLE t (a int) DISTRIBUTE BY HASH (a); SELEC 1"
    assert _state(text) == ("42601", text.index("SELEC") + 1)


# ---- depth


def test_short_texts_are_not_counted() -> None:
    check_depth("+" * UNCHECKED_LENGTH)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "1 + " * (MAX_CHAIN + 1) + "1",
        "SELECT 1" + "::int::text" * MAX_CHAIN,
        "SELECT 1" + " IS NULL" * MAX_CHAIN,
        "SELECT 1" + " UNION SELECT 1, 2 AND 3" * (MAX_CHAIN + 1),
        "SELECT 1 FROM a" + " JOIN a ON b AND c" * (MAX_CHAIN + 1),
        "SELECT 1" + " + f(1, 2)" * MAX_CHAIN,
        "SELECT 1" + " + CASE WHEN a AND b THEN 1 END" * MAX_CHAIN,
        "SELECT x" + " BETWEEN 1 AND 2 IS NULL" * MAX_CHAIN,
    ],
)
def test_chains_that_would_exhaust_the_stack(text: str) -> None:
    with pytest.raises(GpudbError) as caught:
        check_depth(text)
    assert caught.value.sqlstate == "54001"
    assert _state(text)[0] == "54001"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES " + ", ".join(f"({n}, 'it''s (', -1.5e3, NULL)" for n in range(20_000)),
        "SELECT 1 WHERE " + " OR ".join(f"(a = {n} AND b <> 'x''{n}')" for n in range(5_000)),
        "SELECT '" + "+ " * 50_000 + "'",
        "SELECT 1 -- " + "+ " * 50_000,
        "SELECT $$" + "+ " * 50_000 + "$$",
        "SELECT " + ", ".join(f"a{n} + 1 AS b{n}" for n in range(5_000)),
    ],
)
def test_long_flat_statements_pass(text: str) -> None:
    assert len(parse(text)) == 1
