"""Rows of pg_partitioned_table and pg_inherits, and the texts of partition keys and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import list_children, list_partitions
from gpudb.catalog.partition_values import read_limit, read_value
from gpudb.catalog.partitions import STRATEGY_NAMES, Datum, PartitionBound
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.column_rows import get_type_facts
from gpudb.catalog.postgres.indexes import IndexFacts, get_operator_class, is_same_index, list_indexes
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.tables import Table
from gpudb.types import SqlType


def deparse_key(table: Table) -> str | None:
    """Returns a table's partition key as pg_get_partkeydef shows it: `RANGE (a, b)`; None for other tables."""
    key = table.partitioned_by
    if key is None:
        return None
    return f"{STRATEGY_NAMES[key.strategy]} ({', '.join(map(quote_name, key.columns))})"


def deparse_bound(parent: Table, bound: PartitionBound) -> str:
    """Returns the bound of a partition as pg_get_expr shows it: `FOR VALUES FROM (1) TO (10)`."""
    key = parent.partitioned_by
    assert key is not None
    if bound.default:
        return "DEFAULT"
    if key.strategy == "h":
        return f"FOR VALUES WITH (modulus {bound.modulus}, remainder {bound.remainder})"
    types = {column.name: column.type for column in parent.columns}
    kinds = [types[name] for name in key.columns]
    if key.strategy == "l":
        return f"FOR VALUES IN ({', '.join(deparse_datum(kinds[0], each) for each in bound.values)})"
    return f"FOR VALUES FROM {deparse_limits(kinds, bound.lower)} TO {deparse_limits(kinds, bound.upper)}"


def deparse_limits(types: Sequence[SqlType], limits: Sequence[Datum]) -> str:
    """Returns one side of a range, in parentheses."""
    return f"({', '.join(map(deparse_datum, types, limits))})"


def deparse_datum(type: SqlType, datum: Datum) -> str:
    """Returns a value of a bound as PostgreSQL shows it: only some numbers and booleans are without quotes."""
    if datum.infinite:
        return "MINVALUE" if datum.infinite < 0 else "MAXVALUE"
    if datum.text is None:
        return "NULL"
    if type.name == "bool":
        return "true" if datum.text == "t" else "false"
    if type.name == "int4" and not datum.text.startswith("-"):
        return datum.text
    if type.name == "numeric" and datum.text[0].isdigit() and "." in datum.text:
        return datum.text
    return "'" + datum.text.replace("'", "''") + "'"


def add_partition(rows: SystemRows, catalog: Catalog, table: Table) -> None:
    """Adds the rows of a partitioned table, or of a partition; none of other tables."""
    bound, key = table.partition_bound, table.partitioned_by
    parent = catalog.find_relation_by_oid(bound.parent) if bound is not None else None
    if bound is not None and isinstance(parent, Table):
        _add_inheritance(rows, table.oid, parent.oid)
        rows.depend(oids.PG_CLASS, table.oid, 0, oids.PG_CLASS, parent.oid, 0, "a")
    if key is not None:
        children = list_children(catalog).get(table.oid, ())
        default = (each.oid for each in children if each.partition_bound is not None and each.partition_bound.default)
        names = [column.name for column in table.columns]
        types = [table.columns[names.index(name)].type for name in key.columns]
        rows.add(
            "pg_partitioned_table", partrelid=table.oid, partstrat=key.strategy, partnatts=len(key.columns),
            partdefid=next(default, 0), partattrs=[names.index(name) + 1 for name in key.columns],
            partclass=[get_operator_class(each) for each in types],
            partcollation=[get_type_facts(each).collation for each in types],
        )  # fmt: skip
    if key is not None or bound is not None:
        chain = _list_constraints(catalog, table)
        rows.add(
            "partition_definitions", oid=table.oid, key=deparse_key(table),
            condition=f"({' AND '.join(chain)})" if len(chain) > 1 else "".join(chain) or None,
        )  # fmt: skip
        _add_tree(rows, table.oid, [each.oid for each in _list_ancestors(catalog, table)], leaf=key is None)


def _list_ancestors(catalog: Catalog, table: Table) -> list[Table]:
    """Returns the partitioned tables above a partition, the nearest first."""
    found: list[Table] = []
    while table.partition_bound is not None:
        parent = catalog.find_relation_by_oid(table.partition_bound.parent)
        if not isinstance(parent, Table):
            break
        table = parent
        found.append(table)
    return found


def _add_inheritance(rows: SystemRows, oid: int, parent: int) -> None:
    rows.add("pg_inherits", inhrelid=oid, inhparent=parent, inhseqno=1, inhdetachpending=False)


def _add_tree(rows: SystemRows, oid: int, ancestors: Sequence[int], *, leaf: bool) -> None:
    """Adds what pg_partition_tree returns of a relation in each tree that it is in."""
    for level, root in enumerate((oid, *ancestors)):
        parent = ancestors[0] if ancestors else None
        rows.add("partition_trees", root=root, relid=oid, parentrelid=parent, isleaf=leaf, level=level)


def add_index_partition(rows: SystemRows, catalog: Catalog, table: Table, index: IndexFacts) -> None:
    """Adds the place of an index among those of a partitioned table and its partitions."""
    if table.partitioned_by is None and table.partition_bound is None:
        return
    ancestors = list_parent_indexes(catalog, table, index)
    if ancestors:
        _add_inheritance(rows, index.oid, ancestors[0].oid)
    _add_tree(rows, index.oid, [each.oid for each in ancestors], leaf=table.partitioned_by is None)


def list_parent_indexes(catalog: Catalog, table: Table, index: IndexFacts) -> list[IndexFacts]:
    """Returns the indexes of partitioned tables of which an index is a partition, the nearest first."""
    found: list[IndexFacts] = []
    for parent in _list_ancestors(catalog, table):
        match = next((each for each in list_indexes(parent) if is_same_index(each, index)), None)
        if match is None:
            break
        found.append(match)
    return found


def has_index_on_all(catalog: Catalog, table: Table, index: IndexFacts) -> bool:
    """Returns whether all partitions of a table have an index: then it is valid."""
    return all(any(is_same_index(index, own) for own in list_indexes(each)) for each in list_partitions(catalog, table))


# ---- the implicit constraints of partitions


def _list_constraints(catalog: Catalog, table: Table) -> list[str]:
    """Returns the conditions that hold for a partition's rows, those of its parent's rows first."""
    bound = table.partition_bound
    parent = catalog.find_relation_by_oid(bound.parent) if bound is not None else None
    if bound is None or not isinstance(parent, Table):
        return []
    own = [bound]
    if bound.default:
        siblings = list_children(catalog).get(parent.oid, ())
        own = [each.partition_bound for each in siblings if each.partition_bound is not None]
        own = [each for each in own if not each.default]
        if not own:
            return _list_constraints(catalog, parent)
        return [*_list_constraints(catalog, parent), _deny(parent, own)]
    return [*_list_constraints(catalog, parent), *_list_conditions(parent, bound)]


def _list_conditions(parent: Table, bound: PartitionBound) -> list[str]:
    key = parent.partitioned_by
    assert key is not None
    types = {column.name: column.type for column in parent.columns}
    names = [quote_name(name) for name in key.columns]
    kinds = [types[name] for name in key.columns]
    if key.strategy == "h":
        listed = ", ".join((f"'{parent.oid}'::oid", str(bound.modulus), str(bound.remainder), *names))
        return [f"satisfies_hash_partition({listed})"]
    if key.strategy == "l":
        return _list_values(names[0], kinds[0], bound)
    return [f"({name} IS NOT NULL)" for name in names] + _list_limits(names, kinds, bound)


def _list_values(name: str, type: SqlType, bound: PartitionBound) -> list[str]:
    shown = [_show_constant(type, each) for each in bound.values if each.text is not None]
    test = f"({name} = {shown[0]})" if len(shown) == 1 else f"({name} = ANY (ARRAY[{', '.join(shown)}]))"
    if len(shown) == len(bound.values):
        return [f"({name} IS NOT NULL)", test]
    return [f"(({name} IS NULL) OR {test})" if shown else f"({name} IS NULL)"]


def _list_limits(names: Sequence[str], types: Sequence[SqlType], bound: PartitionBound) -> list[str]:
    found: list[str] = []
    start = 0
    for name, type, low, high in zip(names, types, bound.lower, bound.upper, strict=True):
        if low != high or low.infinite or start == len(names) - 1:
            break
        found.append(f"({name} = {_show_constant(type, low)})")
        start += 1
    for limits, strict, last in ((bound.lower, ">", ">="), (bound.upper, "<", "<")):
        options: list[str] = []
        for end in range(start, len(names)):
            if limits[end].infinite:
                break
            tests = [f"({names[n]} = {_show_constant(types[n], limits[n])})" for n in range(start, end)]
            final = end == len(names) - 1 or limits[end + 1].infinite
            symbol = strict
            if final:
                symbol = last if limits[end + 1 :] == () or limits[end + 1].infinite < 0 else strict
                if end < len(names) - 1 and limits[end + 1].infinite > 0:
                    symbol = "<=" if strict == "<" else ">"
                elif end < len(names) - 1:
                    symbol = ">=" if strict == ">" else "<"
            tests.append(f"({names[end]} {symbol} {_show_constant(types[end], limits[end])})")
            options.append(tests[0] if len(tests) == 1 else f"({' AND '.join(tests)})")
        if options:
            found.append(options[0] if len(options) == 1 else f"({' OR '.join(options)})")
    return found


def _deny(parent: Table, bounds: Sequence[PartitionBound]) -> str:
    """Returns the condition of a default partition."""
    key = parent.partitioned_by
    assert key is not None
    types = {column.name: column.type for column in parent.columns}
    names, kinds = [quote_name(name) for name in key.columns], [types[name] for name in key.columns]
    if key.strategy == "l":
        values = tuple(sorted((v for each in bounds for v in each.values), key=lambda v: _order_value(kinds[0], v)))
        (*nulls, test) = _list_values(names[0], kinds[0], PartitionBound(parent.oid, values=values))
        return f"(NOT ({' AND '.join((*nulls, test))}))" if nulls else f"(NOT {test})"
    ordered = sorted(bounds, key=lambda each: tuple(map(read_limit, kinds, each.lower)))
    limits = [_list_limits(names, kinds, each) for each in ordered]
    tests = [each[0] if len(each) == 1 else f"({' AND '.join(each)})" for each in limits if each]
    given = " AND ".join(f"({name} IS NOT NULL)" for name in names)
    if len(tests) == 1:
        return f"(NOT ({given} AND {' AND '.join(limits[0])}))"
    return f"(NOT ({given} AND ({' OR '.join(tests)})))"


def _order_value(type: SqlType, datum: Datum) -> tuple[bool, Any]:
    return datum.text is None, 0 if datum.text is None else read_value(type, datum.text)


def _show_constant(type: SqlType, datum: Datum) -> str:
    """Returns a value as pg_get_constraintdef shows it: with its type unless a number without quotes."""
    text = deparse_datum(type, datum)
    return f"{text}::{type}" if text.startswith("'") else text
