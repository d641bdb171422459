"""User-defined types, and the quoted names by which the catalog finds objects."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.catalog.tables import Check
from gpudb.types import SqlType, UserType
from gpudb.values.acl import Acl


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """A user-defined type. `type` is the type of its columns, with the fields of a composite.

    For a domain `type` is the base type with its modifier, and `default`, `not_null` and `checks` are the domain's;
    `parent` is the OID of the domain that it is based on, or 0.
    """

    oid: int
    schema: str
    name: str
    owner: str
    type: SqlType
    comment: str | None = None
    default: str | None = None
    not_null: bool = False
    checks: tuple[Check, ...] = ()
    parent: int = 0
    acl: Acl | None = None

    @property
    def user(self) -> UserType:
        """The type's name, kind and OIDs."""
        user = self.type.domain or self.type.user
        assert user is not None
        return user

    @property
    def key(self) -> str:
        """The key in `Catalog.types`."""
        return make_type_key(self.schema, self.name)


def make_type_key(schema: str, name: str) -> str:
    """Returns a type's key in `Catalog.types`: both names quoted, so that dots in names are not ambiguous."""
    return quote_names(schema, name)


def quote_names(*names: str) -> str:
    """Returns names as one text in which each is quoted, so that dots in names are not ambiguous."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
