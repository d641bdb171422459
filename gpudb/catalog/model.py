"""The catalog as one immutable value: statements bind against it, transactions derive the next one from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from gpudb.catalog.copies import copy_with
from gpudb.catalog.documents import Document
from gpudb.catalog.extensions import Extension
from gpudb.catalog.foreign import ForeignDataWrapper, ForeignServer, UserMapping
from gpudb.catalog.languages import Language
from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.relations import Relation, Sequence, View
from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.catalog.roles import DefaultAcl, Membership, Role
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.catalog.user_types import TypeDefinition, make_type_key
from gpudb.types import SqlType
from gpudb.values.acl import Acl

FIRST_USER_OID = 16384
BOOTSTRAP_ROLE_OID = 10
FIRST_DATABASE = "gpudb"
"""The database in which sessions are that name none, and which cannot be dropped."""
SHARED_KINDS = frozenset({"roles", "memberships", "databases", "nodes", "resource_groups"})
"""The mappings of a catalog that all databases share."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A namespace of relations."""

    oid: int
    name: str
    owner: str
    comment: str | None = None
    acl: Acl | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.schemas`: the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Database:
    """What is known of a database beside its objects.

    `settings` are those with which sessions in it begin, `role_settings` those of a role's sessions in it, by the
    role's OID as text; `all_settings`, of the database gpudb alone, those of sessions in every database. No more than
    `connection_limit` sessions are in it at once, -1 for any number. It began as a copy of the database `template`.
    """

    name: str
    acl: Acl | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    all_settings: Mapping[str, str] = field(default_factory=dict)
    role_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    oid: int = 5
    owner: str = "gpudb"
    connection_limit: int = -1
    allows_connections: bool = True
    is_template: bool = False
    comment: str | None = None
    template: str = "template1"

    @property
    def key(self) -> str:
        """The key in `Catalog.databases`: the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Node:
    """A name from CREATE NODE for a member of the cluster: a `datanode` is worker `worker`, a `coordinator` a server.

    `host` and `port` are kept as declared.
    """

    oid: int
    name: str
    type: str
    worker: int = 0
    host: str | None = None
    port: int | None = None
    primary: bool = False
    preferred: bool = False

    @property
    def key(self) -> str:
        """The key in `Catalog.nodes`: the name."""
        return self.name


CatalogObject = (
    Relation
    | Schema
    | Role
    | TypeDefinition
    | Routine
    | Node
    | Extension
    | Language
    | ForeignDataWrapper
    | ForeignServer
    | UserMapping
    | Membership
    | Database
    | DefaultAcl
    | ResourceGroup
    | Document
    | LargeObject
)
Item = TypeVar("Item", bound=CatalogObject)

COLLECTIONS: Mapping[type[object], str] = {
    Table: "relations",
    View: "relations",
    Sequence: "relations",
    Schema: "schemas",
    Role: "roles",
    TypeDefinition: "types",
    Routine: "routines",
    Node: "nodes",
    Extension: "extensions",
    Language: "languages",
    ForeignDataWrapper: "wrappers",
    ForeignServer: "servers",
    UserMapping: "user_mappings",
    Membership: "memberships",
    Database: "databases",
    DefaultAcl: "default_acls",
    ResourceGroup: "resource_groups",
    Document: "documents",
    LargeObject: "large_objects",
}
"""The mapping of a catalog in which an object is, under its `key`, by the object's class."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All objects of the database `database` at one moment, and those that all databases share (`SHARED_KINDS`).

    Equal `version`s mean equal definitions (not files), uncommitted ones included; later versions are larger.
    `snapshots` are the kept snapshots of tables by OID, oldest first; the last is the committed state. `oids` draws
    OIDs for all transactions of a store; without a store the catalog counts itself.
    """

    version: int
    next_oid: int
    schemas: Mapping[str, Schema]
    relations: Mapping[tuple[str, str], Relation]
    roles: Mapping[str, Role]
    types: Mapping[str, TypeDefinition] = field(default_factory=lambda: MappingProxyType({}))
    routines: Mapping[str, Routine] = field(default_factory=lambda: MappingProxyType({}))
    nodes: Mapping[str, Node] = field(default_factory=lambda: MappingProxyType({}))
    extensions: Mapping[str, Extension] = field(default_factory=lambda: MappingProxyType({}))
    languages: Mapping[str, Language] = field(default_factory=lambda: MappingProxyType({}))
    wrappers: Mapping[str, ForeignDataWrapper] = field(default_factory=lambda: MappingProxyType({}))
    servers: Mapping[str, ForeignServer] = field(default_factory=lambda: MappingProxyType({}))
    user_mappings: Mapping[str, UserMapping] = field(default_factory=lambda: MappingProxyType({}))
    memberships: Mapping[str, Membership] = field(default_factory=lambda: MappingProxyType({}))
    databases: Mapping[str, Database] = field(default_factory=lambda: MappingProxyType({}))
    default_acls: Mapping[str, DefaultAcl] = field(default_factory=lambda: MappingProxyType({}))
    resource_groups: Mapping[str, ResourceGroup] = field(default_factory=lambda: MappingProxyType({}))
    documents: Mapping[str, Document] = field(default_factory=lambda: MappingProxyType({}))
    large_objects: Mapping[str, LargeObject] = field(default_factory=lambda: MappingProxyType({}))
    database: str = FIRST_DATABASE
    snapshots: Mapping[int, tuple[TableSnapshot, ...]] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, repr=False
    )
    oids: Callable[[], int] | None = field(default=None, compare=False, repr=False)

    def relation(self, schema: str, name: str) -> Relation | None:
        """Returns the relation with a schema and name."""
        return self.relations.get((schema, name))

    def find(self, name: str, search_path: tuple[str, ...]) -> Relation | None:
        """Returns the first relation with a name on the search path."""
        for schema in search_path:
            if (relation := self.relations.get((schema, name))) is not None:
                return relation
        return None

    def find_relation_by_oid(self, oid: int) -> Relation | None:
        """Returns the relation with an OID."""
        return next((relation for relation in self.relations.values() if relation.oid == oid), None)

    def tables(self) -> Iterator[Table]:
        """All tables."""
        return (relation for relation in self.relations.values() if isinstance(relation, Table))

    def sequences(self) -> Iterator[Sequence]:
        """All sequences."""
        return (relation for relation in self.relations.values() if isinstance(relation, Sequence))

    def put(self, item: CatalogObject) -> Catalog:
        """Returns a catalog with an object added, or replaced if its collection has its key."""
        kind = COLLECTIONS[type(item)]
        return self._replace(kind, {**getattr(self, kind), item.key: item})

    def drop(self, item: CatalogObject) -> Catalog:
        """Returns a catalog without the object that has an object's key; what it contains or owns stays."""
        kind = COLLECTIONS[type(item)]
        return self._replace(kind, {key: kept for key, kept in getattr(self, kind).items() if key != item.key})

    def current(self, item: Item) -> Item:
        """Returns the object that has an object's key in this catalog."""
        found: Item = getattr(self, COLLECTIONS[type(item)])[item.key]
        return found

    def _replace(self, kind: str, items: dict[Any, CatalogObject]) -> Catalog:
        collection: Any = MappingProxyType(items)
        return copy_with(self, **{kind: collection})

    def find_type(self, name: str, search_path: tuple[str, ...]) -> TypeDefinition | None:
        """Returns the first user-defined type with a name on the search path."""
        for schema in search_path if self.types else ():
            if (definition := self.types.get(make_type_key(schema, name))) is not None:
                return definition
        return None

    def type_by_oid(self, oid: int) -> SqlType | None:
        """Returns the user-defined type with an OID, or the type of its arrays; for a domain its declared base type."""
        for definition in self.types.values():
            if definition.oid == oid:
                return definition.type
            if definition.user.array_oid == oid:
                return definition.type.array
        return None

    def find_routines(self, name: str, search_path: tuple[str, ...]) -> tuple[Routine, ...]:
        """Returns the routines with a name on the search path; of those with the same argument types only the first."""
        routines: dict[tuple[SqlType, ...], Routine] = {}
        for schema in search_path if self.routines else ():
            for routine in self.routines.values():
                if routine.schema == schema and routine.name == name:
                    routines.setdefault(tuple(argument.type for argument in routine.inputs), routine)
        return tuple(routines.values())

    def find_routine_by_oid(self, oid: int) -> Routine | None:
        """Returns the routine with an OID."""
        return next((routine for routine in self.routines.values() if routine.oid == oid), None)

    def find_server(self, oid: int) -> ForeignServer | None:
        """Returns the foreign server with an OID."""
        return next((each for each in self.servers.values() if each.oid == oid), None)

    def find_wrapper(self, oid: int) -> ForeignDataWrapper | None:
        """Returns the foreign-data wrapper with an OID."""
        return next((each for each in self.wrappers.values() if each.oid == oid), None)

    def allocate_oid(self) -> tuple[int, Catalog]:
        """Returns a new OID, and the catalog in which it is taken."""
        oid = self.next_oid if self.oids is None else self.oids()
        return oid, replace(self, next_oid=max(self.next_oid, oid + 1))

    def changed(self) -> Catalog:
        """Returns this catalog under a new version, which invalidates plans and the rows of pg_catalog."""
        return replace(self, version=self.version + 1)


_BOOTSTRAP_ROLE = Role(
    BOOTSTRAP_ROLE_OID, "gpudb", superuser=True, createdb=True, createrole=True, replication=True, bypassrls=True
)


_FIRST_DATABASES = (
    Database(FIRST_DATABASE),
    Database("postgres", oid=13),
    Database("template1", oid=1, is_template=True),
    Database("template0", oid=4, is_template=True, allows_connections=False),
)


def with_predefined_databases(catalog: Catalog) -> Catalog:
    """Returns a catalog with the databases that there are from the beginning; those that it lacks are added."""
    added = {each.name: each for each in _FIRST_DATABASES if each.name not in catalog.databases}
    if not added:
        return catalog
    return replace(catalog, databases=MappingProxyType({**catalog.databases, **added}))


def make_initial_catalog() -> Catalog:
    """Returns the catalog of a new database: schema public, and the superuser gpudb without a password.

    Storage adds the predefined roles (`catalog.predefined_roles`).
    """
    return Catalog(
        version=1,
        next_oid=FIRST_USER_OID,
        schemas=MappingProxyType({"public": Schema(2200, "public", "gpudb")}),
        relations=MappingProxyType({}),
        roles=MappingProxyType({"gpudb": _BOOTSTRAP_ROLE}),
        databases=MappingProxyType({each.name: each for each in _FIRST_DATABASES}),
    )
