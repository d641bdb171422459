"""Rows of pg_type, pg_enum, pg_class, pg_attribute and pg_constraint for user-defined types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from gpudb import pgdata
from gpudb.catalog.model import Column, TypeDefinition
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.column_rows import add_column
from gpudb.catalog.postgres.deparse import default_text
from gpudb.catalog.postgres.deparse_operations import spelled_out
from gpudb.catalog.postgres.row_builder import Rows
from gpudb.types import SqlType

_FUNCTIONS = {
    "e": ("enum_in", "enum_out", "enum_recv", "enum_send"),
    "c": ("record_in", "record_out", "record_recv", "record_send"),
}


def add_type(rows: Rows, made: TypeDefinition, namespace: int, owner: int) -> None:
    """Adds the rows of one type, of its array type, and of its parts."""
    user = made.user
    if user.kind == "d":
        _add_domain(rows, made, namespace, owner)
        return
    shared: dict[str, object] = {"typnamespace": namespace, "typowner": owner}
    reader, writer, receiver, sender = _FUNCTIONS[user.kind]
    small = user.kind == "e"
    rows.add(
        "pg_type", oid=user.oid, typname=made.name, typtype=user.kind, typcategory=user.kind.upper(),
        typrelid=0 if small else oids.type_relation(user.oid),
        typlen=4 if small else -1, typbyval=small, typalign="i" if small else "d", typstorage="p" if small else "x",
        typarray=user.array_oid, typinput=reader, typoutput=writer, typreceive=receiver, typsend=sender, **shared,
    )  # fmt: skip
    _add_array(rows, made, shared, "i" if small else "d")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    rows.describe(oids.PG_TYPE, user.oid, 0, made.comment)
    if user.kind == "c":
        _add_relation(rows, made, namespace, owner)
    for place, label in enumerate(user.labels, 1):
        rows.add("pg_enum", oid=label.oid, enumtypid=user.oid, enumsortorder=float(place), enumlabel=label.name)


def _add_relation(rows: Rows, made: TypeDefinition, namespace: int, owner: int) -> None:
    """Adds the relation whose columns are a composite type's fields in PostgreSQL."""
    relation = oids.type_relation(made.oid)
    rows.add(
        "pg_class", oid=relation, relname=made.name, relnamespace=namespace, reltype=made.oid, relowner=owner, relam=0,
        relfilenode=0, reltuples=0.0, relkind="c", relnatts=len(made.type.fields), relreplident="n",
    )  # fmt: skip
    for number, (name, item) in enumerate(made.type.fields, 1):
        add_column(rows, relation, number, Column(name, item), nullable=True)
    rows.depend(oids.PG_CLASS, relation, 0, oids.PG_TYPE, made.oid, 0, "i")


def _add_array(rows: Rows, made: TypeDefinition, shared: dict[str, object], alignment: str) -> None:
    user = made.user
    rows.add(
        "pg_type", oid=user.array_oid, typname=f"_{made.name}"[:63], typtype="b", typcategory="A", typelem=user.oid,
        typlen=-1, typalign=alignment, typstorage="x", typsubscript="array_subscript_handler",
        typinput="array_in", typoutput="array_out", typreceive="array_recv", typsend="array_send",
        typanalyze="array_typanalyze", **shared,
    )  # fmt: skip
    rows.depend(oids.PG_TYPE, user.array_oid, 0, oids.PG_TYPE, user.oid, 0, "i")


def _add_domain(rows: Rows, made: TypeDefinition, namespace: int, owner: int) -> None:
    user, base = made.user, replace(made.type, domain=None)
    facts = pg_type_row(base)
    shared: dict[str, object] = {"typnamespace": namespace, "typowner": owner}
    default = None if made.default is None else default_text(made.default, base)
    rows.add(
        "pg_type", oid=user.oid, typname=made.name, typtype="d", typcategory=base.category,
        typlen=int(facts["typlen"]), typbyval=facts["typbyval"] == "t", typalign=facts["typalign"],
        typstorage=facts["typstorage"], typarray=user.array_oid, typinput="domain_in", typreceive="domain_recv",
        typoutput=int(facts["typoutput"]), typsend=int(facts["typsend"]), typnotnull=made.not_null,
        typbasetype=made.parent or base.oid, typtypmod=base.modifier, typndims=1 if base.element is not None else 0,
        typcollation=int(facts["typcollation"]), typdefault=default, **shared,
    )  # fmt: skip
    _add_array(rows, made, shared, "d" if facts["typalign"] == "d" else "i")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_TYPE, made.parent or base.oid, 0, "n")
    rows.describe(oids.PG_TYPE, user.oid, 0, made.comment)
    for check in made.checks:
        rows.add(
            "pg_constraint", oid=check.oid, conname=check.name, connamespace=namespace, contype="c", conrelid=0,
            contypid=user.oid, conindid=0, connoinherit=False, conbin=_over_value(check.expression),
        )  # fmt: skip
        definition = f"CHECK ({_over_value(spelled_out(check.expression))})"
        rows.add("constraint_definitions", oid=check.oid, definition=definition)
        rows.depend(oids.PG_CONSTRAINT, check.oid, 0, oids.PG_TYPE, user.oid, 0, "a")


def _over_value(expression: str) -> str:
    return re.sub(r"(?<![\w.'\"])value(?![\w'\"])", "VALUE", expression)


@cache
def _pg_type() -> Mapping[int, Mapping[str, str]]:
    found = pgdata.system("pg_type")
    assert found is not None
    header, lines = found
    made = (dict(zip(header, (str(each) for each in line), strict=True)) for line in lines)
    return {int(row["oid"]): row for row in made}


def pg_type_row(item: SqlType) -> Mapping[str, str]:
    """Returns pg_type's row of a system type; for a user-defined one that of its kind."""
    if item.user is None:
        return _pg_type()[item.oid]
    return _pg_type()[1007 if item.element is not None else 3500 if item.user.kind == "e" else 2249]
