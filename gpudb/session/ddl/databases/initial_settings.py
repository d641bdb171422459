"""ALTER ROLE … SET and ALTER DATABASE … SET: the settings with which sessions begin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.authorization.role_checks import check_may_change_settings, denied
from gpudb.session.authorization.role_specs import check_not_reserved, resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.databases.databases import find_database
from gpudb.session.objects.stored_settings import change_settings
from gpudb.session.results import Result


def alter_role_set(context: Context) -> Result:
    """ALTER ROLE name | ALL [IN DATABASE name] SET setting = value | FROM CURRENT, RESET setting, RESET ALL."""
    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    if not node.HasField("role"):
        return _alter_all_roles(context, node)
    catalog, user = context.transaction.catalog, context.session.user
    check_not_reserved(node.role)
    role = resolve_role(context.session, catalog, node.role)
    check_may_change_settings(catalog, user, role)
    if node.database:
        database = find_database(catalog, node.database)
        settings = change_settings(context, database.role_settings.get(str(role.oid), {}), node.setstmt)
        others = {oid: each for oid, each in database.role_settings.items() if oid != str(role.oid)}
        of_roles = {**others, str(role.oid): settings} if settings else others
        changed = catalog.put(replace(database, role_settings=of_roles))
    else:
        changed = catalog.put(replace(role, settings=change_settings(context, role.settings, node.setstmt)))
    context.transaction.set_catalog(changed)
    return Result("ALTER ROLE")


def _alter_all_roles(context: Context, node: Any) -> Result:
    catalog, user = context.transaction.catalog, context.session.user
    if node.database:
        _alter_database(context, node.database, node.setstmt)
        return Result("ALTER ROLE")
    if not is_superuser(catalog, user):
        detail = "Only roles with the SUPERUSER attribute may alter settings globally."
        raise denied("alter setting", detail)
    database = find_database(catalog, FIRST_DATABASE)
    changed = replace(database, all_settings=change_settings(context, database.all_settings, node.setstmt))
    context.transaction.set_catalog(catalog.put(changed))
    return Result("ALTER ROLE")


def alter_database_set(context: Context) -> Result:
    """ALTER DATABASE name SET setting = value | FROM CURRENT, RESET setting, RESET ALL."""
    node: Any = context.statement.node
    context.check_writable("ALTER DATABASE")
    _alter_database(context, node.dbname, node.setstmt)
    return Result("ALTER DATABASE")


def _alter_database(context: Context, name: str, change: Any) -> None:
    database = find_database(context.transaction.catalog, name)
    check_owner(context.transaction.catalog, get_current_role(context), database)
    changed = replace(database, settings=change_settings(context, database.settings, change))
    context.transaction.set_catalog(context.transaction.catalog.put(changed))
