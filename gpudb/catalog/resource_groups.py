"""Resource groups: limits that the statements of some roles share. They are of all databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.catalog.roles import Role

DEFAULT_GROUP, ADMIN_GROUP = "default_group", "admin_group"
"""The groups of roles that name none: of all others, and of superusers."""


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Limits of the statements of all roles of a group together; None for none.

    `concurrency` transactions run at once. A statement ends after `statement_seconds`. The group has a memory of its
    own on the embedded engine, of `memory` bytes or of the share `memory_share` of the engine's; with it may come
    `temporary_space`, bytes of temporary files, and `workers`, the share of the threads, and of the places for long
    statements on the workers.
    """

    oid: int
    name: str
    concurrency: int | None = None
    memory: int | None = None
    memory_share: float | None = None
    temporary_space: int | None = None
    statement_seconds: float | None = None
    workers: float | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.resource_groups`: the name."""
        return self.name

    @property
    def has_memory(self) -> bool:
        """Whether the group has a memory of its own."""
        return self.memory is not None or self.memory_share is not None

    def count_bytes(self, total: int) -> int | None:
        """Returns the group's memory in bytes on an engine that has `total`; None without a limit."""
        if self.memory_share is not None:
            return int(total * self.memory_share)
        return self.memory


PREDEFINED: Mapping[str, ResourceGroup] = {
    DEFAULT_GROUP: ResourceGroup(6437, DEFAULT_GROUP),
    ADMIN_GROUP: ResourceGroup(6438, ADMIN_GROUP),
}
"""The groups that always exist, as they are until ALTER RESOURCE GROUP changes them."""


def list_groups(defined: Mapping[str, ResourceGroup]) -> Mapping[str, ResourceGroup]:
    """Returns all groups by name, from those that a catalog holds."""
    return {**PREDEFINED, **defined}


def find_group(defined: Mapping[str, ResourceGroup], role: Role | None) -> ResourceGroup:
    """Returns the group of a role; that of a role which no longer exists is the default one."""
    own = ADMIN_GROUP if role is not None and role.superuser else DEFAULT_GROUP
    name = own if role is None or role.resource_group is None else role.resource_group
    # One that is dropped at the same moment leaves its roles in the default group, not without limits
    return defined.get(name) or PREDEFINED.get(name) or defined.get(DEFAULT_GROUP) or PREDEFINED[DEFAULT_GROUP]
