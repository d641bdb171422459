"""Columns of tables, views and indexes as rows of pg_attribute and pg_attrdef."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpudb import pgdata
from gpudb.catalog.model import Column
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.collect import Rows
from gpudb.catalog.postgres.expressions import default_text
from gpudb.types import SqlType


@cache
def _type_facts() -> Mapping[str, dict[str, str]]:
    return {row["typname"]: row for row in pgdata.table("type")}


def type_facts(item: SqlType) -> Mapping[str, str]:
    """pg_type's columns about how a type is kept; of one that a user made those of its kind."""
    if item.user is None:
        return _type_facts()[item.name]
    return _type_facts()["_int4" if item.element is not None else "anyenum" if item.user.kind == "e" else "record"]


def add_column(rows: Rows, relation: int, number: int, column: Column, *, nullable: bool) -> None:
    """One column; `nullable` ones may be NULL whatever they say."""
    facts = type_facts(column.type)
    array = column.type.element is not None
    rows.add(
        "pg_attribute",
        attrelid=relation,
        attname=column.name,
        atttypid=column.type.declared_oid,
        attlen=int(facts["typlen"]),
        attnum=number,
        atttypmod=column.type.modifier if column.type.domain is None else -1,
        attndims=1 if array else 0,
        attbyval=facts["typbyval"] == "t",
        attalign=facts["typalign"],
        attstorage=facts["typstorage"],
        attnotnull=column.not_null and not nullable,
        atthasdef=column.default is not None,
        attcollation=int(facts["typcollation"]),
    )
    rows.describe(oids.PG_CLASS, relation, number, column.comment)
    if column.default is not None:
        made = oids.default(relation, number)
        text = default_text(column.default, column.type)
        rows.add("pg_attrdef", oid=made, adrelid=relation, adnum=number, adbin=text)
        rows.depend(oids.PG_ATTRDEF, made, 0, oids.PG_CLASS, relation, number, "a")
