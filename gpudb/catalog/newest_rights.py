"""The rights of a later catalog in an earlier one: a transaction reads its snapshot by the privileges of now.

Rights are the roles, their memberships and default privileges, each object's owner and access control lists, and the
policies of tables. As in PostgreSQL, what others committed of them holds at once; all else is as the snapshot has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import View
from gpudb.catalog.tables import Table

_WHOLE = ("roles", "memberships", "default_acls")
_SECURED = (
    "relations",
    "schemas",
    "routines",
    "types",
    "wrappers",
    "servers",
    "languages",
    "databases",
    "large_objects",
)
_MISSING = object()


def take_rights(base: Catalog, own: Catalog, newest: Catalog) -> tuple[Catalog, Catalog]:
    """Returns `base` and `own`, which is derived from it, with the rights of `newest`; themselves without a difference.

    What `own` has changed of rights stays as it is in both, so that its commit still finds the conflict.
    """
    bases: dict[str, Any] = {}
    owns: dict[str, Any] = {}
    for kind in _WHOLE:
        _take_whole(kind, (base, own, newest), bases, owns)
    for kind in _SECURED:
        _take_parts(kind, (base, own, newest), bases, owns)
    changed = replace(base, **bases) if bases else base
    if own is base:
        return changed, changed
    return changed, replace(own, **owns) if owns else own


def _take_whole(
    kind: str, catalogs: tuple[Catalog, Catalog, Catalog], bases: dict[str, Any], owns: dict[str, Any]
) -> None:
    """Takes objects that are rights as a whole: those that the transaction has not changed."""
    before, after, now = (getattr(each, kind) for each in catalogs)
    if before is now or before == now:
        return
    kept = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    if kept and kind == "memberships":
        return  # grants of both may form a circle, which the commit finds
    bases[kind] = _merge(now, before, kept)
    owns[kind] = _merge(now, after, kept)


def _merge(now: Mapping[str, object], then: Mapping[str, object], kept: Iterable[str]) -> Mapping[str, object]:
    merged = dict(now)
    for key in kept:
        value = then.get(key, _MISSING)
        if value is _MISSING:
            merged.pop(key, None)
        else:
            merged[key] = value
    return MappingProxyType(merged)


def _take_parts(
    kind: str, catalogs: tuple[Catalog, Catalog, Catalog], bases: dict[str, Any], owns: dict[str, Any]
) -> None:
    """Takes the owners and lists of objects, found by OID, that the transaction has not changed."""
    before, after, now = (getattr(each, kind) for each in catalogs)
    if before is now:
        return
    newest = {each.oid: each for each in now.values()}
    changed = {}
    for key, old in before.items():
        new = newest.get(old.oid)
        if new is None or new is old or (rights := _get_rights(new)) == _get_rights(old):
            continue
        changed[key] = (old, _with_rights(old, new), rights)
    if not changed:
        return
    by_oid = {old.oid: (old, made, rights) for old, made, rights in changed.values()}
    taken, own = dict(before), dict(after)
    for key, held in after.items():
        old, made, _ = by_oid.get(held.oid, (None, None, None))
        if old is not None and _get_rights(held) == _get_rights(old):
            own[key] = made if held is old else _with_rights(held, made)
            del by_oid[held.oid]
    for key, (old, made, _) in changed.items():
        if old.oid not in by_oid:
            taken[key] = made
    bases[kind], owns[kind] = MappingProxyType(taken), MappingProxyType(own)


def _get_rights(found: Any) -> tuple[object, ...]:
    columns = found.columns if isinstance(found, Table | View) else ()
    own = (found.row_security, found.forces_row_security, found.policies) if isinstance(found, Table) else ()
    return found.owner, found.acl, tuple((each.name, each.acl) for each in columns if each.acl is not None), own


def _with_rights(old: Any, new: Any) -> Any:
    """Returns an object with the rights of a newer state; that state itself if nothing else differs."""
    made = replace(old, owner=new.owner, acl=new.acl)
    if isinstance(old, Table | View):
        acls = {each.name: each.acl for each in new.columns}
        columns = tuple(replace(each, acl=acls.get(each.name, each.acl)) for each in old.columns)
        made = replace(made, columns=columns)
    if isinstance(made, Table):
        made = replace(
            made,
            row_security=new.row_security,
            forces_row_security=new.forces_row_security,
            policies=new.policies,
        )
    return new if made == new else made
