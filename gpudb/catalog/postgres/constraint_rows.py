"""Rows of pg_class, pg_index, pg_constraint and their definitions for a table's keys, checks and indexes."""

from __future__ import annotations

from collections.abc import Sequence

import postgast

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import find_inherited_key, list_children
from gpudb.catalog.pinned_routines import show_expression_names
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.column_rows import add_column, get_type_facts
from gpudb.catalog.postgres.deparse_operations import deparse_expression
from gpudb.catalog.postgres.indexes import IndexFacts, find_operator, get_named_class, list_indexes, make_names_unique
from gpudb.catalog.postgres.partition_rows import add_index_partition, has_index_on_all, list_parent_indexes
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.tables import Check, Column, ForeignKey, IndexDetails, IndexKey, Table
from gpudb.pgdata import load_table
from gpudb.types import TEXT

_METHODS = {name: int(oid) for oid, name in load_table("pg_am").select("oid", "amname")}
_OPTIONS = ("", " DESC NULLS LAST", " NULLS FIRST", " DESC")


def add_constraints(rows: SystemRows, catalog: Catalog, table: Table, namespace: int, owner: int) -> None:
    """Adds the rows of a table's constraints and indexes."""
    comments = {constraint.oid: constraint.comment for constraint in table.constraints}
    comments[oids.constraint(table.oid)] = table.primary_key_comment
    for index in list_indexes(table):
        _add_index(rows, catalog, table, index, namespace, owner)
        if index.constraint:
            _add_key(rows, catalog, table, index, namespace)
            rows.describe(oids.PG_CONSTRAINT, index.constraint, 0, comments.get(index.constraint))
    for check in table.checks:
        _add_check(rows, catalog, table, check, namespace)
    for foreign_key in table.foreign_keys:
        referenced = catalog.find_relation_by_oid(foreign_key.table)
        if isinstance(referenced, Table):
            parent = find_inherited_key(catalog, table, foreign_key)
            _add_foreign_key(rows, table, foreign_key, referenced, namespace, parent)


def _add_index(rows: SystemRows, catalog: Catalog, table: Table, index: IndexFacts, namespace: int, owner: int) -> None:
    details = index.details or IndexDetails(tuple(map(IndexKey, index.columns)))
    names = (*(key.column for key in details.keys), *details.included)
    numbers = [_get_column_numbers(table, [name])[0] if name else 0 for name in names]
    columns = [
        table.columns[number - 1] if number else Column(_name_expression(key.expression), key.type or TEXT)
        for number, key in zip(numbers, (*details.keys, *map(IndexKey, details.included)), strict=True)
    ]
    shown = make_names_unique([column.name for column in columns])
    expressions = [deparse_expression(key.expression) for key in details.keys if key.expression]
    partitioned = table.partitioned_by is not None
    parents = list_parent_indexes(catalog, table, index)
    rows.add(
        "pg_class", oid=index.oid, relname=index.name, relnamespace=namespace, relowner=owner,
        relam=_METHODS[index.method], relfilenode=0 if partitioned else index.oid, relpages=0 if partitioned else 1,
        reltuples=0.0, relkind="I" if partitioned else "i", relispartition=bool(parents),
        relhassubclass=partitioned and bool(list_children(catalog).get(table.oid)),
        relpersistence="t" if table.temporary else "p", relnatts=len(numbers), relreplident="n",
    )  # fmt: skip
    for number, (name, column) in enumerate(zip(shown, columns, strict=True), 1):
        add_column(rows, index.oid, number, Column(name, column.type), nullable=True)
    rows.add(
        "pg_index", indexrelid=index.oid, indrelid=table.oid, indnatts=len(numbers), indnkeyatts=len(details.keys),
        indisunique=index.unique, indisprimary=index.primary, indkey=numbers,
        indisexclusion=bool(index.operators), indimmediate=not index.deferrable,
        indisvalid=not partitioned or has_index_on_all(catalog, table, index),
        indnullsnotdistinct=not index.nulls_distinct,
        indcollation=[get_type_facts(column.type).collation for column in columns],
        indclass=[
            get_named_class(_METHODS[index.method], key.operator_class, column.type)
            for key, column in zip(details.keys, columns, strict=False)
        ],
        indoption=list(index.options) or [0] * len(details.keys),
        indexprs=", ".join(expressions) or None,
        indpred=deparse_expression(details.predicate) if details.predicate else None,
    )  # fmt: skip
    rows.add("index_definitions", oid=index.oid, definition=deparse_index(table, index))
    add_index_partition(rows, catalog, table, index)
    for place, key in enumerate(details.keys, 1):
        if key.expression:
            plain, pretty = _deparse_key(key), _deparse_key(key, pretty=True)
            rows.add("index_expressions", oid=index.oid, place=place, definition=plain, pretty=pretty)
    rows.describe(oids.PG_CLASS, index.oid, 0, index.comment)
    if index.constraint:
        rows.depend(oids.PG_CLASS, index.oid, 0, oids.PG_CONSTRAINT, index.constraint, 0, "i")
    else:
        for number in _get_column_numbers(table, index.columns):
            rows.depend(oids.PG_CLASS, index.oid, 0, oids.PG_CLASS, table.oid, number, "a")


def deparse_index(table: Table, index: IndexFacts, *, pretty: bool = False) -> str:
    """Returns an index as pg_get_indexdef shows it: `pretty` leaves out the outer parentheses of expressions."""
    details = index.details or IndexDetails(tuple(map(IndexKey, index.columns)))
    options = index.options or (0,) * len(details.keys)
    keys = ", ".join(
        _deparse_key(key, pretty=pretty)
        + (f" {quote_name(key.operator_class)}" if key.operator_class else "")
        + _OPTIONS[option]
        for key, option in zip(details.keys, options, strict=True)
    )
    target = f"{quote_name(table.schema)}.{quote_name(table.name)}"
    unique = "UNIQUE " if index.unique else ""
    more = f" INCLUDE ({', '.join(map(quote_name, details.included))})" if details.included else ""
    more += "" if index.nulls_distinct else " NULLS NOT DISTINCT"
    more += f" WITH ({', '.join(details.storage)})" if details.storage else ""
    more += f" WHERE {_deparse_outer(details.predicate, pretty=pretty)}" if details.predicate else ""
    only = "" if table.partitioned_by is None else "ONLY "
    return f"CREATE {unique}INDEX {quote_name(index.name)} ON {only}{target} USING {index.method} ({keys}){more}"


def _deparse_outer(expression: str, *, pretty: bool) -> str:
    text = deparse_expression(expression)
    return text[1:-1] if pretty and text.startswith("(") and text.endswith(")") else text


def _deparse_key(key: IndexKey, *, pretty: bool = False) -> str:
    """Returns a key as pg_get_indexdef shows it: parentheses are around what is no function call."""
    if not key.expression:
        return quote_name(key.column)
    text = _deparse_outer(key.expression, pretty=pretty)
    return text if _name_expression(key.expression) != "expr" else f"({text})"


def _name_expression(text: str) -> str:
    """Returns the name of an index's column that is an expression: that of its function, or expr."""
    node = postgast.parse(f"SELECT {text}").stmts[0].stmt.select_stmt.target_list[0].res_target.val
    call = node.func_call
    return str(call.funcname[-1].string.sval) if node.WhichOneof("node") == "func_call" else "expr"


def _add_key(rows: SystemRows, catalog: Catalog, table: Table, index: IndexFacts, namespace: int) -> None:
    details = index.details or IndexDetails(tuple(map(IndexKey, index.columns)))
    types = {column.name: column.type for column in table.columns}
    numbers = [_get_column_numbers(table, [key.column])[0] if key.column else 0 for key in details.keys]
    parents = list_parent_indexes(catalog, table, index)
    operators = [
        find_operator(operator, types[key.column] if key.column else key.type or TEXT)
        for operator, key in zip(index.operators, details.keys, strict=False)
    ]
    rows.add(
        "pg_constraint", oid=index.constraint, conname=index.name, connamespace=namespace,
        contype="x" if index.operators else "p" if index.primary else "u", conrelid=table.oid, conindid=index.oid,
        conkey=numbers, condeferrable=index.deferrable, condeferred=index.deferred, conexclop=operators or None,
        conparentid=parents[0].constraint if parents else 0, conislocal=not parents, coninhcount=len(parents[:1]),
    )  # fmt: skip
    rows.add("constraint_definitions", oid=index.constraint, definition=_deparse_constraint(index, details))
    _add_dependencies(rows, index.constraint, table, _get_column_numbers(table, index.columns))


def _deparse_constraint(index: IndexFacts, details: IndexDetails) -> str:
    if index.operators:
        pairs = zip(details.keys, index.operators, strict=True)
        keys = ", ".join(f"{_deparse_key(key)} WITH {operator}" for key, operator in pairs)
        text = f"EXCLUDE USING {index.method} ({keys})"
        text += f" WHERE ({deparse_expression(details.predicate)})" if details.predicate else ""
    else:
        nulls = "" if index.nulls_distinct else "NULLS NOT DISTINCT "
        text = "PRIMARY KEY" if index.primary else "UNIQUE"
        text += f" {nulls}({', '.join(quote_name(name) for name in index.columns)})"
    text += " DEFERRABLE" if index.deferrable else ""
    return text + (" INITIALLY DEFERRED" if index.deferred else "")


def _add_check(rows: SystemRows, catalog: Catalog, table: Table, check: Check, namespace: int) -> None:
    numbers = _get_column_numbers(table, check.columns)
    parent = None if table.partition_bound is None else catalog.find_relation_by_oid(table.partition_bound.parent)
    inherited = isinstance(parent, Table) and any(each.name == check.name for each in parent.checks)
    rows.add(
        "pg_constraint", oid=check.oid, conname=check.name, connamespace=namespace, contype="c", conrelid=table.oid,
        conindid=0, conkey=numbers or None, convalidated=check.validated, connoinherit=False,
        conbin=rows.shorten(*(show_expression_names(check.expression, short=short) for short in (False, True))),
        conislocal=not inherited, coninhcount=int(inherited),
    )  # fmt: skip
    valid = "" if check.validated else " NOT VALID"
    rows.add(
        "constraint_definitions",
        oid=check.oid,
        definition=rows.shorten(
            *(f"CHECK ({deparse_expression(check.expression, short=short)}){valid}" for short in (False, True))
        ),
    )
    rows.describe(oids.PG_CONSTRAINT, check.oid, 0, check.comment)
    _add_dependencies(rows, check.oid, table, numbers)
    for number in numbers:
        rows.depend(oids.PG_CONSTRAINT, check.oid, 0, oids.PG_CLASS, table.oid, number, "n")


_ACTIONS = {"r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


def _add_foreign_key(
    rows: SystemRows,
    table: Table,
    foreign: ForeignKey,
    referenced: Table,
    namespace: int,
    parent: ForeignKey | None,
) -> None:
    numbers, others = _get_column_numbers(table, foreign.columns), _get_column_numbers(referenced, foreign.referenced)
    index = next((i.oid for i in list_indexes(referenced) if i.unique and set(i.columns) == set(foreign.referenced)), 0)
    rows.add(
        "pg_constraint", oid=foreign.oid, conname=foreign.name, connamespace=namespace, contype="f",
        conrelid=table.oid, conindid=index, conkey=numbers, confrelid=referenced.oid, confkey=others,
        confupdtype=foreign.on_update, confdeltype=foreign.on_delete,
        confdelsetcols=_get_column_numbers(table, foreign.delete_columns) or None,
        confmatchtype="f" if foreign.match_full else "s", convalidated=foreign.validated,
        condeferrable=foreign.deferrable, condeferred=foreign.deferred,
        conparentid=0 if parent is None else parent.oid, conislocal=parent is None, coninhcount=int(parent is not None),
    )  # fmt: skip
    own_columns, other_columns = (", ".join(map(quote_name, names)) for names in (foreign.columns, foreign.referenced))
    # The search path decides whether the table's name is shown with its schema: the macro sys_constraint.
    definition = f"FOREIGN KEY ({own_columns}) REFERENCES \x01{referenced.oid}\x01({other_columns})"
    definition += " MATCH FULL" if foreign.match_full else ""
    for event, action in (("UPDATE", foreign.on_update), ("DELETE", foreign.on_delete)):
        definition += f" ON {event} {_ACTIONS[action]}" if action in _ACTIONS else ""
    definition += f" ({', '.join(map(quote_name, foreign.delete_columns))})" if foreign.delete_columns else ""
    definition += " DEFERRABLE" if foreign.deferrable else ""
    definition += " INITIALLY DEFERRED" if foreign.deferred else ""
    definition += "" if foreign.validated else " NOT VALID"
    rows.add("constraint_definitions", oid=foreign.oid, definition=definition)
    rows.describe(oids.PG_CONSTRAINT, foreign.oid, 0, foreign.comment)
    _add_dependencies(rows, foreign.oid, table, numbers)
    for number in others:
        rows.depend(oids.PG_CONSTRAINT, foreign.oid, 0, oids.PG_CLASS, referenced.oid, number, "n")
    if index:
        rows.depend(oids.PG_CONSTRAINT, foreign.oid, 0, oids.PG_CLASS, index, 0, "n")


def _add_dependencies(rows: SystemRows, constraint: int, table: Table, numbers: Sequence[int]) -> None:
    for number in numbers or [0]:
        rows.depend(oids.PG_CONSTRAINT, constraint, 0, oids.PG_CLASS, table.oid, number, "a")


def _get_column_numbers(table: Table, columns: Sequence[str]) -> list[int]:
    names = [column.name for column in table.columns]
    return [names.index(name) + 1 for name in columns]
