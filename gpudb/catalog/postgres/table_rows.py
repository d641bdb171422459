"""Tables, views and their columns as rows of pg_class, pg_attribute, pg_type, pg_index, pg_constraint and the like."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpudb import pgdata
from gpudb.catalog.model import Column, Relation, Table, View
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.collect import Rows
from gpudb.catalog.postgres.expressions import default_text, quoted_name
from gpudb.types import SqlType

# The columns that PostgreSQL gives every table beside its own: name, type, number, length, by value, alignment.
_HIDDEN = (
    ("ctid", 27, -1, 6, False, "s"),
    ("xmin", 28, -2, 4, True, "i"),
    ("cmin", 29, -3, 4, True, "i"),
    ("xmax", 28, -4, 4, True, "i"),
    ("cmax", 29, -5, 4, True, "i"),
    ("tableoid", 26, -6, 4, True, "i"),
)


@cache
def _type_facts() -> Mapping[str, dict[str, str]]:
    return {row["typname"]: row for row in pgdata.table("type")}


@cache
def _operator_classes() -> Mapping[int, int]:
    found = pgdata.system("pg_opclass")
    assert found is not None
    header, rows = found
    made = [dict(zip(header, row, strict=True)) for row in rows]
    return {
        int(row["opcintype"] or 0): int(row["oid"] or 0)
        for row in made
        if row["opcmethod"] == str(oids.BTREE_AM) and row["opcdefault"] == "t"
    }


def _operator_class(item: SqlType) -> int:
    classes = _operator_classes()
    if item.element is not None:
        return classes[2277]
    if item.user is not None:
        return classes[3500 if item.user.kind == "e" else 2249]
    return classes.get(item.oid) or classes[25]


def type_facts(item: SqlType) -> Mapping[str, str]:
    """pg_type's columns about how a type is kept; of one that a user made those of its kind."""
    if item.user is None:
        return _type_facts()[item.name]
    return _type_facts()["_int4" if item.element is not None else "anyenum" if item.user.kind == "e" else "record"]


def add_relation(rows: Rows, relation: Relation, namespace: int, owner: int) -> None:
    """One table or view, its columns, types, key and descriptions."""
    table = relation if isinstance(relation, Table) else None
    keyed = table is not None and bool(table.primary_key)
    rows.add(
        "pg_class",
        oid=relation.oid,
        relname=relation.name,
        relnamespace=namespace,
        reltype=oids.row_type(relation.oid),
        relowner=owner,
        relam=oids.ICEBERG_AM if table is not None else 0,
        relfilenode=relation.oid if table is not None else 0,
        relhasindex=keyed,
        relpersistence="t" if table is not None and table.temporary else "p",
        relkind=relation.kind,
        relnatts=len(relation.columns),
        relhasrules=table is None,
        relreplident="d" if table is not None else "n",
    )
    _add_types(rows, relation, namespace, owner)
    for number, column in enumerate(relation.columns, 1):
        _add_column(rows, relation.oid, number, column, nullable=table is None)
    if table is not None:
        for name, type_oid, number, length, by_value, alignment in _HIDDEN:
            rows.add(
                "pg_attribute", attrelid=table.oid, attname=name, atttypid=type_oid, attnum=number, attlen=length,
                attbyval=by_value, attalign=alignment, attstorage="p", attnotnull=True, attstattarget=0,
            )  # fmt: skip
    rows.describe(oids.PG_CLASS, relation.oid, 0, relation.comment)
    rows.depend(oids.PG_CLASS, relation.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    if table is not None and keyed:
        _add_key(rows, table, namespace, owner)
    if isinstance(relation, View):
        rows.add(
            "pg_rewrite", oid=oids.rule(relation.oid), rulename="_RETURN", ev_class=relation.oid, ev_type="1",
            ev_enabled="O", is_instead=True, ev_qual="<>", ev_action=f" {relation.query};",
        )  # fmt: skip
        rows.depend(oids.PG_REWRITE, oids.rule(relation.oid), 0, oids.PG_CLASS, relation.oid, 0, "i")


def _add_types(rows: Rows, relation: Relation, namespace: int, owner: int) -> None:
    row, array = oids.row_type(relation.oid), oids.array_type(relation.oid)
    shared = {"typnamespace": namespace, "typowner": owner, "typlen": -1, "typalign": "d", "typstorage": "x"}
    rows.add(
        "pg_type", oid=row, typname=relation.name, typtype="c", typcategory="C", typrelid=relation.oid, typarray=array,
        typinput="record_in", typoutput="record_out", typreceive="record_recv", typsend="record_send", **shared,
    )  # fmt: skip
    rows.add(
        "pg_type", oid=array, typname=f"_{relation.name}"[:63], typtype="b", typcategory="A", typelem=row,
        typsubscript="array_subscript_handler", typinput="array_in", typoutput="array_out",
        typreceive="array_recv", typsend="array_send", typanalyze="array_typanalyze", **shared,
    )  # fmt: skip
    rows.depend(oids.PG_TYPE, row, 0, oids.PG_CLASS, relation.oid, 0, "i")
    rows.depend(oids.PG_TYPE, array, 0, oids.PG_TYPE, row, 0, "i")


def _add_column(rows: Rows, relation: int, number: int, column: Column, *, nullable: bool) -> None:
    facts = type_facts(column.type)
    array = column.type.element is not None
    rows.add(
        "pg_attribute",
        attrelid=relation,
        attname=column.name,
        atttypid=column.type.declared_oid,
        attlen=int(facts["typlen"]),
        attnum=number,
        atttypmod=column.type.modifier,
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


def _add_key(rows: Rows, table: Table, namespace: int, owner: int) -> None:
    name = table.primary_key_name or f"{table.name}_pkey"
    names = [column.name for column in table.columns]
    numbers = [names.index(each) + 1 for each in table.primary_key]
    columns = [table.columns[number - 1] for number in numbers]
    index, constraint = oids.index(table.oid), oids.constraint(table.oid)
    rows.add(
        "pg_class", oid=index, relname=name, relnamespace=namespace, relowner=owner, relam=oids.BTREE_AM,
        relfilenode=index, relpages=1, reltuples=0.0, relkind="i",
        relpersistence="t" if table.temporary else "p", relnatts=len(numbers), relreplident="n",
    )  # fmt: skip
    for number, column in enumerate(columns, 1):
        _add_column(rows, index, number, Column(column.name, column.type), nullable=True)
    collations = [int(type_facts(column.type)["typcollation"]) for column in columns]
    rows.add(
        "pg_index", indexrelid=index, indrelid=table.oid, indnatts=len(numbers), indnkeyatts=len(numbers),
        indisunique=True, indisprimary=True, indkey=numbers, indcollation=collations,
        indclass=[_operator_class(column.type) for column in columns], indoption=[0] * len(numbers),
    )  # fmt: skip
    rows.add(
        "pg_constraint", oid=constraint, conname=name, connamespace=namespace, contype="p", conrelid=table.oid,
        conindid=index, conkey=numbers,
    )  # fmt: skip
    listed = ", ".join(quoted_name(column.name) for column in columns)
    target = f"{quoted_name(table.schema)}.{quoted_name(table.name)}"
    rows.add("constraint_definitions", oid=constraint, definition=f"PRIMARY KEY ({listed})")
    definition = f"CREATE UNIQUE INDEX {quoted_name(name)} ON {target} USING btree ({listed})"
    rows.add("index_definitions", oid=index, definition=definition)
    rows.depend(oids.PG_CLASS, index, 0, oids.PG_CONSTRAINT, constraint, 0, "i")
    for number in numbers:
        rows.depend(oids.PG_CONSTRAINT, constraint, 0, oids.PG_CLASS, table.oid, number, "a")
