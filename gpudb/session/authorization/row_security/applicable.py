"""Whether policies apply to a role that reads or changes a table, and which: PostgreSQL's check_enable_rls and
get_policies_for_relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudb.catalog.model import Catalog
from gpudb.catalog.policies import PUBLIC, Policy
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.authorization.privileges import is_owner


def has_row_security(catalog: Catalog, role: str, table: Table) -> bool:
    """Whether policies restrict what a role sees and writes of a table."""
    if not table.row_security:
        return False
    known = catalog.roles.get(role)
    if known is not None and (known.superuser or known.bypassrls):
        return False
    return table.forces_row_security or not is_owner(catalog, role, table)


def make_filtered_error(catalog: Catalog, role: str, table: Table) -> SqlError:
    """Returns 42501 for a table whose rows would be restricted while row_security is off."""
    hint = None
    if is_owner(catalog, role, table):
        hint = "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY."
    message = f'query would be affected by row-level security policy for table "{table.name}"'
    return SqlError.of("insufficient_privilege", message, hint=hint)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: one of `texts` holds. `policy` is the name of the restrictive policy that it is of."""

    texts: tuple[str, ...]
    policy: str | None = None


def list_policies(catalog: Catalog, role: str, table: Table, command: str) -> list[Policy]:
    """Returns the policies of a table that apply to a command of a role, by name."""
    return [
        each
        for each in sorted(table.policies, key=lambda policy: policy.name)
        if each.is_for(command) and _is_for_role(catalog, role, each)
    ]


def _is_for_role(catalog: Catalog, role: str, policy: Policy) -> bool:
    if PUBLIC in policy.roles:
        return True
    names = (each.name for each in catalog.roles.values() if each.oid in policy.roles)
    return any(has_privileges_of(catalog, role, name) for name in names)


def list_using(policies: Sequence[Policy]) -> list[Condition]:
    """Returns the conditions of which each must hold for a row to be seen: the restrictive ones, then any permissive
    one of the last.
    """
    restrictive = [
        Condition((each.using,), each.name) for each in policies if not each.permissive and each.using is not None
    ]
    return [*restrictive, _join_permissive(policies, using=True)]


def list_checks(policies: Sequence[Policy], *, using: bool) -> list[Condition]:
    """Returns the conditions of which each must hold for a row to be written: WITH CHECK, or USING in its place.

    With `using` they are those of USING alone.
    """
    restrictive = []
    for each in policies:
        text = _get_check(each, using=using)
        if not each.permissive and text is not None:
            restrictive.append(Condition((text,), each.name))
    return [_join_permissive(policies, using=using), *restrictive]


def _join_permissive(policies: Sequence[Policy], *, using: bool) -> Condition:
    """Returns the condition that one of the permissive policies holds; none of them without any."""
    found = (_get_check(each, using=using) for each in policies if each.permissive)
    return Condition(tuple(text for text in found if text is not None))


def _get_check(policy: Policy, *, using: bool) -> str | None:
    return policy.using if using or policy.check is None else policy.check
