"""The star schema benchmark as Polars lazy frames: each dimension is filtered before the lines are joined with it.

They are built from the queries' SQL, because Polars' SQL does not support all of it. The most selective dimensions
come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import sqlglot
from sqlglot import exp

FACT = "lineorder"
_OWNERS = {"lo": FACT, "d": "date1", "c": "customer", "s": "supplier", "p": "part"}
Tables = Mapping[str, pl.LazyFrame]


def frame(sql: str, tables: Tables, share: Callable[[pl.LazyFrame, pl.LazyFrame, str], float]) -> pl.LazyFrame:
    """A query over tables; `share` returns how many of a dimension's rows (the second) a filter keeps (the first), by a
    column of it.
    """
    tree = sqlglot.parse_one(sql, read="postgres")
    groups = [column.name for column in tree.args["group"].expressions] if tree.args.get("group") else []
    keys: dict[str, tuple[str, str]] = {}
    conditions: dict[str, list[pl.Expr]] = {}
    for part in _conjuncts(tree.args["where"].this):
        owners = sorted({_owner(column) for column in part.find_all(exp.Column)}, key=lambda name: name != FACT)
        if len(owners) == 2:
            sides = {_owner(column): column.name for column in part.find_all(exp.Column)}
            keys[owners[1]] = sides[FACT], sides[owners[1]]
        else:
            conditions.setdefault(owners[0], []).append(pl.sql_expr(part.sql()))
    filtered = {name: of.filter(*conditions[name]) if name in conditions else of for name, of in tables.items()}
    made = filtered[FACT]
    sides = []
    for table, (line, key) in keys.items():
        wanted = [key, *(name for name in groups if _OWNERS[name.partition("_")[0]] == table)]
        kept = filtered[table]
        sides.append((share(kept, tables[table], key), table, line, key, kept.select(wanted)))
    for _, _, line, key, side in sorted(sides, key=lambda each: each[:2]):
        made = made.join(side, left_on=line, right_on=key)
    selected = [each.unalias() for each in tree.expressions]
    (total,) = (each.this for each in selected if isinstance(each, exp.Sum))
    # Its sums and products of 32-bit integers have 32 bits too, and wrap.
    total = total.transform(lambda node: exp.cast(node, "bigint") if isinstance(node, exp.Column) else node)
    summed = pl.sql_expr(total.sql()).sum().alias("total")
    made = made.group_by(groups).agg(summed) if groups else made.select(summed)
    return made.select("total" if isinstance(each, exp.Sum) else each.name for each in selected)


def _conjuncts(condition: exp.Expression) -> list[exp.Expression]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _owner(column: exp.Column) -> str:
    return _OWNERS[column.name.partition("_")[0]]
