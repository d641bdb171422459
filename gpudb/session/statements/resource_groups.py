"""CREATE, ALTER and DROP RESOURCE GROUP: superusers define limits that the roles of a group share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gpudb.catalog.model import Catalog
from gpudb.catalog.resource_groups import PREDEFINED, ResourceGroup, list_groups
from gpudb.errors import SqlError, UndefinedObject
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.context import Context
from gpudb.session.results import Result

_SIZES = {"": 1, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_LEAST_MEMORY = 32 << 20
_MOST_SHARE = 0.75
"""The share of the memory that all groups together may have: the rest is for statements of groups without their own."""
_MOST_CONCURRENCY = 1_000_000
_NONE = {"none", "-1"}


def change_resource_group(context: Context) -> Result:
    """CREATE RESOURCE GROUP name [WITH (option = value, …)] | ALTER … SET (…) | DROP …"""
    definition = context.statement.group_statement
    assert definition is not None
    command = f"{definition.verb.upper()} RESOURCE GROUP"
    context.check_writable(command)
    catalog = context.transaction.catalog
    if not is_superuser(catalog, context.session.user):
        raise SqlError.of("insufficient_privilege", f"must be superuser to {definition.verb} resource groups")
    known = list_groups(catalog.resource_groups).get(definition.name)
    if definition.verb == "create":
        if known is not None:
            if not definition.lenient:
                raise SqlError.of("duplicate_object", f'resource group "{definition.name}" already exists')
            context.notice(f'resource group "{definition.name}" already exists, skipping')
            return Result(command)
        if definition.name == "none":
            raise SqlError.of("reserved_name", 'resource group name "none" is reserved')
        oid, catalog = catalog.allocate_oid()
        known = ResourceGroup(oid, definition.name)
    elif known is None:
        if not definition.lenient:
            raise UndefinedObject(f'resource group "{definition.name}" does not exist')
        context.notice(f'resource group "{definition.name}" does not exist, skipping')
        return Result(command)
    if definition.verb == "drop":
        _check_unused(catalog, known)
        context.transaction.set_catalog(catalog.drop(known))
    else:
        changed = _with_options(known, dict(definition.options))
        _check_sum(context, catalog, changed)
        context.transaction.set_catalog(catalog.put(changed))
    return Result(command)


def _check_unused(catalog: Catalog, group: ResourceGroup) -> None:
    if group.name in PREDEFINED:
        message = f"cannot drop resource group {group.name} because it is required by the database system"
        raise SqlError.of("dependent_objects_still_exist", message)
    users = sorted(role.name for role in catalog.roles.values() if role.resource_group == group.name)
    if users:
        raise SqlError.of(
            "dependent_objects_still_exist",
            f'cannot drop resource group "{group.name}" because roles belong to it',
            detail="\n".join(f"role {name}" for name in users),
            hint="ALTER ROLE … RESOURCE GROUP gives a role another group.",
        )


def _check_sum(context: Context, catalog: Catalog, changed: ResourceGroup) -> None:
    """22023 if the groups would have more memory than leaves enough to the others."""
    total = context.session.database.cpu.memory_limit
    groups = {**list_groups(catalog.resource_groups), changed.name: changed}
    taken = sum(each.count_bytes(total) or 0 for each in groups.values())
    if changed.has_memory and taken > _MOST_SHARE * total:
        message = f"resource groups would have {taken >> 20} MB of memory, more than {_MOST_SHARE:.0%} of the server's"
        raise SqlError.of("invalid_parameter_value", message, detail=f"The server's limit is {total >> 20} MB.")
    if changed.has_memory and (changed.count_bytes(total) or 0) < _LEAST_MEMORY:
        raise _invalid("memory", f"it is less than {_LEAST_MEMORY >> 20} MB")


def _with_options(group: ResourceGroup, options: Mapping[str, str]) -> ResourceGroup:
    if unknown := options.keys() - _OPTIONS.keys():
        message = f'unrecognized option "{min(unknown)}" of a resource group'
        raise SqlError.of("invalid_parameter_value", message, hint=f"Options are {', '.join(sorted(_OPTIONS))}.")
    changed: dict[str, object] = {}
    for name, text in options.items():
        if name == "memory":
            changed |= {"memory": None, "memory_share": None}
        if text.lower() in _NONE:
            changed[name] = None
        else:
            field, value = _OPTIONS[name](name, text)
            changed[field] = value
    group = replace(group, **changed)  # type: ignore[arg-type]
    for name in ("temporary_space", "workers"):
        if getattr(group, name) is not None and not group.has_memory:
            hint = "A group has temporary files and threads of its own with a memory of its own."
            raise SqlError.of("invalid_parameter_value", f"{name} of a resource group needs memory", hint=hint)
    return group


def _invalid(name: str, why: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", f'invalid value for option "{name}" of a resource group: {why}')


def _read_number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _invalid(name, f'"{text}" is no number')
    return number


def _read_count(name: str, text: str) -> tuple[str, object]:
    number = _read_number(name, text)
    if not number.is_integer() or not 1 <= number <= _MOST_CONCURRENCY:
        raise _invalid(name, f"it is not within 1 .. {_MOST_CONCURRENCY}")
    return name, int(number)


def _read_seconds(name: str, text: str) -> tuple[str, object]:
    number = _read_number(name, text)
    if not 0.001 <= number <= 2_000_000:
        raise _invalid(name, "it is not within 0.001 .. 2000000")
    return name, number


def _read_share(name: str, text: str) -> tuple[str, object]:
    number = _read_number(name, text[:-1]) / 100 if text.endswith("%") else _read_number(name, text)
    if not 0 < number <= 1:
        raise _invalid(name, "a share is more than 0 and at most 1")
    return name, number


def _read_size(name: str, text: str) -> tuple[str, object]:
    found = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2] not in _SIZES:
        raise _invalid(name, f'"{text}" is no size, such as 512MB or 2GB')
    size = int(found[1]) * _SIZES[found[2]]
    if not 1 << 20 <= size < 1 << 60:
        raise _invalid(name, "it is less than 1 MB, or too large")
    return name, size


def _read_memory(name: str, text: str) -> tuple[str, object]:
    if re.fullmatch(r"\s*\d+\s*[A-Za-z]+\s*", text):
        return _read_size(name, text)
    return "memory_share", _read_share(name, text)[1]


_OPTIONS: Mapping[str, Callable[[str, str], tuple[str, object]]] = {
    "concurrency": _read_count,
    "memory": _read_memory,
    "temporary_space": _read_size,
    "statement_seconds": _read_seconds,
    "workers": _read_share,
}
"""How each option is read: the field of `ResourceGroup` that it sets, and the value."""
