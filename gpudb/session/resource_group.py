"""The resource group of a session: its transactions have a place in it from their first statement to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gpudb.catalog.model import Catalog
from gpudb.catalog.resource_groups import ResourceGroup, find_group, list_groups
from gpudb.engine.protocol import Cancel
from gpudb.engine.resource_groups import GroupPlaces
from gpudb.session.state.role_names import RoleName, find_current_name
from gpudb.storage.store import Store

if TYPE_CHECKING:
    from gpudb.engine.cpu.engine import CpuEngine

_FREE = frozenset(
    """ClosePortalStmt DeallocateStmt DiscardStmt ListenStmt PrepareStmt TransactionStmt UnlistenStmt VariableSetStmt
    VariableShowStmt""".split()
)
"""Kinds of statements that compute nothing, and end what holds a place: they never wait."""


class GroupHost(Protocol):
    """What the membership of a session in its group uses of the database."""

    store: Store
    cpu: CpuEngine
    group_places: GroupPlaces


class SessionGroup:
    """The group of the role that logged in, which SET ROLE does not change.

    `current` is the group in which the open transaction has a place, as it was when that began; None without a place.
    `of_engines` is the group if it limits what engines give to the transaction's queries.
    """

    def __init__(self, host: GroupHost, database: str, role: RoleName) -> None:
        self.current: ResourceGroup | None = None
        self.of_engines: ResourceGroup | None = None
        self._host, self._database, self._role = host, database, role
        self._found: tuple[object, object, ResourceGroup] | None = None

    def find(self) -> ResourceGroup:
        """Returns the group by the committed catalog."""
        catalog: Catalog = self._host.store.catalog(self._database)
        known = self._found
        if known is not None and known[0] is catalog.roles and known[1] is catalog.resource_groups:
            return known[2]
        if known is None or known[1] is not catalog.resource_groups:
            self._host.cpu.keep_groups(list_groups(catalog.resource_groups))
        role = catalog.roles.get(find_current_name(catalog, self._role))
        group = find_group(catalog.resource_groups, role)
        self._found = catalog.roles, catalog.resource_groups, group
        self.of_engines = group if group.has_memory else None
        return group

    def enter(self, kind: str, cancel: Cancel) -> ResourceGroup:
        """Returns the group in which a statement of a kind runs, once its transaction has a place; 57014."""
        if self.current is None and kind not in _FREE:
            self.current = self._host.group_places.enter(self.find(), self.find, cancel)
            if self.of_engines is not None:
                self._host.cpu.open_group(self.of_engines)  # which takes longer than many statements
        return self.current or self.find()

    def leave(self) -> None:
        """Ends the transaction's place, if it has one."""
        left, self.current = self.current, None
        if left is not None:
            self._host.group_places.leave(left)
