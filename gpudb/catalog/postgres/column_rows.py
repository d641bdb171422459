"""Rows of pg_attribute and pg_attrdef for columns of tables, views and indexes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from gpudb import pgdata
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.deparse import deparse_default
from gpudb.catalog.postgres.deparse_operations import deparse_expression
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.tables import Column
from gpudb.types import SqlType

# System columns of every PostgreSQL table: name, type, number, length, by value, alignment.
_HIDDEN = (
    ("ctid", 27, -1, 6, False, "s"),
    ("xmin", 28, -2, 4, True, "i"),
    ("cmin", 29, -3, 4, True, "i"),
    ("xmax", 28, -4, 4, True, "i"),
    ("cmax", 29, -5, 4, True, "i"),
    ("tableoid", 26, -6, 4, True, "i"),
)


class TypeFacts(NamedTuple):
    """How pg_type says that a type's values are stored and written."""

    length: int
    by_value: bool
    alignment: str
    storage: str
    collation: int
    output: int
    send: int


@cache
def _load_type_facts() -> Mapping[str, TypeFacts]:
    columns = "typname", "typlen", "typbyval", "typalign", "typstorage", "typcollation", "typoutput", "typsend"
    rows = pgdata.load_table("pg_type").select(*columns)
    return {
        name: TypeFacts(int(length), by_value == "t", align, storage, int(collation), int(output), int(send))
        for name, length, by_value, align, storage, collation, output, send in rows
    }


def get_type_facts(item: SqlType) -> TypeFacts:
    """Returns how a type is stored; for a user-defined type, what holds of its kind."""
    if item.user is None:
        return _load_type_facts()[item.name]
    return _load_type_facts()["_int4" if item.element is not None else "anyenum" if item.user.kind == "e" else "record"]


def add_column(
    rows: SystemRows, relation: int, number: int, column: Column, *, nullable: bool, inherited: bool = False
) -> None:
    """Adds the rows of one column; a `nullable` one may be NULL in spite of its declaration.

    An `inherited` one is a partition's.
    """
    facts = get_type_facts(column.type)
    array = column.type.element is not None
    rows.add(
        "pg_attribute",
        attrelid=relation,
        attname=column.name,
        atttypid=column.type.declared_oid,
        attlen=facts.length,
        attnum=number,
        atttypmod=column.type.modifier if column.type.domain is None else -1,
        attndims=column.type.dims if array else 0,
        attbyval=facts.by_value,
        attalign=facts.alignment,
        attstorage=facts.storage,
        attnotnull=column.not_null and not nullable,
        atthasdef=_get_expression(column, short=True) is not None,
        attidentity=column.identity,
        attislocal=not inherited,
        attinhcount=int(inherited),
        attgenerated="s" if column.generated is not None else "",
        attcollation=facts.collation,
        attacl=show_acl(column.acl),
        attfdwoptions=list(column.options) or None,
    )
    rows.describe(oids.PG_CLASS, relation, number, column.comment)
    text, short = (_get_expression(column, short=short) for short in (False, True))
    if text is not None and short is not None:
        default_oid = oids.default(relation, number)
        rows.add("pg_attrdef", oid=default_oid, adrelid=relation, adnum=number, adbin=rows.shorten(text, short))
        rows.depend(oids.PG_ATTRDEF, default_oid, 0, oids.PG_CLASS, relation, number, "a")


def add_hidden_columns(rows: SystemRows, relation: int) -> None:
    """Adds the system columns of a table or sequence, which `*` excludes."""
    for name, type_oid, number, length, by_value, alignment in _HIDDEN:
        rows.add(
            "pg_attribute", attrelid=relation, attname=name, atttypid=type_oid, attnum=number, attlen=length,
            attbyval=by_value, attalign=alignment, attstorage="p", attnotnull=True, attstattarget=0,
        )  # fmt: skip


def _get_expression(column: Column, *, short: bool) -> str | None:
    """Returns pg_attrdef's expression of a column: its default, or its generation expression; None for an identity
    column.
    """
    if column.generated is not None:
        return deparse_expression(column.generated, short=short)
    return (
        None if column.default is None or column.identity else deparse_default(column.default, column.type, short=short)
    )
