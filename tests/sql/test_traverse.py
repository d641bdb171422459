"""Traversal of bound trees: every node is reached, subqueries included, parents first."""

from __future__ import annotations

from gpudb.session.execution.binding.binding import bind_statement, parse_statements
from gpudb.sql import bound
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.traverse import children, replace_nodes, walk
from tests.support.session_fixtures import Database, database
from tests.support.sessions import run

__all__ = ["database"]


def _bound(database: Database, sql: str) -> bound.Query:
    (statement,) = parse_statements(sql)
    query = bind_statement(StatementBinder(database.store.catalog(), sql), statement)
    assert not isinstance(query, bound.DataChange)
    return query


def test_scans_are_found_wherever_they_stand(database: Database) -> None:
    session = database.session("gpudb")
    names = [f"w{number}" for number in range(1, 12)]
    for name in names:
        run(session, f"CREATE TABLE {name} (a int, b int)")
    sql = """
        WITH c AS (SELECT a FROM w1)
        SELECT (SELECT max(a) FROM w2), ARRAY(SELECT a FROM w3), sum(a) FILTER (WHERE a IN (SELECT a FROM w4))
        FROM c JOIN (SELECT a AS z FROM w5 UNION SELECT a FROM w6) AS u ON u.z = (SELECT min(a) FROM w7)
        WHERE EXISTS (SELECT 1 FROM w8) AND a > ALL (SELECT a FROM w9)
        GROUP BY a HAVING count(*) > (SELECT count(*) FROM w10)
        ORDER BY (SELECT a FROM w11 LIMIT 1)
    """
    found = {node.table.name for node in walk(_bound(database, sql)) if isinstance(node, bound.Scan)}
    assert found == set(names)
    session.close()


def test_outermost_first(database: Database) -> None:
    query = _bound(database, "SELECT 1 + (2 * 3)")
    nodes = list(walk(query))
    assert nodes[0] is query
    constants = [node.value for node in nodes if isinstance(node, bound.Constant)]
    calls = [node for node in nodes if isinstance(node, bound.Call)]
    assert constants == [1, 2, 3] or not calls  # or folded while binding


def test_children_of_a_leaf(database: Database) -> None:
    query = _bound(database, "SELECT 7")
    (constant,) = [node for node in walk(query) if isinstance(node, bound.Constant)]
    assert list(children(constant)) == []


def test_windows_sort_keys_and_frames(database: Database) -> None:
    sql = """SELECT sum(x) OVER (PARTITION BY x % 2 ORDER BY x * 3 ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)
             FROM generate_series(1, 9) AS g(x)"""
    nodes = list(walk(_bound(database, sql)))
    assert {type(node) for node in nodes} >= {bound.SortKey, bound.Frame, bound.Column}
    assert {2, 3, 4} <= {node.value for node in nodes if isinstance(node, bound.Constant)}


def test_mapped_replaces_outermost_first(database: Database) -> None:
    query = _bound(
        database, "SELECT x + 1, (SELECT max(y) FROM generate_series(1, 3) AS h(y)) FROM generate_series(1, 9) AS g(x)"
    )
    assert replace_nodes(query, lambda node: None) is query
    seven = replace_nodes(query, lambda node: bound.Constant(7, node.type) if isinstance(node, bound.Call) else None)
    assert any(isinstance(node, bound.Constant) and node.value == 7 for node in walk(seven))
    assert not any(isinstance(node, bound.Call) for node in walk(seven))
    assert any(isinstance(node, bound.Call) for node in walk(query))
