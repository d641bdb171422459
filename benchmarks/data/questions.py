"""New questions: SELECT statements drawn over a schema with foreign keys, in SQL that PostgreSQL and DuckDB read alike.

A question joins a fact table with some of what it refers to, filters by values that occur, and is one of the kinds of
`KINDS`: groups, windows over groups, ranks, subqueries, anti-joins, common tables compared, unions, set operations,
raw rows. Every LIMIT follows an order by all output columns, so that each question has one answer. The same seed gives
the same questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import duckdb

_DATE, _TEXT, _WHOLE, _MONEY = "date", "text", "whole", "money"
_TYPES = {"DATE": _DATE, "INTEGER": _WHOLE, "BIGINT": _WHOLE, "NUMERIC": _MONEY, "DECIMAL": _MONEY}
_DECLARED = re.compile(r"^\s*(\w+)\s+(INTEGER|BIGINT|DATE|NUMERIC|DECIMAL|CHAR|VARCHAR|TEXT)\b", re.I | re.M)
_SAMPLED = 200
"""Values of a column that conditions are drawn from."""

TPCH_KEYS = {
    "lineitem": {"l_orderkey": "orders.o_orderkey", "l_partkey": "part.p_partkey", "l_suppkey": "supplier.s_suppkey"},
    "orders": {"o_custkey": "customer.c_custkey"},
    "partsupp": {"ps_partkey": "part.p_partkey", "ps_suppkey": "supplier.s_suppkey"},
    "customer": {"c_nationkey": "nation.n_nationkey"},
    "supplier": {"s_nationkey": "nation.n_nationkey"},
    "nation": {"n_regionkey": "region.r_regionkey"},
}
"""Foreign keys: table → column → the table and column it refers to."""
TPCDS_KEYS = {
    "store_sales": {
        "ss_sold_date_sk": "date_dim.d_date_sk", "ss_item_sk": "item.i_item_sk", "ss_store_sk": "store.s_store_sk",
        "ss_customer_sk": "customer.c_customer_sk", "ss_promo_sk": "promotion.p_promo_sk",
        "ss_hdemo_sk": "household_demographics.hd_demo_sk", "ss_cdemo_sk": "customer_demographics.cd_demo_sk",
    },
    "catalog_sales": {
        "cs_sold_date_sk": "date_dim.d_date_sk", "cs_item_sk": "item.i_item_sk",
        "cs_bill_customer_sk": "customer.c_customer_sk", "cs_ship_mode_sk": "ship_mode.sm_ship_mode_sk",
        "cs_warehouse_sk": "warehouse.w_warehouse_sk", "cs_call_center_sk": "call_center.cc_call_center_sk",
    },
    "web_sales": {
        "ws_sold_date_sk": "date_dim.d_date_sk", "ws_item_sk": "item.i_item_sk",
        "ws_bill_customer_sk": "customer.c_customer_sk", "ws_web_site_sk": "web_site.web_site_sk",
        "ws_ship_mode_sk": "ship_mode.sm_ship_mode_sk",
    },
    "store_returns": {
        "sr_returned_date_sk": "date_dim.d_date_sk", "sr_item_sk": "item.i_item_sk", "sr_store_sk": "store.s_store_sk",
        "sr_customer_sk": "customer.c_customer_sk", "sr_reason_sk": "reason.r_reason_sk",
    },
    "inventory": {
        "inv_date_sk": "date_dim.d_date_sk", "inv_item_sk": "item.i_item_sk",
        "inv_warehouse_sk": "warehouse.w_warehouse_sk",
    },
    "customer": {
        "c_current_addr_sk": "customer_address.ca_address_sk",
        "c_current_hdemo_sk": "household_demographics.hd_demo_sk",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema to ask about: kinds of columns, foreign keys, and values that occur in each column."""

    columns: Mapping[str, Mapping[str, str]]
    keys: Mapping[str, Mapping[str, str]]
    values: Mapping[str, Sequence[object]]
    distinct: Mapping[str, int]

    @property
    def facts(self) -> list[str]:
        """Tables with at least two foreign keys."""
        return [table for table, keys in self.keys.items() if len(keys) > 1]


def read_schema(
    statements: Sequence[str], keys: Mapping[str, Mapping[str, str]], connection: duckdb.DuckDBPyConnection
) -> Schema:
    """Reads CREATE TABLE statements, and samples of the tables, which `connection` has."""
    columns: dict[str, dict[str, str]] = {}
    values: dict[str, Sequence[object]] = {}
    distinct: dict[str, int] = {}
    for statement in statements:
        table = statement.split()[2].strip('"(')
        declared = {name.lower(): _TYPES.get(kind.upper(), _TEXT) for name, kind in _DECLARED.findall(statement)}
        columns[table] = declared
        for name in declared:
            found = connection.execute(
                f"SELECT DISTINCT {name} FROM {table} WHERE {name} IS NOT NULL ORDER BY hash({name}) LIMIT {_SAMPLED}"
            ).fetchall()
            values[name] = sorted(value for (value,) in found)
            distinct[name] = len(found)
    return Schema(columns, keys, values, distinct)


class _Draft:
    """A question's FROM and its columns: a fact table, and some of the tables that it refers to."""

    def __init__(self, random: Random, schema: Schema, fact: str | None = None, most: int = 4) -> None:
        self.random, self.schema = random, schema
        self.fact = fact or random.choice(schema.facts)
        self.tables = [self.fact]
        self.joins: list[tuple[str, str, str]] = []
        edges = [(self.fact, each) for each in schema.keys[self.fact].items()]
        for _ in range(random.randint(1, most)):
            edges = [edge for edge in edges if edge[1][1].split(".")[0] not in self.tables]
            if not edges:
                break
            _, (column, target) = edge = random.choice(edges)
            table, key = target.split(".")
            self.tables.append(table)
            self.joins.append((table, column, key))
            edges.remove(edge)
            edges += [(table, each) for each in schema.keys.get(table, {}).items()]

    # ---- parts

    def source(self, left: bool = False) -> str:
        """Returns FROM's items, joined by commas and conditions in WHERE, by JOIN, or the last by LEFT JOIN."""
        text = self.fact
        for number, (table, column, key) in enumerate(self.joins, 1):
            word = "LEFT JOIN" if left and number == len(self.joins) else "JOIN"
            text += f" {word} {table} ON {column} = {key}"
        return text

    def listed(self) -> tuple[str, list[str]]:
        """Returns FROM's items with commas, and the conditions that join them."""
        return ", ".join(self.tables), [f"{column} = {key}" for _, column, key in self.joins]

    def pick(self, *kinds: str, tables: Sequence[str] | None = None) -> list[str]:
        """Returns the columns of some kinds in shuffled order, without keys."""
        found = [
            name
            for table in tables or self.tables
            for name, kind in self.schema.columns[table].items()
            if kind in kinds and not name.endswith(("_sk", "key")) and self.schema.distinct[name] > 1
        ]
        self.random.shuffle(found)
        return found

    def kind(self, column: str) -> str:
        """Returns a column's kind."""
        return next(columns[column] for columns in self.schema.columns.values() if column in columns)

    def dimensions(self, count: int) -> list[str]:
        """Returns expressions to group by: columns with few values, parts of dates, CASE, prefixes."""
        found: list[str] = []
        for column in self.pick(_TEXT, _DATE, _WHOLE):
            few = self.schema.distinct[column] < 60
            kind = self.kind(column)
            if kind == _DATE:
                found.append(self.random.choice([f"extract(year from {column})", f"extract(month from {column})"]))
            elif kind == _TEXT and not few:
                found.append(self.random.choice([f"substring({column} from 1 for 2)", f"length({column})"]))
            elif kind == _WHOLE and not few:
                middle = self.value(column)
                found.append(
                    f"CASE WHEN {column} < {middle} THEN 'low' WHEN {column} IS NULL THEN 'none' ELSE 'high' END"
                )
            elif few:
                found.append(f"coalesce({column}, '?')" if kind == _TEXT and self.random.random() < 0.2 else column)
            if len(found) == count:
                break
        return found or ["1 + 1"]

    def measures(self, count: int) -> list[str]:
        """Returns aggregates over the fact table's numbers, and counts."""
        numbers = self.pick(_MONEY, _WHOLE, tables=[self.fact]) or self.pick(_MONEY, _WHOLE) or ["1"]
        found = []
        for _ in range(count):
            a, b = self.random.choice(numbers), self.random.choice(numbers)
            condition = self.condition()
            forms = [
                f"sum({a})", f"min({a})", f"max({b})", "count(*)", f"count({a})", f"count(DISTINCT {b})",
                f"sum({a} - {b})", f"sum(CASE WHEN {condition} THEN {a} ELSE 0 END)", f"avg({a})",
                f"count(*) FILTER (WHERE {condition})",
            ]  # fmt: skip
            found.append(self.random.choice(forms))
        return found

    def value(self, column: str) -> str:
        """Returns a value of a column as a literal."""
        drawn = self.random.choice(self.schema.values[column])
        kind = self.kind(column)
        if kind == _TEXT:
            return "'" + str(drawn).rstrip().replace("'", "''") + "'"
        return f"DATE '{drawn}'" if kind == _DATE else str(drawn)

    def condition(self) -> str:
        """Returns a condition over one column of any table."""
        column = self.random.choice(self.pick(_TEXT, _DATE, _WHOLE, _MONEY) or ["1"])
        if column == "1":
            return "1 = 1"
        kind, value = self.kind(column), self.value(column)
        if kind == _TEXT:
            text = value[1:-1].replace("''", "").replace("%", "").replace("_", "") or "a"
            part = text[len(text) // 3 : len(text) // 3 + 4] or text
            forms = [
                f"{column} = {value}", f"{column} <> {value}", f"{column} LIKE '%{part}%'",
                f"{column} LIKE '{text[:2]}%'", f"{column} IN ({value}, {self.value(column)}, {self.value(column)})",
                f"{column} NOT LIKE '{text[:1]}%'", f"upper({column}) LIKE '%{part.upper()}%'",
                f"{column} IS NOT NULL", f"{column} >= {value}",
            ]  # fmt: skip
            return self.random.choice(forms)
        low, high = sorted(self.random.choice(self.schema.values[column]) for _ in range(2))  # type: ignore[type-var]
        if kind == _DATE:
            forms = [
                f"{column} >= {value}", f"{column} BETWEEN DATE '{low}' AND DATE '{high}'",
                f"extract(month from {column}) = {self.random.randint(1, 12)}", f"{column} < {value}",
            ]  # fmt: skip
            return self.random.choice(forms)
        forms = [
            f"{column} > {value}", f"{column} BETWEEN {low} AND {high}", f"{column} <= {value}",
            f"{column} IS NOT NULL", f"({column} < {low} OR {column} > {high})", f"NOT {column} = {value}",
        ]  # fmt: skip
        return self.random.choice(forms)

    def where(self, more: Sequence[str] = (), most: int = 3) -> str:
        """Returns WHERE with some conditions, or nothing."""
        drawn = [*more, *(self.condition() for _ in range(self.random.randint(0, most)))]
        return f" WHERE {' AND '.join(drawn)}" if drawn else ""


def _order(count: int, random: Random, limit: bool = True) -> str:
    """Returns ORDER BY all output columns from one of them on, and LIMIT."""
    first = random.randrange(count)
    places = [first, *(each for each in range(count) if each != first)]
    words = [f"{place + 1}{random.choice((' DESC NULLS LAST', ' NULLS FIRST', ' NULLS LAST'))}" for place in places]
    return f" ORDER BY {', '.join(words)}" + (f" LIMIT {random.choice((5, 10, 100))}" if limit else "")


def _groups(draft: _Draft) -> tuple[list[str], list[str], str]:
    """Returns dimensions, measures, and a SELECT of both without an order: d1, d2, … m1, m2, …"""
    random = draft.random
    dimensions, measures = draft.dimensions(random.randint(1, 3)), draft.measures(random.randint(1, 4))
    if random.random() < 0.4:
        source, joined = draft.listed()
        where = draft.where(joined)
    else:
        source, where = draft.source(left=random.random() < 0.2), draft.where()
    listed = [f"{each} AS d{n}" for n, each in enumerate(dimensions, 1)]
    listed += [f"{each} AS m{n}" for n, each in enumerate(measures, 1)]
    places = ", ".join(str(n) for n in range(1, len(dimensions) + 1))
    having = " HAVING count(*) > 1" if random.random() < 0.3 else ""
    return dimensions, measures, f"SELECT {', '.join(listed)} FROM {source}{where} GROUP BY {places}{having}"


def ask_groups(draft: _Draft) -> str:
    """Groups of joined tables."""
    dimensions, measures, text = _groups(draft)
    return text + _order(len(dimensions) + len(measures), draft.random)


def ask_windows(draft: _Draft) -> str:
    """Windows over groups: ranks, shares, running sums."""
    dimensions, _, text = _groups(draft)
    partition = f"PARTITION BY d{len(dimensions)}" if len(dimensions) > 1 else ""
    order = ", ".join(f"d{n}" for n in range(1, len(dimensions) + 1))
    forms = [
        f"rank() OVER ({partition} ORDER BY m1 DESC NULLS LAST)", f"sum(m1) OVER ({partition})",
        f"row_number() OVER ({partition} ORDER BY m1 NULLS FIRST, {order})", f"lag(m1) OVER (ORDER BY {order})",
        f"sum(m1) OVER ({partition} ORDER BY {order} ROWS UNBOUNDED PRECEDING)", f"count(*) OVER ({partition})",
    ]  # fmt: skip
    drawn = draft.random.sample(forms, 2)
    columns = [*(f"d{n}" for n in range(1, len(dimensions) + 1)), "m1", *drawn]
    return f"WITH g AS ({text}) SELECT {', '.join(columns)} FROM g" + _order(len(columns), draft.random)


def ask_ranked(draft: _Draft) -> str:
    """The first groups of each partition."""
    dimensions, _, text = _groups(draft)
    order = ", ".join(f"d{n}" for n in range(1, len(dimensions) + 1))
    rank = f"row_number() OVER (PARTITION BY d1 ORDER BY m1 DESC NULLS LAST, {order}) AS r"
    inner = f"SELECT g.*, {rank} FROM ({text}) g"
    return f"SELECT {order}, m1, r FROM ({inner}) s WHERE r <= {draft.random.randint(1, 5)}" + _order(
        len(dimensions) + 2, draft.random
    )


def ask_subquery(draft: _Draft) -> str:
    """Rows compared with an aggregate of others, correlated or not; IN, EXISTS and their negations."""
    random, fact = draft.random, draft.fact
    number = random.choice(draft.pick(_MONEY, _WHOLE, tables=[fact]) or list(draft.schema.keys[fact]))
    key, target = random.choice(list(draft.schema.keys[fact].items()))
    table, column = target.split(".")
    inside = _Draft(random, draft.schema, fact, 1)
    names = [name for name in inside.schema.columns[table] if inside.schema.distinct[name] > 1]
    filtered = [name for name in names if inside.kind(name) == _TEXT] or names or [column]
    where = f"{filtered[0]} >= {inside.value(filtered[0])}"
    forms = [
        f"{number} > (SELECT avg({number}) FROM {fact})",
        f"{number} >= (SELECT max(i.{number}) FROM {fact} i WHERE i.{key} = o.{key})",
        f"{key} IN (SELECT {column} FROM {table} WHERE {where})",
        f"{key} NOT IN (SELECT {column} FROM {table} WHERE {where} AND {column} IS NOT NULL)",
        f"EXISTS (SELECT 1 FROM {table} t WHERE t.{column} = o.{key} AND {where})",
        f"NOT EXISTS (SELECT 1 FROM {table} t WHERE t.{column} = o.{key} AND {where})",
    ]  # fmt: skip
    conditions = random.sample(forms, random.randint(1, 2))
    return f"SELECT count(*), sum({number}), count(DISTINCT {key}) FROM {fact} o WHERE {' AND '.join(conditions)}"


def ask_compared(draft: _Draft) -> str:
    """Two common tables of the same groups under different conditions, joined."""
    dimensions, _, first = _groups(draft)
    table = "WITH a AS ({}), b AS ({})".format(
        first, first.replace(" GROUP BY", f"{_and(first)} {draft.condition()} GROUP BY")
    )
    on = " AND ".join(f"a.d{n} = b.d{n}" for n in range(1, len(dimensions) + 1))
    word = draft.random.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
    columns = [f"coalesce(a.d{n}, b.d{n})" for n in range(1, len(dimensions) + 1)] + ["a.m1", "b.m1"]
    return f"{table} SELECT {', '.join(columns)} FROM a {word} b ON {on}" + _order(len(columns), draft.random)


def _and(text: str) -> str:
    return " AND" if " WHERE " in text else " WHERE"


def ask_union(draft: _Draft) -> str:
    """Groups of two fact tables one after the other, or of one under two conditions; sums over both."""
    parts = []
    for number in (1, 2):
        other = _Draft(draft.random, draft.schema, most=2)
        measure = draft.random.choice(other.pick(_MONEY, _WHOLE, tables=[other.fact]) or ["1"])
        parts.append(f"SELECT 'part {number}' AS part, {measure} AS m FROM {other.source()}{other.where(most=2)}")
    return f"SELECT part, count(*), sum(m), min(m), max(m) FROM ({' UNION ALL '.join(parts)}) u GROUP BY part" + _order(
        5, draft.random
    )


def ask_set_operation(draft: _Draft) -> str:
    """Keys in one set of rows and in, or not in, another."""
    key = draft.random.choice(list(draft.schema.keys[draft.fact]))
    word = draft.random.choice(("INTERSECT", "EXCEPT", "UNION"))
    parts = [f"SELECT {key} FROM {draft.source()}{draft.where(most=2)}" for _ in range(2)]
    return f"SELECT count(*), min({key}), max({key}) FROM ({f' {word} '.join(parts)}) s"


def ask_rows(draft: _Draft) -> str:
    """Distinct rows with an order and a limit."""
    columns = [*draft.pick(_TEXT)[:2], *draft.pick(_MONEY, _WHOLE, _DATE)[:2]] or ["1"]
    return f"SELECT DISTINCT {', '.join(columns)} FROM {draft.source()}{draft.where()}" + _order(
        len(columns), draft.random
    )


def ask_missing(draft: _Draft) -> str:
    """How many rows find no partner in an outer join, by group."""
    table, _, key = draft.joins[-1]
    dimension = next(iter(draft.pick(_TEXT, _WHOLE, tables=[draft.fact])), None)
    group = dimension if dimension is not None and draft.schema.distinct[dimension] < 60 else "1 + 1"
    text = (
        f"SELECT {group}, count(*), count({table}.{key}) FROM {draft.source(left=True)}{draft.where(most=1)} GROUP BY 1"
    )
    return text + _order(3, draft.random)


KINDS: Mapping[str, Callable[[_Draft], str]] = {
    "groups": ask_groups, "windows": ask_windows, "ranked": ask_ranked, "subquery": ask_subquery,
    "compared": ask_compared, "union": ask_union, "set operation": ask_set_operation, "rows": ask_rows,
    "missing": ask_missing,
}  # fmt: skip


def ask(schema: Schema, count: int, seed: int) -> list[tuple[str, str]]:
    """Draws so many questions: their kind, and their SQL."""
    random = Random(seed)
    names, weights = list(KINDS), (4, 3, 2, 3, 2, 1, 1, 2, 1)
    drawn = random.choices(names, weights, k=count)
    return [(name, KINDS[name](_Draft(random, schema))) for name in drawn]
