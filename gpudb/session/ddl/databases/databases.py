"""CREATE, ALTER, RENAME, OWNER TO and DROP DATABASE. Databases share roles, workers and memory alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpudb.catalog.model import FIRST_DATABASE, Catalog, Database
from gpudb.catalog.secured_objects import replace_owner
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.authorization.membership import can_set_role, is_superuser
from gpudb.session.authorization.privileges import check_owner, get_current_role, is_owner
from gpudb.session.authorization.role_specs import resolve_role
from gpudb.session.authorization.signals import check_signal
from gpudb.session.context import Context
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, kind, position, present
from gpudb.sql.parse.values import read_option_text
from gpudb.storage.catalog.databases import check_template

_COLLATIONS = frozenset({"c", "posix", "c.utf-8", "c.utf8"})
_WAIT_SECONDS = 5.0

Read = Callable[[Context, Any], object]


def create_database(context: Context) -> Result:
    """CREATE DATABASE name [WITH options]: a copy of its template, which holds neither tables nor sequences."""
    node: Any = context.statement.node
    _check_no_block(context, "CREATE DATABASE")
    options = _read_options(context, node.options, {**_CREATE_OPTIONS, **_ALTER_OPTIONS})
    catalog, role = context.transaction.catalog, get_current_role(context)
    owner = str(options.pop("owner", role))
    if not _may_create(catalog, role):
        raise SqlError.of("insufficient_privilege", "permission denied to create database")
    _check_may_give(catalog, role, owner)
    template = catalog.databases.get(str(options.get("template", "template1")))
    if template is None:
        message = f'template database "{options["template"]}" does not exist'
        raise SqlError.of("invalid_catalog_name", message)
    if not template.is_template and not is_owner(catalog, role, template):
        raise SqlError.of("insufficient_privilege", f'permission denied to copy database "{template.name}"')
    _check_free(catalog, node.dbname)
    _check_unused(context, template.name, f'source database "{template.name}"')
    check_template(context.session.database.store.catalog(template.name))
    oid, catalog = catalog.allocate_oid()
    made = Database(node.dbname, oid=oid, owner=owner, **{"template": template.name, **options})
    context.transaction.set_catalog(catalog.put(made))
    return Result("CREATE DATABASE")


def alter_database(context: Context) -> Result:
    """ALTER DATABASE name WITH options."""
    node: Any = context.statement.node
    options = _read_options(context, node.options, _ALTER_OPTIONS)
    catalog = context.transaction.catalog
    database = find_database(catalog, node.dbname)
    check_owner(catalog, get_current_role(context), database)
    if database.name == catalog.database and options.get("allows_connections") is False:
        message = "cannot disallow connections for current database"
        raise SqlError.of("invalid_parameter_value", message)
    context.transaction.set_catalog(catalog.put(replace(database, **options)))
    return Result("ALTER DATABASE")


def refresh_collation_version(context: Context) -> Result:
    """ALTER DATABASE name REFRESH COLLATION VERSION: gpudb's collations have no versions that change."""
    node: Any = context.statement.node
    catalog = context.transaction.catalog
    check_owner(catalog, get_current_role(context), find_database(catalog, node.dbname))
    context.notice("version has not changed")
    return Result("ALTER DATABASE")


def rename_database(context: Context, old: str, new: str) -> Result:
    """ALTER DATABASE … RENAME TO."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    database = find_database(catalog, old)
    check_owner(catalog, role, database)
    if not _may_create(catalog, role):
        raise SqlError.of("insufficient_privilege", "permission denied to rename database")
    _check_free(catalog, new)
    if old == catalog.database:
        raise FeatureNotSupported("current database cannot be renamed")
    if old == FIRST_DATABASE:
        raise FeatureNotSupported(f"database {old} cannot be renamed: it is required by the database system")
    _check_unused(context, old, f'database "{old}"')
    renamed = catalog.drop(database).put(replace(database, name=new))
    context.transaction.set_catalog(renamed)
    return Result("ALTER DATABASE")


def change_database_owner(context: Context, name: str, owner: str) -> Result:
    """ALTER DATABASE … OWNER TO."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    database = find_database(catalog, name)
    if owner not in catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    check_owner(catalog, role, database)
    _check_may_give(catalog, role, owner)
    if not _may_create(catalog, role):
        raise SqlError.of("insufficient_privilege", "permission denied to change owner of database")
    context.transaction.set_catalog(replace_owner(catalog, database, owner))
    return Result("ALTER DATABASE")


def comment_on_database(context: Context, name: str, text: str | None) -> Result:
    """COMMENT ON DATABASE."""
    catalog = context.transaction.catalog
    database = find_database(catalog, name)
    check_owner(catalog, get_current_role(context), database)
    context.transaction.set_catalog(catalog.put(replace(database, comment=text)))
    return Result("COMMENT")


def drop_database(context: Context) -> Result:
    """DROP DATABASE [IF EXISTS] name [WITH (FORCE)], with all that is in it."""
    node: Any = context.statement.node
    _check_no_block(context, "DROP DATABASE")
    for each in map(inner, node.options):
        if each.defname != "force":
            error = SqlError.of("syntax_error", f'unrecognized DROP DATABASE option "{each.defname}"')
            raise error.at(position(context.statement.text, each.location))
    catalog, name = context.transaction.catalog, node.dbname
    if name not in catalog.databases and node.missing_ok:
        context.notice(f'database "{name}" does not exist, skipping')
        return Result("DROP DATABASE")
    database = find_database(catalog, name)
    check_owner(catalog, get_current_role(context), database)
    if database.is_template:
        raise SqlError.of("wrong_object_type", "cannot drop a template database")
    if name == catalog.database:
        raise SqlError.of("object_in_use", "cannot drop the currently open database")
    if name == FIRST_DATABASE:
        message = f"cannot drop database {name} because it is required by the database system"
        raise SqlError.of("dependent_objects_still_exist", message)
    if node.options:  # FORCE
        found = _list_sessions(context, name)
        for process_id in found:
            check_signal(context, process_id, "terminate")
        for process_id in found:
            context.session.database.terminate(process_id)
    _check_unused(context, name, f'database "{name}"')
    context.transaction.set_catalog(catalog.drop(catalog.databases[name]))
    return Result("DROP DATABASE")


def find_database(catalog: Catalog, name: str) -> Database:
    """Returns the database of a name; 3D000."""
    found = catalog.databases.get(name)
    if found is None:
        raise SqlError.of("invalid_catalog_name", f'database "{name}" does not exist')
    return found


def _check_no_block(context: Context, what: str) -> None:
    context.check_writable(what)
    context.check_no_block(what)


def _check_free(catalog: Catalog, name: str) -> None:
    if name in catalog.databases:
        raise SqlError.of("duplicate_database", f'database "{name}" already exists')


def _may_create(catalog: Catalog, role: str) -> bool:
    return is_superuser(catalog, role) or catalog.roles[role].createdb


def _check_may_give(catalog: Catalog, role: str, owner: str) -> None:
    if owner not in catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    if not can_set_role(catalog, role, owner):
        raise SqlError.of("insufficient_privilege", f'must be able to SET ROLE "{owner}"')


def _list_sessions(context: Context, name: str) -> list[int]:
    """Returns the process ids of the other sessions in a database."""
    return [
        each.process_id
        for each in context.session.database.sessions()
        if each.database_name == name and each is not context.session
    ]


def _check_unused(context: Context, name: str, what: str) -> None:
    """55006 if other sessions are in a database, and stay there as long as PostgreSQL waits for their end."""
    end = time.monotonic() + _WAIT_SECONDS
    while _list_sessions(context, name) and time.monotonic() < end:
        context.cancel.check()
        time.sleep(0.02)
    if count := len(_list_sessions(context, name)):
        detail = "There is 1 other session using the database."
        if count > 1:
            detail = f"There are {count} other sessions using the database."
        raise SqlError.of("object_in_use", f"{what} is being accessed by other users", detail=detail)


def _read_options(context: Context, options: Any, known: Mapping[str, tuple[str, Read]]) -> dict[str, Any]:
    """Returns the fields of `Database` that options name; 42601 for one that is unknown or named twice."""
    found: dict[str, Any] = {}
    named: set[str] = set()
    for option in map(inner, options):
        place = position(context.statement.text, option.location)
        if option.defname in named:
            raise SqlError.of("syntax_error", "conflicting or redundant options").at(place)
        named.add(option.defname)
        if option.defname not in known:
            raise SqlError.of("syntax_error", f'option "{option.defname}" not recognized').at(place)
        if not present(option.arg):  # DEFAULT
            continue
        field, read = known[option.defname]
        try:
            value = read(context, option)
        except SqlError as error:
            raise error.at(place) from None
        if field:
            found[field] = value
    return found


def _read_template(context: Context, option: Any) -> str:
    return read_option_text(option)


def _read_role(context: Context, option: Any) -> str:
    if kind(option.arg) == "role_spec":
        return resolve_role(context.session, context.transaction.catalog, inner(option.arg)).name
    return read_option_text(option)


def _read_flag(context: Context, option: Any) -> bool:
    value = read_option_text(option).lower()
    if value in {"true", "on", "yes", "1"}:
        return True
    if value in {"false", "off", "no", "0"}:
        return False
    raise SqlError.of("syntax_error", "a Boolean value is required")


def _read_limit(context: Context, option: Any) -> int:
    value = int(read_option_text(option))
    if value < -1:
        raise SqlError.of("invalid_parameter_value", f"invalid connection limit: {value}")
    return value


def _read_encoding(context: Context, option: Any) -> None:
    name = read_option_text(option)
    if name.lower().replace("-", "") not in {"utf8", "unicode", "6"}:
        raise FeatureNotSupported(f"encoding {name} is not supported", hint="Databases are in UTF8.")


def _read_locale(context: Context, option: Any) -> None:
    name = read_option_text(option)
    if name.lower() not in _COLLATIONS:
        raise FeatureNotSupported(f'locale "{name}" is not supported', hint='Databases are in locale "C".')


def _read_provider(context: Context, option: Any) -> None:
    name = read_option_text(option)
    if name != "libc":
        raise FeatureNotSupported(f"locale provider {name} is not supported")


def _read_tablespace(context: Context, option: Any) -> None:
    name = read_option_text(option)
    if name != "pg_default":
        raise UndefinedObject(f'tablespace "{name}" does not exist')


def _read_strategy(context: Context, option: Any) -> None:
    name = read_option_text(option)
    if name.lower() not in {"wal_log", "file_copy"}:
        message = f'invalid create database strategy "{name}"'
        hint = 'Valid strategies are "wal_log" and "file_copy".'
        raise SqlError.of("invalid_parameter_value", message, hint=hint)


# The field of `Database` that an option is, and what reads its value.
_ALTER_OPTIONS: dict[str, tuple[str, Read]] = {
    "allow_connections": ("allows_connections", _read_flag),
    "connection_limit": ("connection_limit", _read_limit),
    "is_template": ("is_template", _read_flag),
    "tablespace": ("", _read_tablespace),
}
_CREATE_OPTIONS: dict[str, tuple[str, Read]] = {
    "owner": ("owner", _read_role),
    "template": ("template", _read_template),
    "encoding": ("", _read_encoding),
    "locale": ("", _read_locale),
    "lc_collate": ("", _read_locale),
    "lc_ctype": ("", _read_locale),
    "locale_provider": ("", _read_provider),
    "strategy": ("", _read_strategy),
}
