"""COMMENT ON relations, columns, constraints, indexes, types, roles, schemas and extensions."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.context import Context
from gpudb.session.ddl.databases.databases import comment_on_database
from gpudb.session.ddl.databases.extensions import comment_on_extension
from gpudb.session.ddl.foreign_data.foreign_objects import comment_on_foreign_object
from gpudb.session.ddl.indexes.indexes import comment_on_index, find_index
from gpudb.session.ddl.parse_nodes import object_kind
from gpudb.session.ddl.policies import comment_on_policy
from gpudb.session.ddl.roles.roles import comment_on_role
from gpudb.session.ddl.triggers import comment_on_trigger
from gpudb.session.ddl.types.alter_drop_types import comment_on_type
from gpudb.session.objects.constraints import constraint_names
from gpudb.session.objects.large_objects import comment_on_large_object
from gpudb.session.objects.relations import find_column, lock_comments, put_relation
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import KINDS, comment_on_routine
from gpudb.sql.parse.parser import inner, strings
from gpudb.storage.locks import Item


def comment(context: Context) -> Result:
    """COMMENT ON relations, columns, constraints, types, roles, schemas, databases, extensions and foreign objects."""
    node: Any = context.statement.node
    context.check_writable("COMMENT")
    what = object_kind(node.objtype)
    text = node.comment or None
    lock_comments(context, _make_item(context, node, what))
    catalog = context.transaction.catalog
    if what == "SCHEMA":
        name = inner(node.object).sval
        if name not in catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
        context.transaction.set_catalog(catalog.put(replace(catalog.schemas[name], comment=text)))
        return Result("COMMENT")
    if what == "ROLE":
        return comment_on_role(context, inner(node.object).sval, text)
    if what == "EXTENSION":
        return comment_on_extension(context, inner(node.object).sval, text)
    if what == "DATABASE":
        return comment_on_database(context, inner(node.object).sval, text)
    if what in {"TYPE", "DOMAIN"}:
        return comment_on_type(context, node)
    if what in KINDS:
        return comment_on_routine(context, node, what)
    if what == "TABCONSTRAINT":
        return _on_constraint(context, node, text)
    if what == "TRIGGER":
        return comment_on_trigger(context, strings(inner(node.object).items), text)
    if what == "POLICY":
        return comment_on_policy(context, strings(inner(node.object).items), text)
    if what == "INDEX":
        comment_on_index(context, strings(inner(node.object).items), text)
        return Result("COMMENT")
    if what == "LARGEOBJECT":
        comment_on_large_object(context, inner(node.object), text)
        return Result("COMMENT")
    if what in {"FOREIGN_SERVER", "FDW"}:
        return comment_on_foreign_object(context, inner(node.object).sval, text, what)
    if what not in {"TABLE", "VIEW", "COLUMN", "SEQUENCE", "MATVIEW", "FOREIGN_TABLE"}:
        raise FeatureNotSupported(f"COMMENT ON {what.replace('_', ' ')} is not supported")
    names = strings(inner(node.object).items)
    path = names[:-1] if what == "COLUMN" else names
    relation = catalog.find(path[-1], path[-2:-1] or context.session.search_path())
    if relation is None:
        raise UndefinedTable(f'relation "{".".join(path)}" does not exist')
    if what != "COLUMN":
        put_relation(context, replace(relation, comment=text))
        return Result("COMMENT")
    column = find_column(relation, names[-1])
    if isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'cannot set comment on relation "{relation.name}"')
    columns = tuple(replace(c, comment=text) if c is column else c for c in relation.columns)
    put_relation(context, replace(relation, columns=columns))
    return Result("COMMENT")


_OF_RELATIONS = frozenset({"COLUMN", "TABCONSTRAINT", "TRIGGER", "POLICY"})
"""What is named by its relation's name and its own."""


def _make_item(context: Context, node: Any, what: str) -> Item:
    """What those lock who comment on an object: its relation if it has one, or is one."""
    catalog = context.transaction.catalog
    named = inner(node.object)
    names = strings(named.items) if named.DESCRIPTOR.name == "List" else ()
    path = names[:-1] if what in _OF_RELATIONS else names
    relation = catalog.find(path[-1], path[-2:-1] or context.session.search_path()) if path else None
    if what == "INDEX" and (found := find_index(context, names)) is not None:
        relation = found[0]
    if relation is not None:
        return Item(relation.oid, "comment", 0)
    digest = hashlib.blake2b(f"{what} {named}".encode(), digest_size=8).digest()
    return Item(0, "comment", int.from_bytes(digest, "big"))


def _on_constraint(context: Context, node: Any, text: str | None) -> Result:
    """COMMENT ON CONSTRAINT name ON table."""
    *path, name = strings(inner(node.object).items)
    catalog = context.transaction.catalog
    table = catalog.find(path[-1], tuple(path[-2:-1]) or context.session.search_path())
    if table is None:
        raise UndefinedTable(f'relation "{".".join(path)}" does not exist')
    if not isinstance(table, Table) or name not in constraint_names(table):
        message = f'constraint "{name}" for table "{table.name}" does not exist'
        raise SqlError.of("undefined_object", message)
    if table.primary_key and name == table.key_name:
        put_relation(context, replace(table, primary_key_comment=text))
        return Result("COMMENT")
    listed = tuple(replace(each, comment=text) if each.name == name else each for each in table.constraints)
    put_relation(context, replace(table, constraints=listed))
    return Result("COMMENT")
