"""CREATE, ALTER and DROP of foreign-data wrappers, foreign servers and user mappings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.foreign import ForeignDataWrapper, ForeignServer, UserMapping, make_mapping_key
from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.catalog.wrappers import KnownWrapper, find_by_handler, find_by_validator
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction, UndefinedObject
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import check_owner, check_privilege, is_owner, list_object_privileges
from gpudb.session.authorization.role_specs import resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.foreign_data.foreign_options import change_options
from gpudb.session.objects.dependents import Dependent, describe_relation, refuse_or_report, view_dependents, views_over
from gpudb.session.objects.names import truncate_identifier
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, present, strings

_PUBLIC = "public"

# ---- foreign-data wrappers


def create_wrapper(context: Context) -> Result:
    """CREATE FOREIGN DATA WRAPPER name [HANDLER f] [VALIDATOR f] [OPTIONS (…)]; 42501, 42710, 42883."""
    node: Any = context.statement.node
    context.check_writable("CREATE FOREIGN DATA WRAPPER")
    name, catalog = truncate_identifier(node.fdwname), context.transaction.catalog
    if not is_superuser(catalog, context.session.user):
        hint = "Must be superuser to create a foreign-data wrapper."
        message = f'permission denied to create foreign-data wrapper "{name}"'
        raise SqlError.of("insufficient_privilege", message, hint=hint)
    if name in catalog.wrappers:
        raise SqlError.of("duplicate_object", f'foreign-data wrapper "{name}" already exists')
    oid, catalog = catalog.allocate_oid()
    wrapper = _with_functions(ForeignDataWrapper(oid, name, context.session.user), node)
    options = change_options(context, (), node.options, wrapper, "wrapper")
    context.transaction.set_catalog(catalog.put(replace(wrapper, options=options)))
    return Result("CREATE FOREIGN DATA WRAPPER")


def alter_wrapper(context: Context) -> Result:
    """ALTER FOREIGN DATA WRAPPER name [HANDLER …] [VALIDATOR …] [OPTIONS (…)]; 42501, 42704."""
    node: Any = context.statement.node
    context.check_writable("ALTER FOREIGN DATA WRAPPER")
    catalog = context.transaction.catalog
    if not is_superuser(catalog, context.session.user):
        hint = "Must be superuser to alter a foreign-data wrapper."
        message = f'permission denied to alter foreign-data wrapper "{node.fdwname}"'
        raise SqlError.of("insufficient_privilege", message, hint=hint)
    wrapper = _with_functions(require_wrapper(catalog, node.fdwname), node)
    options = change_options(context, wrapper.options, node.options, wrapper, "wrapper")
    context.transaction.set_catalog(catalog.put(replace(wrapper, options=options)))
    return Result("ALTER FOREIGN DATA WRAPPER")


def _with_functions(wrapper: ForeignDataWrapper, node: Any) -> ForeignDataWrapper:
    seen: set[str] = set()
    for each in map(inner, node.func_options):
        if each.defname in seen:
            raise SqlError.of("syntax_error", "conflicting or redundant options")
        seen.add(each.defname)
        name = strings(inner(each.arg).items)[-1] if present(each.arg) else None
        if each.defname == "handler":
            if name is not None and find_by_handler(name) is None:
                raise UndefinedFunction(f"function {name}() does not exist")
            wrapper = replace(wrapper, handler=name)
        else:
            if name is not None and find_by_validator(name) is None:
                raise UndefinedFunction(f"function {name}(text[], oid) does not exist")
            wrapper = replace(wrapper, validator=name)
    return wrapper


def create_known_wrapper(context: Context, known: KnownWrapper) -> None:
    """Creates what an extension brings: its wrapper and, for some, a server; 42710."""
    catalog, user = context.transaction.catalog, context.session.user
    if known.name in catalog.wrappers:
        raise SqlError.of("duplicate_object", f'foreign-data wrapper "{known.name}" already exists')
    oid, catalog = catalog.allocate_oid()
    catalog = catalog.put(ForeignDataWrapper(oid, known.name, user, known.handler, known.validator))
    if known.server is not None:
        if known.server in catalog.servers:
            raise SqlError.of("duplicate_object", f'server "{known.server}" already exists')
        server, catalog = catalog.allocate_oid()
        catalog = catalog.put(ForeignServer(server, known.server, user, oid))
    context.transaction.set_catalog(catalog)


def drop_known_wrapper(context: Context, wrapper: ForeignDataWrapper, known: KnownWrapper, *, cascade: bool) -> None:
    """Drops what an extension brought; 2BP01 if other objects depend on it, unless with CASCADE."""
    what = f"extension {wrapper.name}"
    server = context.transaction.catalog.servers.get(known.server or "")
    if server is not None and server.wrapper == wrapper.oid:
        drop_foreign_object(context, server, cascade=cascade, what=what)
    drop_foreign_object(context, wrapper, cascade=cascade, what=what)


def require_wrapper(catalog: Catalog, name: str) -> ForeignDataWrapper:
    """Returns the foreign-data wrapper of a name; 42704."""
    found = catalog.wrappers.get(name)
    if found is None:
        raise UndefinedObject(f'foreign-data wrapper "{name}" does not exist')
    return found


# ---- servers


def create_server(context: Context) -> Result:
    """CREATE SERVER [IF NOT EXISTS] name [TYPE …] [VERSION …] FOREIGN DATA WRAPPER w [OPTIONS (…)]; 42710, 42501."""
    node: Any = context.statement.node
    context.check_writable("CREATE SERVER")
    name, catalog = truncate_identifier(node.servername), context.transaction.catalog
    if name in catalog.servers:
        if not node.if_not_exists:
            raise SqlError.of("duplicate_object", f'server "{name}" already exists')
        context.notice(f'server "{name}" already exists, skipping', sqlstate="42710")
        return Result("CREATE SERVER")
    wrapper = require_wrapper(catalog, node.fdwname)
    check_privilege(catalog, context.session.user, wrapper, "U")
    options = change_options(context, (), node.options, wrapper, "server")
    oid, catalog = catalog.allocate_oid()
    server = ForeignServer(
        oid, name, context.session.user, wrapper.oid, node.servertype or None, node.version or None, options
    )
    context.transaction.set_catalog(catalog.put(server))
    return Result("CREATE SERVER")


def alter_server(context: Context) -> Result:
    """ALTER SERVER name [VERSION …] [OPTIONS (…)]; 42704, 42501."""
    node: Any = context.statement.node
    context.check_writable("ALTER SERVER")
    catalog = context.transaction.catalog
    server = require_server(catalog, node.servername)
    check_owner(catalog, context.session.user, server)
    options = change_options(context, server.options, node.options, get_wrapper(catalog, server), "server")
    version = (node.version or None) if node.has_version else server.version
    context.transaction.set_catalog(catalog.put(replace(server, options=options, version=version)))
    return Result("ALTER SERVER")


def require_server(catalog: Catalog, name: str) -> ForeignServer:
    """Returns the foreign server of a name; 42704."""
    found = catalog.servers.get(name)
    if found is None:
        raise UndefinedObject(f'server "{name}" does not exist')
    return found


def get_wrapper(catalog: Catalog, server: ForeignServer) -> ForeignDataWrapper:
    """Returns the wrapper of a server."""
    found = catalog.find_wrapper(server.wrapper)
    assert found is not None, "a wrapper is dropped with its servers"
    return found


# ---- user mappings


def create_user_mapping(context: Context) -> Result:
    """CREATE USER MAPPING [IF NOT EXISTS] FOR role SERVER s [OPTIONS (…)]; 42710, 42704, 42501."""
    node: Any = context.statement.node
    context.check_writable("CREATE USER MAPPING")
    catalog = context.transaction.catalog
    role, shown = _resolve_user(context, node.user)
    server = require_server(catalog, node.servername)
    _check_may_map(context, server, shown)
    if make_mapping_key(server.oid, role) in catalog.user_mappings:
        message = f'user mapping for "{shown}" already exists for server "{server.name}"'
        if not node.if_not_exists:
            raise SqlError.of("duplicate_object", message)
        context.notice(f"{message}, skipping", sqlstate="42710")
        return Result("CREATE USER MAPPING")
    options = change_options(context, (), node.options, get_wrapper(catalog, server), "user mapping")
    oid, catalog = catalog.allocate_oid()
    context.transaction.set_catalog(catalog.put(UserMapping(oid, server.oid, role, options)))
    return Result("CREATE USER MAPPING")


def alter_user_mapping(context: Context) -> Result:
    """ALTER USER MAPPING FOR role SERVER s OPTIONS (…); 42704, 42501."""
    node: Any = context.statement.node
    context.check_writable("ALTER USER MAPPING")
    catalog = context.transaction.catalog
    role, shown = _resolve_user(context, node.user)
    server = require_server(catalog, node.servername)
    mapping = catalog.user_mappings.get(make_mapping_key(server.oid, role))
    if mapping is None:
        raise UndefinedObject(f'user mapping for "{shown}" does not exist for server "{server.name}"')
    _check_may_map(context, server, shown)
    options = change_options(context, mapping.options, node.options, get_wrapper(catalog, server), "user mapping")
    context.transaction.set_catalog(catalog.put(replace(mapping, options=options)))
    return Result("ALTER USER MAPPING")


def drop_user_mapping(context: Context) -> Result:
    """DROP USER MAPPING [IF EXISTS] FOR role SERVER s; 42704, 42501."""
    node: Any = context.statement.node
    context.check_writable("DROP USER MAPPING")
    catalog, tag = context.transaction.catalog, "DROP USER MAPPING"
    try:
        role, shown = _resolve_user(context, node.user)
        server = require_server(catalog, node.servername)
    except UndefinedObject as error:
        if not node.missing_ok:
            raise
        context.notice(f"{error.message}, skipping")
        return Result(tag)
    key = make_mapping_key(server.oid, role)
    if key not in catalog.user_mappings:
        message = f'user mapping for "{shown}" does not exist for server "{server.name}"'
        if not node.missing_ok:
            raise UndefinedObject(message)
        context.notice(f"{message}, skipping")
        return Result(tag)
    _check_may_map(context, server, shown)
    context.transaction.set_catalog(catalog.drop(catalog.user_mappings[key]))
    return Result(tag)


def _resolve_user(context: Context, spec: Any) -> tuple[int, str]:
    """The OID and name of a mapping's role; 0 for PUBLIC."""
    if spec.roletype == pg.ROLESPEC_PUBLIC:
        return 0, _PUBLIC
    role = resolve_role(context.session, context.transaction.catalog, spec)
    return role.oid, role.name


def _check_may_map(context: Context, server: ForeignServer, user: str) -> None:
    """42501 for a role that neither owns a server nor may use it for itself."""
    catalog, role = context.transaction.catalog, context.session.user
    if is_owner(catalog, role, server):
        return
    if user != role:
        check_owner(catalog, role, server)
    if "U" not in list_object_privileges(catalog, role, server):
        check_privilege(catalog, role, server, "U")


# ---- removal, owners and comments


def drop_foreign_objects(context: Context, node: Any, what: str) -> Result:
    """DROP SERVER or FOREIGN DATA WRAPPER [IF EXISTS] name, … [CASCADE]; 42704, 42501, 2BP01."""
    cascade = node.behavior == pg.DROP_CASCADE
    for name in [inner(each).sval for each in node.objects]:
        catalog = context.transaction.catalog
        try:
            found = require_server(catalog, name) if what == "SERVER" else require_wrapper(catalog, name)
        except UndefinedObject as error:
            if not node.missing_ok:
                raise
            context.notice(f"{error.message}, skipping")
            continue
        check_owner(catalog, context.session.user, found)
        if isinstance(found, ForeignDataWrapper) and name in catalog.extensions and find_by_handler(found.handler):
            message = f"cannot drop foreign-data wrapper {name} because extension {name} requires it"
            hint = f"You can drop extension {name} instead."
            raise SqlError.of("dependent_objects_still_exist", message, hint=hint)
        drop_foreign_object(context, found, cascade=cascade)
    return Result(f"DROP {what}")


def drop_foreign_object(
    context: Context, found: ForeignServer | ForeignDataWrapper, *, cascade: bool, what: str | None = None
) -> None:
    """Drops a server or wrapper and, with CASCADE, what depends on it; 2BP01. `what` is how messages call it."""
    catalog = context.transaction.catalog
    if isinstance(found, ForeignServer):
        servers = [found] if found.name in catalog.servers else []
        dependents: list[Dependent] = []
        what = what or f"server {quote_name(found.name)}"
    else:
        servers = [each for each in catalog.servers.values() if each.wrapper == found.oid]
        on = f"foreign-data wrapper {quote_name(found.name)}"
        dependents = []
        what = what or on
    removed: dict[int, Relation] = {}
    for server in servers:
        named = f"server {quote_name(server.name)}"
        if server is not found:
            dependents.append(Dependent(named, f"foreign-data wrapper {quote_name(found.name)}"))
        for mapping in (each for each in catalog.user_mappings.values() if each.server == server.oid):
            role = next((each.name for each in catalog.roles.values() if each.oid == mapping.role), _PUBLIC)
            dependents.append(Dependent(f"user mapping for {role} on {named}", named))
        for table in _list_tables(catalog, server):
            described = describe_relation(context, table)
            dependents.append(Dependent(described, named))
            removed[table.oid] = table
            dependents += view_dependents(context, views_over(catalog, table), described, removed)
    refuse_or_report(context, what, dependents, cascade=cascade)
    if removed:
        drop_with_dependents(context, list(removed.values()), cascade)
    catalog = context.transaction.catalog
    for server in servers:
        for mapping in [each for each in catalog.user_mappings.values() if each.server == server.oid]:
            catalog = catalog.drop(mapping)
        catalog = catalog.drop(server)
    if isinstance(found, ForeignDataWrapper):
        catalog = catalog.drop(found)
    context.transaction.set_catalog(catalog)


def _list_tables(catalog: Catalog, server: ForeignServer) -> list[Table]:
    return [each for each in catalog.tables() if each.foreign is not None and each.foreign.server == server.oid]


def find_foreign_object(catalog: Catalog, name: str, what: str) -> ForeignServer | ForeignDataWrapper:
    """Returns the server or wrapper of a name, by its kind in the grammar (FOREIGN_SERVER, FDW); 42704."""
    return require_server(catalog, name) if what == "FOREIGN_SERVER" else require_wrapper(catalog, name)


def rename_foreign_object(context: Context, name: str, new: str, what: str) -> Result:
    """ALTER SERVER or FOREIGN DATA WRAPPER … RENAME TO; 42704, 42501, 42710."""
    catalog = context.transaction.catalog
    found = find_foreign_object(catalog, name, what)
    check_owner(catalog, context.session.user, found)
    if isinstance(found, ForeignServer):
        if new in catalog.servers:
            raise SqlError.of("duplicate_object", f'server "{new}" already exists')
        context.transaction.set_catalog(catalog.drop(found).put(replace(found, name=new)))
        return Result("ALTER SERVER")
    if new in catalog.wrappers:
        raise SqlError.of("duplicate_object", f'foreign-data wrapper "{new}" already exists')
    if name in catalog.extensions:
        raise FeatureNotSupported("renaming the foreign-data wrapper of an extension is not supported")
    context.transaction.set_catalog(catalog.drop(found).put(replace(found, name=new)))
    return Result("ALTER FOREIGN DATA WRAPPER")


def comment_on_foreign_object(context: Context, name: str, text: str | None, what: str) -> Result:
    """COMMENT ON SERVER or FOREIGN DATA WRAPPER; 42704, 42501."""
    catalog = context.transaction.catalog
    found = find_foreign_object(catalog, name, what)
    check_owner(catalog, context.session.user, found)
    if isinstance(found, ForeignServer):
        context.transaction.set_catalog(catalog.put(replace(found, comment=text)))
    else:
        context.transaction.set_catalog(catalog.put(replace(found, comment=text)))
    return Result("COMMENT")
