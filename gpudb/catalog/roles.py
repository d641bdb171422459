"""Roles, their memberships, and the default privileges that they set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudb.catalog.user_types import quote_names
from gpudb.values.acl import Acl


@dataclass(frozen=True, slots=True)
class Role:
    """A role. `verifier` is its SCRAM-SHA-256 secret in PostgreSQL's text form, None without a password.

    `inherit` is what a later GRANT to the role takes for its INHERIT option if it names none.

    The password is valid until `valid_until`, in microseconds since 1970 UTC, or always. Of a role without superuser
    `connection_limit` sessions may be open, any number if it is negative.

    Its statements share the limits of the resource group `resource_group`; without one, of a predefined group.

    Its sessions begin with `settings`, and over them with the `Database.role_settings` of their database.
    """

    oid: int
    name: str
    superuser: bool = False
    login: bool = True
    createdb: bool = False
    createrole: bool = False
    verifier: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    inherit: bool = True
    replication: bool = False
    bypassrls: bool = False
    comment: str | None = None
    connection_limit: int = -1
    valid_until: int | None = None
    resource_group: str | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.roles`: the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Membership:
    """The grant of `role` to `member` by `grantor`, all of them names of roles; a row of pg_auth_members.

    The member may grant the role to others with `admin`, has the role's privileges without SET ROLE with `inherit`,
    and may SET ROLE to it with `set`.
    """

    oid: int
    role: str
    member: str
    grantor: str
    admin: bool = False
    inherit: bool = True
    set: bool = True

    @property
    def key(self) -> str:
        """The key in `Catalog.memberships`: the quoted names of role, member and grantor."""
        return quote_names(self.role, self.member, self.grantor)


@dataclass(frozen=True, slots=True)
class DefaultAcl:
    """The list of objects that `role` creates later: a row of pg_default_acl.

    `kind` is r (tables and views), S (sequences), f (routines), T (types) or n (schemas). With a `schema`, the list
    adds to the default one; without, it replaces it.
    """

    oid: int
    role: str
    kind: str
    schema: str = ""
    acl: Acl = ()

    @property
    def key(self) -> str:
        """The key in `Catalog.default_acls`."""
        return quote_names(self.role, self.schema, self.kind)
