"""Foreign data: wrappers, servers and user mappings, and PostgreSQL's lists of options `name=value`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.values.acl import Acl

Options = tuple[str, ...]
"""Options as pg_foreign_server.srvoptions has them: `name=value`, in the order in which they were given."""


@dataclass(frozen=True, slots=True)
class ForeignDataWrapper:
    """A wrapper; its `handler`, a function of an extension, decides how its tables are read. None reads nothing."""

    oid: int
    name: str
    owner: str
    handler: str | None = None
    validator: str | None = None
    options: Options = ()
    comment: str | None = None
    acl: Acl | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.wrappers`: the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class ForeignServer:
    """A server; `wrapper` is the OID of its wrapper."""

    oid: int
    name: str
    owner: str
    wrapper: int
    type: str | None = None
    version: str | None = None
    options: Options = ()
    comment: str | None = None
    acl: Acl | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.servers`: the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class UserMapping:
    """The options of a role for a server, both by OID; role 0 is PUBLIC."""

    oid: int
    server: int
    role: int
    options: Options = ()

    @property
    def key(self) -> str:
        """The name of the mapping in a catalog."""
        return make_mapping_key(self.server, self.role)


def make_mapping_key(server: int, role: int) -> str:
    """Returns the name of the mapping of a role for a server in a catalog."""
    return f"{server}/{role}"


def read_foreign_options(options: Options) -> Mapping[str, str]:
    """Returns options by name."""
    return {name: value for name, _, value in (each.partition("=") for each in options)}
