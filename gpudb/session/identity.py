"""Who a session acts as, and in which schemas it looks names up."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres.deparse import split_names
from gpudb.catalog.roles import Role
from gpudb.session.settings.catalog import SettingValues
from gpudb.session.state.role_names import RoleName, find_current_name
from gpudb.session.transactions import Transactions

NO_ROLE = "none"
"""The value of the setting `role` while the current role is the session user."""

MayUseSchema = Callable[[Catalog, "Identity", str], bool]


class Identity:
    """The roles of a session, and its search path.

    `authenticated` is the role that logged in. `definer` is the owner of the SECURITY DEFINER routine that runs now: it
    is the current role meanwhile. `acting_role` is the current role of the last statement. `temporary_schema` is the
    schema of the session's temporary relations. `may_use_schema` says whether the current role may use a schema.
    """

    def __init__(
        self,
        role: Role,
        settings: SettingValues,
        transactions: Transactions,
        process_id: int,
        may_use_schema: MayUseSchema,
    ) -> None:
        self.authenticated = RoleName.of(role)
        self.definer: str | None = None
        self.temporary_schema = f"pg_temp_{process_id}"
        settings.force("session_authorization", self.authenticated)
        settings.force("is_superuser", "on" if role.superuser else "off")
        self.acting_role = self._session_user = settings["session_authorization"]
        self._settings, self._transactions, self._may_use_schema = settings, transactions, may_use_schema
        self._versions = (-1, -1)
        self._search_path: tuple[tuple[object, ...], tuple[str, ...]] = (), ()

    @property
    def user(self) -> str:
        """The current role, whose privileges the session has, and which owns what the session creates."""
        if self.definer:
            return self.definer
        self._update()
        return self.acting_role

    @property
    def session_user(self) -> str:
        """The session user, which SET SESSION AUTHORIZATION changes and SET ROLE does not."""
        self._update()
        return self._session_user

    def _update(self) -> None:
        """Looks the roles up again if settings or catalog have changed: one may have been renamed or dropped."""
        catalog = self._transactions.catalog
        versions = self._settings.version, catalog.version
        if self._versions == versions:
            return
        role = self._settings["role"]
        self._session_user = find_current_name(catalog, self._settings["session_authorization"])
        self.acting_role = self._session_user if role == NO_ROLE else find_current_name(catalog, role)
        self._versions = versions

    def search_path(self) -> tuple[str, ...]:
        """The schemas that resolve unqualified names; the session's temporary schema first unless the path names it."""
        self._update()
        key = self._versions, self.definer
        if self._search_path[0] != key:
            names = []
            for name in split_names(self._settings["search_path"]):
                names.append({"$user": self.user, "pg_temp": self.temporary_schema}.get(name, name))
            if self.temporary_schema not in names:
                names.insert(0, self.temporary_schema)
            # As in PostgreSQL, a schema that the role may not use is passed over
            catalog = self._transactions.catalog
            self._search_path = key, tuple(name for name in names if self._may_use_schema(catalog, self, name))
        return self._search_path[1]
