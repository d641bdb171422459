"""The object storage of an address: a foreign server of lake_fdw with a role's user mapping, or the environment."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from gpudb.catalog.foreign import ForeignServer, make_mapping_key, read_foreign_options
from gpudb.catalog.wrappers import find_by_handler
from gpudb.errors import SqlError, UndefinedObject
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.authorization.privileges import check_privilege
from gpudb.session.context import Context
from gpudb.storage.object_stores.addresses import Address
from gpudb.storage.object_stores.options import StoreOptions, read_environment
from gpudb.storage.object_stores.store import ObjectStore

WRAPPER = "lake_fdw"
_SCOPE = "s3://"
_READERS = "pg_read_server_files"
_TRUE = frozenset({"true", "on", "yes", "1"})


def find_store(context: Context, address: Address, role: str, name: str | None = None) -> ObjectStore:
    """Returns the storage of an address for a role: by the server of a name, else by the one with the longest scope.

    Without such a server the environment of the process has the credentials. 42501 for a role without USAGE on the
    server, 42704 without a user mapping, and for a name that is no server's.
    """
    server = find_server(context, str(address), role, name)
    if server is None:
        return ObjectStore(address.scheme, read_environment(address.scheme))
    check_privilege(context.transaction.catalog, role, server, "U")
    return open_server_store(context, address, role, server)


def find_server(context: Context, address: str, role: str, name: str | None) -> ForeignServer | None:
    """Returns the server of a name, or the one with the longest scope that an address begins with; 42704 for a name."""
    return _find_named(context, name) if name is not None else _find_by_scope(context, address, role)


def open_server_store(context: Context, address: Address, role: str, server: ForeignServer) -> ObjectStore:
    """Returns the storage of an address by a server; 42704 if its options need a user mapping, which is missing."""
    catalog = context.transaction.catalog
    mappings, oid = catalog.user_mappings, catalog.roles[role].oid
    mapping = mappings.get(make_mapping_key(server.oid, oid)) or mappings.get(make_mapping_key(server.oid, 0))
    given = read_foreign_options(server.options)
    if mapping is None and given.get("anonymous", "").lower() not in _TRUE:
        if not given:
            return ObjectStore(address.scheme, read_environment(address.scheme))
        raise UndefinedObject(f'user mapping not found for user "{role}", server "{server.name}"')
    own = {} if mapping is None else read_foreign_options(mapping.options)
    return ObjectStore(address.scheme, make_options(server.name, given, own))


def _find_named(context: Context, name: str) -> ForeignServer:
    server = context.transaction.catalog.servers.get(name)
    if server is None or not _is_lake(context, server):
        raise UndefinedObject(f'server "{name}" of {WRAPPER} does not exist')
    return server


def _find_by_scope(context: Context, address: str, role: str) -> ForeignServer | None:
    """The server whose scope is the longest part of an address; of several the first by name.

    Those of owners who may not read files count for themselves alone: they would lead others to their own storage.
    """
    best: tuple[int, str, ForeignServer] | None = None
    catalog = context.transaction.catalog
    for server in catalog.servers.values():
        scope = read_foreign_options(server.options).get("scope", _SCOPE)
        trusted = server.owner == role or has_privileges_of(catalog, server.owner, _READERS)
        if server.options and address.startswith(scope) and trusted and _is_lake(context, server):
            found = (-len(scope), server.name, server)
            best = found if best is None else min(best, found, key=lambda each: each[:2])
    return None if best is None else best[2]


def _is_lake(context: Context, server: ForeignServer) -> bool:
    wrapper = context.transaction.catalog.find_wrapper(server.wrapper)
    known = None if wrapper is None else find_by_handler(wrapper.handler)
    return known is not None and known.name == WRAPPER


def make_options(server: str, given: Mapping[str, str], own: Mapping[str, str]) -> StoreOptions:
    """Returns the options of a storage from those of a server and of a user mapping; HV024 for a wrong value."""
    if "endpoint" in given:
        _check_endpoint(given["endpoint"])
    default = StoreOptions()
    return StoreOptions(
        endpoint=given.get("endpoint"),
        region=given.get("region"),
        anonymous=given.get("anonymous", "").lower() in _TRUE,
        connect_seconds=_read_number(given, "connect_timeout", default.connect_seconds),
        request_seconds=_read_number(given, "request_timeout", default.request_seconds),
        attempts=int(_read_number(given, "attempts", default.attempts)),
        account=own.get("account_name") or given.get("account_name"),
        server=server,
        key_id=own.get("access_key_id"),
        secret=own.get("secret_access_key") or own.get("account_key"),
        token=own.get("session_token") or own.get("sas_token") or own.get("access_token"),
    )


def _check_endpoint(text: str) -> None:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc or parts.path not in ("", "/"):
        message = f'invalid value for option "endpoint": "{"…" if "@" in text else text}"'
        raise SqlError.of("fdw_invalid_attribute_value", message, hint="It is http://host:port or https://host:port.")


def _read_number(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= 3600:
        message = f'invalid value for option "{name}": "{text}"'
        raise SqlError.of("fdw_invalid_attribute_value", message)
    return number
