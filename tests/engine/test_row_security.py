"""Policies on every engine: part of plans and kernels, before every condition that could tell of hidden rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

SETUP = """
CREATE ROLE anna; CREATE ROLE bert; CREATE ROLE carl;
CREATE TABLE orders (id int, owner text, tenant int, price int, divisor int);
INSERT INTO orders SELECT i, CASE i % 4 WHEN 0 THEN 'anna' WHEN 1 THEN 'bert' WHEN 2 THEN NULL ELSE 'none' END,
    i % 10, i % 100, CASE WHEN i % 4 IN (0, 3) THEN 1 ELSE 0 END FROM generate_series(1, 20000) AS i;
CREATE TABLE items (id int, label text);
INSERT INTO items SELECT i, 'label ' || i % 7 FROM generate_series(1, 2000) AS i;
CREATE TABLE tenants (tenant int, role_name text);
INSERT INTO tenants VALUES (4, 'carl'), (5, 'carl'), (7, 'bert');
GRANT SELECT ON orders, items, tenants TO anna, bert, carl;
CREATE POLICY own ON orders TO anna, bert USING (owner = current_user);
CREATE POLICY by_tenant ON orders TO carl USING (tenant IN (SELECT t.tenant FROM tenants t WHERE t.role_name = current_user));
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
"""
_ANNA = [i for i in range(1, 20001) if i % 4 == 0]
_BERT = [i for i in range(1, 20001) if i % 4 == 1]


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines, whose name is its application's."""
    with client_of_engine(request.param, SETUP) as connection:
        connection.execute("SELECT set_config('application_name', %s, false)", (request.param,))
        yield connection


@contextmanager
def _as(client: psycopg.Connection, role: str) -> Iterator[psycopg.Connection]:
    client.execute(f"SET ROLE {role}")
    try:
        yield client
    finally:
        client.execute("RESET ROLE")


def _rows(client: psycopg.Connection, role: str, sql: str) -> list[tuple[Any, ...]]:
    with _as(client, role):
        return client.execute(sql).fetchall()


def _plan(client: psycopg.Connection, role: str, sql: str) -> str:
    return "\n".join(line for (line,) in _rows(client, role, f"EXPLAIN {sql}"))


def test_each_role_sees_its_rows_by_one_text(client: psycopg.Connection) -> None:
    sql = "SELECT count(*), sum(price) FROM orders WHERE id > 100"
    expected = {
        role: (sum(i > 100 for i in found), sum(i % 100 for i in found if i > 100))
        for role, found in (("anna", _ANNA), ("bert", _BERT))
    }
    for _ in range(2):
        for role, found in expected.items():
            assert _rows(client, role, sql) == [found]
    assert _rows(client, "gpudb", sql) == [(19900, sum(i % 100 for i in range(101, 20001)))]


def test_groups_and_joins_are_over_seen_rows(client: psycopg.Connection) -> None:
    sql = "SELECT label, count(*) FROM orders JOIN items USING (id) WHERE price < 50 GROUP BY label ORDER BY label"
    for role, found in (("anna", _ANNA), ("bert", _BERT)):
        counts: dict[str, int] = {}
        for i in found:
            if i <= 2000 and i % 100 < 50:
                counts[f"label {i % 7}"] = counts.get(f"label {i % 7}", 0) + 1
        assert _rows(client, role, sql) == sorted(counts.items())


def test_a_policy_with_a_subquery(client: psycopg.Connection) -> None:
    sql = "SELECT tenant, count(*) FROM orders GROUP BY tenant ORDER BY tenant"
    assert _rows(client, "carl", sql) == [(4, 2000), (5, 2000)]


@pytest.mark.parametrize("sql", [
    "SELECT count(*) FROM orders WHERE 10 / divisor > 1",
    "SELECT count(*) FROM orders o JOIN items i ON i.id = o.id * 10 / o.divisor / 10",
    "SELECT count(*) FROM (SELECT id, 10 / divisor AS q FROM orders) s WHERE q > 1",
    "SELECT count(*) FROM orders WHERE id IN (SELECT id FROM orders WHERE 10 / divisor > 1)",
    "SELECT 10 / divisor AS q, count(*) FROM orders GROUP BY 1 HAVING 10 / divisor > 1",
    "SELECT sum(10 / divisor) FROM orders",
    "SELECT count(*) FROM items i LEFT JOIN orders o ON o.id = i.id AND 10 / o.divisor > 1",
    "SELECT count(*) FROM orders o, LATERAL (SELECT 10 / o.divisor AS q) l WHERE l.q > 1",
    "SELECT count(*) FROM (SELECT 10 / divisor AS q FROM orders UNION ALL SELECT 7) s WHERE q > 8",
    "SELECT count(*) FROM orders o WHERE EXISTS (SELECT FROM items i WHERE i.id = o.id AND 10 / o.divisor > 1)",
    "SELECT id FROM orders ORDER BY 10 / divisor, id LIMIT 3",
    "SELECT max(r) FROM (SELECT rank() OVER (ORDER BY 10 / divisor) AS r FROM orders) s",
    "SELECT CASE WHEN owner = 'anna' THEN 10 / divisor END AS q FROM orders WHERE 20 / divisor = 20 ORDER BY id LIMIT 3",
])  # fmt: skip
def test_no_condition_sees_a_hidden_row(client: psycopg.Connection, sql: str) -> None:
    """Of the rows of bert, and of those without an owner, a divisor is 0: only bert's statement divides by it."""
    assert _rows(client, "anna", sql)
    with pytest.raises(psycopg.errors.DivisionByZero):
        _rows(client, "bert", sql)


def test_a_policy_is_a_part_of_the_plan(client: psycopg.Connection) -> None:
    engine = client.execute("SHOW application_name").fetchone()[0]  # type: ignore[index]
    plan = _plan(client, "anna", "SELECT tenant, sum(price) FROM orders WHERE id > 100 GROUP BY tenant")
    assert "anna" in plan
    if engine != "cpu":
        assert "Engine: twin" in plan or "Engine: gpu" in plan
        assert "On Host" not in plan
    if "fused" in engine:
        assert "Fused on orders" in plan


def test_a_setting_in_a_policy(client: psycopg.Connection) -> None:
    client.execute("CREATE POLICY narrow ON orders AS RESTRICTIVE USING (tenant = current_setting('app.tenant')::int)")
    try:
        for tenant in (0, 2, 4):
            client.execute(f"SET app.tenant = {tenant}")
            found = sum(i % 10 == tenant for i in _ANNA)
            assert _rows(client, "anna", "SELECT count(*) FROM orders") == [(found,)]
    finally:
        client.execute("DROP POLICY narrow ON orders")
