"""The catalog as one immutable value: statements bind against it, transactions derive the next one from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NoReturn

from gpudb.errors import GpudbError
from gpudb.types import BOOL, INT8, SqlType, UserType
from gpudb.values.acl import Acl
from gpudb.values.acl import AclItem as AclItem  # records find the model's classes here by name

FIRST_USER_OID = 16384
BOOTSTRAP_ROLE_OID = 10


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or view. `field_id` is Iceberg's and stable over renames; `default` is SQL text.

    With `field_id` 0 storage assigns a new one. `initial` is the value of rows that were written before the column
    existed, as text that DuckDB casts to the stored type (`storage.iceberg.column_layout.initial_text`); None is NULL.
    `identity` is `a` (GENERATED ALWAYS AS IDENTITY), `d` (BY DEFAULT) or empty; the `default` then draws from the
    column's sequence. `generated` is the expression of a stored generated column. Texts name sequences by OID:
    `nextval('16390'::regclass)`. `acl` is the column's own list, which adds to that of its relation.
    """

    name: str
    type: SqlType
    not_null: bool = False
    default: str | None = None
    field_id: int = 0
    comment: str | None = None
    initial: str | None = None
    identity: str = ""
    generated: str | None = None
    acl: Acl | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """One immutable Parquet file of a table. Statistics are by field id; a missing one means unknown.

    `minimums` and `maximums` are bool, int, float, Decimal, str and bytes; dates are days and times of every kind
    microseconds (since 1970 in UTC, or since midnight) as int, uuids their canonical text. A float has a maximum only
    if no value is NaN. Strings compare by code point; long ones are truncated, so bounds need not be values. Struct
    columns with a field id above `last_field_id` were added after the file was written. `bucket` is the bucket of all
    its rows (`catalog.distribution`), None if they belong to several.
    """

    path: str
    rows: int
    bytes: int
    minimums: Mapping[int, object] = field(default_factory=dict, compare=False)
    maximums: Mapping[int, object] = field(default_factory=dict, compare=False)
    nulls: Mapping[int, int] = field(default_factory=dict, compare=False)
    last_field_id: int = field(default=0, compare=False)
    bucket: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """ANALYZE's statistics of the column with a field id: among `rows` rows, `nulls` NULLs and about `distinct` other
    values of `width` bytes on average. `distinct` is 0 for a type without equality.
    """

    field_id: int
    rows: int
    nulls: int
    distinct: int
    width: int

    def estimate_distinct(self, rows: int) -> float:
        """Returns the estimated number of distinct values in a table of `rows` rows: constant, or proportional to the
        rows if it was above a tenth of them, as in PostgreSQL.
        """
        return self.distinct * (rows / self.rows if self.distinct > self.rows / 10 else 1.0)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How rows are distributed over workers: `kind` is hash, replication or roundrobin; `columns` is hash's one
    column.
    """

    kind: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint of a table or a domain: `expression` is SQL text over the columns, or VALUE.

    `columns` are the table's columns that it names. If it is not `validated` (NOT VALID) it applies to new rows only.
    """

    oid: int
    name: str
    expression: str
    columns: tuple[str, ...] = ()
    validated: bool = True
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Unique:
    """A UNIQUE constraint, or a unique index (`index`): no two rows have the same `columns`.

    NULLs are distinct unless `nulls_distinct` is false.
    """

    oid: int
    name: str
    columns: tuple[str, ...]
    nulls_distinct: bool = True
    index: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """An index that is only declared; `method` and `options` (pg_index.indoption, one a column) are shown."""

    oid: int
    name: str
    columns: tuple[str, ...]
    method: str = "btree"
    options: tuple[int, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A FOREIGN KEY: each row without NULL in `columns` has a row in table `table` (an OID) with equal `referenced`.

    `on_delete` and `on_update` are pg_constraint's letters: a (no action), r (restrict), c (cascade), n (set null), d
    (set default); the last two set `delete_columns` on deletion, if there are any. With `match_full` either all columns
    are NULL or none. A `deferrable` constraint can be checked at the end of the transaction; a `deferred` one is by
    default.
    """

    oid: int
    name: str
    columns: tuple[str, ...]
    table: int
    referenced: tuple[str, ...]
    on_delete: str = "a"
    on_update: str = "a"
    match_full: bool = False
    validated: bool = True
    comment: str | None = None
    delete_columns: tuple[str, ...] = ()
    deferrable: bool = False
    deferred: bool = False


Constraint = Check | Unique | Index | ForeignKey


@dataclass(frozen=True, slots=True)
class Key:
    """Columns whose values are unique in a table, and the name of the constraint."""

    name: str
    columns: tuple[str, ...]
    nulls_distinct: bool = True


class UnreadableFiles(tuple[DataFile, ...]):
    """The files of a table whose metadata cannot be read: each access raises the XX001 that says why."""

    error: GpudbError

    def __new__(cls, error: GpudbError) -> UnreadableFiles:
        files = super().__new__(cls)
        files.error = error
        return files

    def _fail(self, *_: object) -> NoReturn:
        raise GpudbError(str(self.error), condition="data_corrupted", detail=self.error.detail, hint=self.error.hint)

    __iter__ = __len__ = __bool__ = __getitem__ = __contains__ = __add__ = __radd__ = _fail
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __repr__(self) -> str:
        return "UnreadableFiles()"


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the files of its rows in this snapshot.

    A materialized view has kind `m`: its rows are those of `query`, once it is `populated`.
    `on_commit` is a temporary table's action at COMMIT: `drop`, `delete rows` or empty. `past_of` is the
    OID of the table of which this is an earlier snapshot, as a statement reads it: it is in no catalog, and its own OID
    is of no other table.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[Column, ...]
    owner: str
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    distribution: Distribution | None = None
    temporary: bool = False
    comment: str | None = None
    files: tuple[DataFile, ...] = ()
    metadata_location: str | None = None
    statistics: tuple[ColumnStatistics, ...] = ()
    kind: str = "r"
    query: str | None = None
    populated: bool = True
    on_commit: str = ""
    last_field_id: int = 0
    constraints: tuple[Constraint, ...] = ()
    acl: Acl | None = None
    past_of: int = 0

    @property
    def catalog_oid(self) -> int:
        """The OID of the table in the catalog: of an earlier snapshot that of its table."""
        return self.past_of or self.oid

    @property
    def is_readable(self) -> bool:
        """Whether the table's metadata could be read; otherwise each access to `files` raises XX001."""
        return not isinstance(self.files, UnreadableFiles)

    @property
    def rows(self) -> int:
        """The number of rows in the snapshot."""
        return sum(file.rows for file in self.files)

    @property
    def hashed_by(self) -> Column | None:
        """The column whose buckets partition the rows; None for a table that is not distributed by hash."""
        if self.distribution is None or self.distribution.kind != "hash":
            return None
        return next(column for column in self.columns if column.name == self.distribution.columns[0])

    @property
    def bucketed(self) -> bool:
        """Whether equal values of that column are on one worker: every file belongs to one bucket."""
        return self.hashed_by is not None and all(file.bucket is not None for file in self.files)

    @property
    def replicated(self) -> bool:
        """Whether every worker has all rows."""
        return self.distribution is not None and self.distribution.kind == "replication"

    @property
    def key_name(self) -> str:
        """The primary key's name."""
        return self.primary_key_name or f"{self.name}_pkey"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The table's keys: the primary key first, then unique constraints in order of creation."""
        first = (Key(self.key_name, self.primary_key),) if self.primary_key else ()
        rest = (Key(c.name, c.columns, c.nulls_distinct) for c in self.constraints if isinstance(c, Unique))
        return (*first, *rest)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The CHECK constraints in the order in which PostgreSQL evaluates them: by name."""
        return tuple(sorted((c for c in self.constraints if isinstance(c, Check)), key=lambda c: c.name))

    @property
    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        """The FOREIGN KEY constraints."""
        return tuple(c for c in self.constraints if isinstance(c, ForeignKey))

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of its indexes, which share the namespace of relations."""
        others = (c.name for c in self.constraints if isinstance(c, Unique | Index))
        return (*((self.key_name,) if self.primary_key else ()), *others)


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table as one commit left it: `table` is its definition and files then, `id` Iceberg's number of the snapshot.

    `committed` is in microseconds since 1970 UTC. `operation` is Iceberg's: append, overwrite, delete or replace.
    """

    id: int
    committed: int
    operation: str
    table: Table


@dataclass(frozen=True, slots=True)
class View:
    """A view: `query` is its SELECT as deparsed SQL text.

    What the query reads is read with its owner's privileges, or with `security_invoker` with the current role's. A
    `security_barrier` view applies its own conditions first. `options` are both as pg_class.reloptions shows them:
    `security_barrier=on`.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[Column, ...]
    owner: str
    query: str
    comment: str | None = None
    kind: str = "v"
    acl: Acl | None = None
    options: tuple[str, ...] = ()

    @property
    def security_invoker(self) -> bool:
        """Whether the query reads with the privileges of the role that reads the view."""
        return self._is_on("security_invoker")

    @property
    def security_barrier(self) -> bool:
        """Whether the view's conditions precede those of the query that reads it."""
        return self._is_on("security_barrier")

    def _is_on(self, name: str) -> bool:
        texts = dict(each.partition("=")[::2] for each in self.options)
        return texts.get(name, "").lower() in {"true", "on", "yes", "1"}


def get_stored_query(relation: Relation) -> str | None:
    """Returns the query of a view or materialized view; None for other relations."""
    return None if isinstance(relation, Sequence) else relation.query


_STATE = (Column("last_value", INT8), Column("log_cnt", INT8), Column("is_called", BOOL))


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence. Its position is not transactional; the store keeps it under `file`.

    ALTER SEQUENCE … RESTART assigns a new `file`. Before anything is drawn from it the position is `first`, which
    counts as drawn if `called`. The sequence is dropped with its owner `owned_by`, the OID of a table and the name of a
    column; with `identity` it belongs to an identity column.
    """

    oid: int
    schema: str
    name: str
    owner: str
    file: int
    first: int = 1
    called: bool = False
    type: SqlType = INT8
    start: int = 1
    increment: int = 1
    minimum: int = 1
    maximum: int = (1 << 63) - 1
    cache: int = 1
    cycle: bool = False
    owned_by: tuple[int, str] | None = None
    identity: bool = False
    temporary: bool = False
    comment: str | None = None
    kind: str = "S"
    acl: Acl | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of SELECT from a sequence."""
        return _STATE


Relation = Table | View | Sequence


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


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a routine: `mode` is i, o, b (INOUT), v (VARIADIC) or t (a column of RETURNS TABLE).

    `default` is SQL text.
    """

    name: str
    type: SqlType
    mode: str = "i"
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate's functions by OID, 0 for none; `initial` is text of the type `state`.

    `combine` merges two states. With `final_extra` the final function also takes arguments of the aggregate's argument
    types, as NULLs.
    """

    transition: int
    state: SqlType
    initial: str | None = None
    final: int = 0
    final_extra: bool = False
    combine: int = 0

    @property
    def functions(self) -> tuple[int, ...]:
        """The OIDs of the functions that it uses."""
        return tuple(oid for oid in (self.transition, self.final, self.combine) if oid)


@dataclass(frozen=True, slots=True)
class Routine:
    """A function (`kind` f), procedure (p) or aggregate (a). `body` is its statements as SQL text.

    A `standard` body was parsed when it was defined (RETURN, BEGIN ATOMIC); any other text is parsed at each call.
    `volatility` is v, s or i; `parallel`, `cost`, `rows` and `leakproof` are kept for pg_proc only.
    `rows_of` is the OID of the table whose rows it returns; the arguments then include that table's columns.
    A `definer` (SECURITY DEFINER) routine runs with its owner's privileges.
    """

    oid: int
    schema: str
    name: str
    owner: str
    arguments: tuple[Argument, ...]
    result: SqlType
    body: str
    kind: str = "f"
    returns_set: bool = False
    standard: bool = False
    volatility: str = "v"
    strict: bool = False
    parallel: str = "u"
    cost: float = 100.0
    rows: float = 0.0
    leakproof: bool = False
    rows_of: int = 0
    comment: str | None = None
    aggregate: Aggregation | None = None
    acl: Acl | None = None
    definer: bool = False

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The parameters that a call passes."""
        return tuple(argument for argument in self.arguments if argument.mode in {"i", "b", "v"} or (self.kind == "p"))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The parameters that a call returns."""
        return tuple(argument for argument in self.arguments if argument.mode in {"o", "b", "t"})

    @property
    def signature(self) -> str:
        """The signature in messages: `add(integer, integer)`."""
        types = ", ".join(str(argument.type) for argument in self.inputs)
        return f"{self.name}({types or ('*' if self.kind == 'a' else '')})"

    @property
    def identity(self) -> str:
        """The signature in messages about dependencies: `add(integer,integer)`."""
        return self.signature.replace(", ", ",")

    @property
    def noun(self) -> str:
        """The kind in messages: `function`, `procedure` or `aggregate`."""
        return {"p": "procedure", "a": "aggregate"}.get(self.kind, "function")

    @property
    def key(self) -> str:
        """The key in the catalog: schema, name and argument types."""
        types = ",".join(str(argument.type.declared_oid) for argument in self.inputs)
        return f"{make_type_key(self.schema, self.name)}({types})"


@dataclass(frozen=True, slots=True)
class Schema:
    """A namespace of relations."""

    oid: int
    name: str
    owner: str
    comment: str | None = None
    acl: Acl | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """What is known of a database beside its objects.

    `settings` are those with which sessions in it begin, `all_settings` those of sessions in every database.
    """

    name: str
    acl: Acl | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    all_settings: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class Role:
    """A role. `verifier` is its SCRAM-SHA-256 secret in PostgreSQL's text form, None without a password.

    `inherit` is what a later GRANT to the role takes for its INHERIT option if it names none.

    The password is valid until `valid_until`, in microseconds since 1970 UTC, or always. Of a role without superuser
    `connection_limit` sessions may be open, any number if it is negative.

    Its sessions begin with `settings`, and over them with `database_settings`, those for this database alone.
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
    database_settings: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class Catalog:
    """All objects of a database at one moment.

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
    memberships: Mapping[str, Membership] = field(default_factory=lambda: MappingProxyType({}))
    databases: Mapping[str, Database] = field(default_factory=lambda: MappingProxyType({}))
    default_acls: Mapping[str, DefaultAcl] = field(default_factory=lambda: MappingProxyType({}))
    database: str = "gpudb"
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

    def with_relation(self, relation: Relation) -> Catalog:
        """Returns a catalog with a relation added, or replaced if schema and name exist."""
        relations = {**self.relations, (relation.schema, relation.name): relation}
        return replace(self, relations=MappingProxyType(relations))

    def without_relation(self, schema: str, name: str) -> Catalog:
        """Returns a catalog without one relation."""
        relations = {key: value for key, value in self.relations.items() if key != (schema, name)}
        return replace(self, relations=MappingProxyType(relations))

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

    def with_type(self, definition: TypeDefinition) -> Catalog:
        """Returns a catalog with a type added or replaced."""
        return replace(self, types=MappingProxyType({**self.types, definition.key: definition}))

    def without_type(self, key: str) -> Catalog:
        """Returns a catalog without a type."""
        return replace(self, types=MappingProxyType({k: v for k, v in self.types.items() if k != key}))

    def find_routines(self, name: str, search_path: tuple[str, ...]) -> tuple[Routine, ...]:
        """Returns the routines with a name on the search path; of those with the same argument types only the first."""
        routines: dict[tuple[SqlType, ...], Routine] = {}
        for schema in search_path if self.routines else ():
            for routine in self.routines.values():
                if routine.schema == schema and routine.name == name:
                    routines.setdefault(tuple(argument.type for argument in routine.inputs), routine)
        return tuple(routines.values())

    def with_routine(self, routine: Routine) -> Catalog:
        """Returns a catalog with a routine added or replaced."""
        return replace(self, routines=MappingProxyType({**self.routines, routine.key: routine}))

    def without_routine(self, key: str) -> Catalog:
        """Returns a catalog without a routine."""
        return replace(self, routines=MappingProxyType({k: v for k, v in self.routines.items() if k != key}))

    def with_schema(self, schema: Schema) -> Catalog:
        """Returns a catalog with a schema added or replaced."""
        return replace(self, schemas=MappingProxyType({**self.schemas, schema.name: schema}))

    def without_schema(self, name: str) -> Catalog:
        """Returns a catalog without a schema, which must be empty."""
        return replace(self, schemas=MappingProxyType({k: v for k, v in self.schemas.items() if k != name}))

    def with_role(self, role: Role) -> Catalog:
        """Returns a catalog with a role added or replaced."""
        return replace(self, roles=MappingProxyType({**self.roles, role.name: role}))

    def without_role(self, name: str) -> Catalog:
        """Returns a catalog without a role."""
        return replace(self, roles=MappingProxyType({k: v for k, v in self.roles.items() if k != name}))

    def with_membership(self, membership: Membership) -> Catalog:
        """Returns a catalog with a grant of a role added or replaced."""
        return replace(self, memberships=MappingProxyType({**self.memberships, membership.key: membership}))

    def without_membership(self, key: str) -> Catalog:
        """Returns a catalog without a grant of a role."""
        return replace(self, memberships=MappingProxyType({k: v for k, v in self.memberships.items() if k != key}))

    def with_database(self, database: Database) -> Catalog:
        """Returns a catalog with what is known of a database replaced."""
        return replace(self, databases=MappingProxyType({**self.databases, database.name: database}))

    def with_default_acl(self, default: DefaultAcl) -> Catalog:
        """Returns a catalog with default privileges added or replaced."""
        return replace(self, default_acls=MappingProxyType({**self.default_acls, default.key: default}))

    def without_default_acl(self, key: str) -> Catalog:
        """Returns a catalog without default privileges."""
        return replace(self, default_acls=MappingProxyType({k: v for k, v in self.default_acls.items() if k != key}))

    def with_node(self, node: Node) -> Catalog:
        """Returns a catalog with a node added or replaced."""
        return replace(self, nodes=MappingProxyType({**self.nodes, node.name: node}))

    def without_node(self, name: str) -> Catalog:
        """Returns a catalog without a node."""
        return replace(self, nodes=MappingProxyType({k: v for k, v in self.nodes.items() if k != name}))

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
    )
