"""CREATE, ALTER and DROP EXTENSION, and COMMENT ON EXTENSION, of the extensions that gpudb has something of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.extensions import AVAILABLE, PLPGSQL, AvailableExtension, Extension, list_extensions
from gpudb.catalog.languages import TRAITS
from gpudb.catalog.postgres import oids
from gpudb.catalog.wrappers import KNOWN
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.functions.vector_casts import VECTOR_TYPES
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.context import Context
from gpudb.session.ddl.databases.languages import create_language, drop_language
from gpudb.session.ddl.foreign_data.foreign_objects import create_known_wrapper, drop_known_wrapper
from gpudb.session.objects.names import target_schema
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, position
from gpudb.types import VECTOR

_INVALID = "invalid_parameter_value"


def create_extension(context: Context) -> Result:
    """CREATE EXTENSION [IF NOT EXISTS] name [SCHEMA schema] [VERSION version] [CASCADE].

    0A000 for one that gpudb has nothing of, 42710 for one that exists, 22023 for another version, 3F000 for a missing
    schema, 42501 for roles that are not superusers.
    """
    node: Any = context.statement.node
    context.check_writable("CREATE EXTENSION")
    name = node.extname
    _check_name(name)
    if name in list_extensions(context.transaction.catalog.extensions):
        if not node.if_not_exists:
            raise SqlError.of("duplicate_object", f'extension "{name}" already exists')
        context.notice(f'extension "{name}" already exists, skipping', sqlstate="42710")
        return Result("CREATE EXTENSION")
    options = _read_options(context, node.options)
    available = AVAILABLE.get(name)
    if available is None:
        detail = f"gpudb has {', '.join(sorted(AVAILABLE))}."
        hint = "The extension must first be installed on the system where PostgreSQL is running."
        raise FeatureNotSupported(f'extension "{name}" is not available', detail=detail, hint=hint)
    _check_version(available, options.get("new_version", available.version))
    schema = oids.CATALOG_SCHEMA if name in TRAITS else _find_schema(context, options.get("schema", ""))
    if not is_superuser(context.transaction.catalog, context.session.user):
        hint = "Must be superuser to create this extension."
        raise SqlError.of("insufficient_privilege", f'permission denied to create extension "{name}"', hint=hint)
    oid, catalog = context.transaction.catalog.allocate_oid()
    created = Extension(oid, name, schema, available.version, available.comment)
    context.transaction.set_catalog(catalog.put(created))
    if name in KNOWN:
        create_known_wrapper(context, KNOWN[name])
    if name in TRAITS:
        create_language(context, name)
    return Result("CREATE EXTENSION")


def _check_name(name: str) -> None:
    """22023 for what PostgreSQL takes for no name."""
    detail = None
    if not name:
        detail = "Extension names must not be empty."
    elif "--" in name:
        detail = 'Extension names must not contain "--".'
    elif name.startswith("-") or name.endswith("-"):
        detail = 'Extension names must not begin or end with "-".'
    elif "/" in name:
        detail = "Extension names must not contain directory separator characters."
    if detail is not None:
        raise SqlError.of(_INVALID, f'invalid extension name: "{name}"', detail=detail)


def _read_options(context: Context, options: Any) -> Mapping[str, str]:
    """The options `schema`, `new_version` and `cascade` as texts."""
    found: dict[str, str] = {}
    for each in map(inner, options):
        if each.defname in found:
            error = SqlError.of("syntax_error", "conflicting or redundant options")
            raise error.at(position(context.statement.text, each.location))
        found[each.defname] = getattr(inner(each.arg), "sval", "")
    return found


def _check_version(available: AvailableExtension, version: str) -> None:
    if version != available.version:
        message = f'extension "{available.name}" has no installation script nor update path for version "{version}"'
        raise SqlError.of(_INVALID, message)


def _find_schema(context: Context, name: str) -> int:
    if name == "pg_catalog":
        return oids.CATALOG_SCHEMA
    found = target_schema(context, name)
    return context.transaction.catalog.schemas[found].oid


def alter_extension(context: Context) -> Result:
    """ALTER EXTENSION name UPDATE [TO version]: there is one version. 42704, 42501, 22023."""
    node: Any = context.statement.node
    context.check_writable("ALTER EXTENSION")
    found = _require(context, node.extname)
    version = _read_options(context, node.options).get("new_version", found.version)
    if version != found.version:
        message = f'extension "{found.name}" has no update path from version "{found.version}" to version "{version}"'
        raise SqlError.of(_INVALID, message)
    context.notice(f'version "{version}" of extension "{found.name}" is already installed')
    return Result("ALTER EXTENSION")


def drop_extensions(context: Context, node: Any) -> Result:
    """DROP EXTENSION [IF EXISTS] name, … [CASCADE]; 42704, 42501, 2BP01 for one that something depends on, 0A000 for
    plpgsql.
    """
    for name in [inner(each).sval for each in node.objects]:
        if node.missing_ok and name not in list_extensions(context.transaction.catalog.extensions):
            context.notice(f'extension "{name}" does not exist, skipping')
            continue
        extension = _require(context, name)
        if name == PLPGSQL.name:
            raise FeatureNotSupported(f'extension "{name}" cannot be dropped', detail="PL/pgSQL is a part of gpudb.")
        wrapper = context.transaction.catalog.wrappers.get(name)
        if name in KNOWN and wrapper is not None:
            cascade = node.behavior == pg.DROP_CASCADE
            drop_known_wrapper(context, wrapper, KNOWN[name], cascade=cascade)
        if name in TRAITS:
            drop_language(context, name, cascade=node.behavior == pg.DROP_CASCADE)
        if name == VECTOR.name:
            _check_vectors_unused(context, cascade=node.behavior == pg.DROP_CASCADE)
        context.transaction.set_catalog(context.transaction.catalog.drop(extension))
    return Result("DROP EXTENSION")


def _check_vectors_unused(context: Context, *, cascade: bool) -> None:
    """2BP01 while a table has a column of vectors; 0A000 with CASCADE, which would drop the column."""
    for table in context.transaction.catalog.tables():
        for column in table.columns:
            if column.type.name.lstrip("_") not in VECTOR_TYPES:
                continue
            if cascade:
                raise FeatureNotSupported("DROP EXTENSION vector CASCADE is not supported while columns have its type")
            raise SqlError.of(
                "dependent_objects_still_exist",
                "cannot drop extension vector because other objects depend on it",
                detail=f"column {column.name} of table {table.name} depends on type {column.type.name.lstrip('_')}",
                hint="Use DROP ... CASCADE to drop the dependent objects too.",
            )


def comment_on_extension(context: Context, name: str, text: str | None) -> Result:
    """COMMENT ON EXTENSION. 42704, 42501."""
    found = _require(context, name)
    context.transaction.set_catalog(context.transaction.catalog.put(replace(found, comment=text)))
    return Result("COMMENT")


def _require(context: Context, name: str) -> Extension:
    """Returns the extension that the current role may change."""
    found = list_extensions(context.transaction.catalog.extensions).get(name)
    if found is None:
        raise UndefinedObject(f'extension "{name}" does not exist')
    if not is_superuser(context.transaction.catalog, context.session.user):
        raise SqlError.of("insufficient_privilege", f"must be owner of extension {name}")
    return found
