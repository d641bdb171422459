"""Rows of pg_type, pg_enum, pg_class, pg_attribute and pg_constraint for user-defined types."""

from __future__ import annotations

import re
from dataclasses import replace

from gpudb.catalog.pinned_routines import show_expression_names
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.column_rows import add_column, get_type_facts
from gpudb.catalog.postgres.deparse import deparse_default
from gpudb.catalog.postgres.deparse_operations import deparse_expression
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.tables import Column
from gpudb.catalog.user_types import TypeDefinition

_FUNCTIONS = {
    "e": ("enum_in", "enum_out", "enum_recv", "enum_send"),
    "c": ("record_in", "record_out", "record_recv", "record_send"),
}


def add_type(rows: SystemRows, definition: TypeDefinition, namespace: int, owner: int) -> None:
    """Adds the rows of one type, of its array type, and of its parts."""
    user = definition.user
    if user.kind == "d":
        _add_domain(rows, definition, namespace, owner)
        return
    shared: dict[str, object] = {"typnamespace": namespace, "typowner": owner}
    reader, writer, receiver, sender = _FUNCTIONS[user.kind]
    small = user.kind == "e"
    rows.add(
        "pg_type", oid=user.oid, typname=definition.name, typtype=user.kind, typcategory=user.kind.upper(),
        typrelid=0 if small else oids.type_relation(user.oid),
        typlen=4 if small else -1, typbyval=small, typalign="i" if small else "d", typstorage="p" if small else "x",
        typarray=user.array_oid, typinput=reader, typoutput=writer, typreceive=receiver, typsend=sender,
        typacl=show_acl(definition.acl), **shared,
    )  # fmt: skip
    _add_array(rows, definition, shared, "i" if small else "d")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    rows.describe(oids.PG_TYPE, user.oid, 0, definition.comment)
    if user.kind == "c":
        _add_relation(rows, definition, namespace, owner)
    for position, label in enumerate(user.labels, 1):
        rows.add("pg_enum", oid=label.oid, enumtypid=user.oid, enumsortorder=float(position), enumlabel=label.name)


def _add_relation(rows: SystemRows, definition: TypeDefinition, namespace: int, owner: int) -> None:
    """Adds the relation whose columns are a composite type's fields in PostgreSQL."""
    relation = oids.type_relation(definition.oid)
    rows.add(
        "pg_class", oid=relation, relname=definition.name, relnamespace=namespace, reltype=definition.oid,
        relowner=owner, relam=0, relfilenode=0, reltuples=0.0, relkind="c", relnatts=len(definition.type.fields),
        relreplident="n",
    )  # fmt: skip
    for number, (name, item) in enumerate(definition.type.fields, 1):
        add_column(rows, relation, number, Column(name, item), nullable=True)
    rows.depend(oids.PG_CLASS, relation, 0, oids.PG_TYPE, definition.oid, 0, "i")


def _add_array(rows: SystemRows, definition: TypeDefinition, shared: dict[str, object], alignment: str) -> None:
    user = definition.user
    rows.add(
        "pg_type", oid=user.array_oid, typname=f"_{definition.name}"[:63], typtype="b", typcategory="A",
        typelem=user.oid,
        typlen=-1, typalign=alignment, typstorage="x", typsubscript="array_subscript_handler",
        typinput="array_in", typoutput="array_out", typreceive="array_recv", typsend="array_send",
        typanalyze="array_typanalyze", **shared,
    )  # fmt: skip
    rows.depend(oids.PG_TYPE, user.array_oid, 0, oids.PG_TYPE, user.oid, 0, "i")


def _add_domain(rows: SystemRows, definition: TypeDefinition, namespace: int, owner: int) -> None:
    user, base = definition.user, replace(definition.type, domain=None)
    facts = get_type_facts(base)
    shared: dict[str, object] = {"typnamespace": namespace, "typowner": owner}
    default = None if definition.default is None else deparse_default(definition.default, base)
    rows.add(
        "pg_type", oid=user.oid, typname=definition.name, typtype="d", typcategory=base.category,
        typlen=facts.length, typbyval=facts.by_value, typalign=facts.alignment,
        typstorage=facts.storage, typarray=user.array_oid, typinput="domain_in", typreceive="domain_recv",
        typoutput=facts.output, typsend=facts.send, typnotnull=definition.not_null,
        typbasetype=definition.parent or base.oid, typtypmod=base.modifier,
        typndims=1 if base.element is not None else 0,
        typcollation=facts.collation, typdefault=default,
        typacl=show_acl(definition.acl), **shared,
    )  # fmt: skip
    _add_array(rows, definition, shared, "d" if facts.alignment == "d" else "i")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_TYPE, definition.parent or base.oid, 0, "n")
    rows.describe(oids.PG_TYPE, user.oid, 0, definition.comment)
    for check in definition.checks:
        rows.add(
            "pg_constraint", oid=check.oid, conname=check.name, connamespace=namespace, contype="c", conrelid=0,
            contypid=user.oid, conindid=0, connoinherit=False,
            conbin=rows.shorten(
                *(_quote_value_keyword(show_expression_names(check.expression, short=short)) for short in (False, True))
            ),
        )  # fmt: skip
        definitions = (
            f"CHECK ({_quote_value_keyword(deparse_expression(check.expression, short=short))})"
            for short in (False, True)
        )
        rows.add("constraint_definitions", oid=check.oid, definition=rows.shorten(*definitions))
        rows.depend(oids.PG_CONSTRAINT, check.oid, 0, oids.PG_TYPE, user.oid, 0, "a")


def _quote_value_keyword(expression: str) -> str:
    return re.sub(r"(?<![\w.'\"])value(?![\w'\"])", "VALUE", expression)
