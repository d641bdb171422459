"""Tables: their columns, constraints and files in one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from gpudb.catalog.copies import copy_with
from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.partitions import PartitionBound, PartitionKey, PartitionTree
from gpudb.catalog.policies import Policy
from gpudb.catalog.postgres import oids
from gpudb.catalog.triggers import Trigger
from gpudb.errors import GpudbError
from gpudb.types import SqlType
from gpudb.values.acl import Acl

SYSTEM_COLUMNS = ("tableoid", "cmax", "xmax", "cmin", "xmin", "ctid")
"""The names of columns that each table of PostgreSQL's has beside those of its definition."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or view. `field_id` is Iceberg's and stable over renames; `default` is SQL text.

    With `field_id` 0 storage assigns a new one. `initial` is the value of rows that were written before the column
    existed, as text that DuckDB casts to the stored type; None is NULL.
    `identity` is `a` (GENERATED ALWAYS AS IDENTITY), `d` (BY DEFAULT) or empty; the `default` then draws from the
    column's sequence. `generated` is the expression of a stored generated column. Texts name sequences by OID:
    `nextval('16390'::regclass)`. `acl` is the column's own list, which adds to that of its relation.
    `options` are those of a foreign table's column, `name=value`.
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
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataFile:
    """One immutable Parquet file of a table. Statistics are by field id; a missing one means unknown.

    `minimums` and `maximums` are bool, int, float, Decimal, str and bytes; dates are days and times of every kind
    microseconds (since 1970 in UTC, or since midnight) as int, uuids their canonical text. A float has a maximum only
    if no value is NaN. Strings compare by code point; long ones are truncated, so bounds need not be values. Struct
    columns with a field id above `last_field_id` were added after the file was written. `bucket` is the bucket of all
    its rows (`catalog.distribution`), None if they belong to several.

    `deleted` are rows that are in the file and not in the table; `rows` counts the others, the live rows. Statistics
    may include deleted rows: bounds stay bounds, and `nulls` has only numbers that are still exact. `partition` is the
    OID of the partition that has the file if it is read as one of its partitioned table.
    """

    path: str
    rows: int
    bytes: int
    minimums: Mapping[int, object] = field(default_factory=dict, compare=False)
    maximums: Mapping[int, object] = field(default_factory=dict, compare=False)
    nulls: Mapping[int, int] = field(default_factory=dict, compare=False)
    last_field_id: int = field(default=0, compare=False)
    bucket: int | None = field(default=None, compare=False)
    deleted: DeletedRows | None = None
    partition: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """What identifies its live rows, as caches need it: the path, and the digest of the deleted rows."""
        return self.path if self.deleted is None else f"{self.path}{_DIGEST}{self.deleted.digest}"

    @property
    def stored_rows(self) -> int:
        """The number of rows in the file, deleted ones included."""
        return self.rows if self.deleted is None else self.rows + len(self.deleted)

    def stored_range(self, first: int, last: int) -> tuple[int, int]:
        """Returns the rows of the file that hold live rows `first` to before `last`."""
        return (first, last) if self.deleted is None or first >= last else self.deleted.stored_range(first, last)

    def count_live(self, row: int) -> int:
        """Returns how many live rows are before row number `row` of the file."""
        return row if self.deleted is None else row - self.deleted.count_before(row)

    def with_deleted(self, deleted: DeletedRows | None) -> DataFile:
        """Returns the file with other deleted rows, which include those deleted before. ValueError for other rows."""
        if deleted is None or not len(deleted):
            return self
        stored = self.stored_rows
        if deleted.rows[-1] >= stored or (self.deleted is not None and not self.deleted.is_within(deleted)):
            raise ValueError(f"rows to delete are not those of file {self.path}")
        live = stored - len(deleted)
        nulls = {id: live if count else 0 for id, count in self.nulls.items() if count in {0, self.rows}}
        return replace(self, rows=live, nulls=nulls, deleted=deleted)

    def has_rows_beside(self, known: DataFile | None) -> bool:
        """Returns whether it may have live rows that `known`, another state of the same file, lacks."""
        return known is None or (known.deleted is not None and not known.deleted.is_within(self.deleted))


_DIGEST = "\0"
"""Separates path and digest in `DataFile.id`; no path on disk contains it (see `file_tables.get_file_path`)."""


def list_added_rows(files: Iterable[DataFile], known: Iterable[DataFile]) -> tuple[DataFile, ...]:
    """Returns the files that may have rows which the `known` ones lack."""
    by_path = {file.path: file for file in known}
    return tuple(file for file in files if file.has_rows_beside(by_path.get(file.path)))


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
class IndexKey:
    """A key of an index: a column, or '' and an expression; with the name of its operator class, if it has one.

    `type` is the expression's, if it is known.
    """

    column: str
    expression: str = ""
    operator_class: str = ""
    type: SqlType | None = None


@dataclass(frozen=True, slots=True)
class IndexDetails:
    """What an index has beside columns: keys, INCLUDE columns, storage parameters, and the condition of its rows."""

    keys: tuple[IndexKey, ...]
    included: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    predicate: str = ""


@dataclass(frozen=True, slots=True)
class Unique:
    """A UNIQUE constraint, or a unique index (`index`): no two rows have the same `columns`.

    NULLs are distinct unless `nulls_distinct` is false. An index with expressions or a predicate has `details`, is no
    key of all rows, and its `columns` are all that it reads. `options` are as those of `Index`. A `deferrable`
    constraint can be checked at the end of the transaction; a `deferred` one is by default.
    """

    oid: int
    name: str
    columns: tuple[str, ...]
    nulls_distinct: bool = True
    index: bool = False
    comment: str | None = None
    details: IndexDetails | None = None
    options: tuple[int, ...] = ()
    deferrable: bool = False
    deferred: bool = False

    @property
    def has_expressions(self) -> bool:
        """Whether it is on expressions, or on some of the rows."""
        details = self.details
        return details is not None and bool(details.predicate or any(key.expression for key in details.keys))

    @property
    def is_key(self) -> bool:
        """Whether no two rows of the table ever have the same `columns`, which are columns alone."""
        return not self.deferrable and not self.has_expressions


@dataclass(frozen=True, slots=True)
class Index:
    """An index that is only declared; `method` and `options` (pg_index.indoption, one a key) are shown.

    `columns` are its keys, or with `details` all columns that it uses.
    """

    oid: int
    name: str
    columns: tuple[str, ...]
    method: str = "btree"
    options: tuple[int, ...] = ()
    comment: str | None = None
    details: IndexDetails | None = None


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


@dataclass(frozen=True, slots=True)
class Exclude:
    """An exclusion constraint: of no two rows that fulfil `predicate` do all `operators` hold between their `keys`.

    `columns` are all that it reads; `method` is its index's.
    """

    oid: int
    name: str
    columns: tuple[str, ...]
    keys: tuple[IndexKey, ...]
    operators: tuple[str, ...]
    method: str = "gist"
    predicate: str = ""
    deferrable: bool = False
    deferred: bool = False
    comment: str | None = None


Constraint = Check | Unique | Index | ForeignKey | Exclude


@dataclass(frozen=True, slots=True)
class Key:
    """Columns whose values are unique in a table, and the name of the constraint."""

    name: str
    columns: tuple[str, ...]
    nulls_distinct: bool = True


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A rule about pairs of rows: of no two that fulfil `predicate` do all `operators` hold between their `keys`.

    What an exclusion constraint requires, and a key (`is_unique`, by the operator =) that is on expressions or some of
    the rows, or `deferrable`. `columns` are those that it reads. NULLs are equal unless `nulls_distinct`.
    """

    oid: int
    name: str
    keys: tuple[IndexKey, ...]
    operators: tuple[str, ...]
    columns: tuple[str, ...]
    predicate: str = ""
    nulls_distinct: bool = True
    is_unique: bool = True
    deferrable: bool = False
    deferred: bool = False

    @property
    def requirement(self) -> tuple[object, ...]:
        """What it requires of rows, whatever its name is."""
        return self.keys, self.operators, self.predicate, self.nulls_distinct


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
class ForeignSource:
    """Where the rows of a foreign table are: the OID of a server, and options `name=value`.

    With `stored` they are the table's own files, as those of every other table.
    """

    server: int
    options: tuple[str, ...] = ()
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the files of its rows in this snapshot.

    A foreign table has kind `f` and is `foreign`.
    A materialized view has kind `m`: its rows are those of `query`, once it is `populated`.
    `on_commit` is a temporary table's action at COMMIT: `drop`, `delete rows` or empty. `past_of` is the
    OID of the table of which this is an earlier snapshot, as a statement reads it: it is in no catalog, and its own OID
    is of no other table. The same holds for files of a `format` that a statement reads as a table.
    A partitioned table has kind `p` and is `partitioned_by` a key; in the catalog it has no files, and as statements
    read it those of its partitions and a `tree` (`partition_trees.assemble`). A partition of another table has a
    `partition_bound`, and its columns have the field ids of that table's.
    `policies` are in the order of their names; with `row_security` they apply to all roles but the owner, and with
    `forces_row_security` to the owner too. A primary key may be deferrable and deferred, as a `Unique` may.
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
    foreign: ForeignSource | None = None
    format: str = ""
    triggers: tuple[Trigger, ...] = ()
    primary_key_comment: str | None = None
    partitioned_by: PartitionKey | None = None
    partition_bound: PartitionBound | None = None
    policies: tuple[Policy, ...] = ()
    row_security: bool = False
    forces_row_security: bool = False
    primary_key_deferrable: bool = False
    primary_key_deferred: bool = False
    tree: PartitionTree | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """The key in `Catalog.relations`: schema and name."""
        return self.schema, self.name

    def with_files(self, files: tuple[DataFile, ...]) -> Table:
        """Returns the table with other files, which each statement that changes its rows makes."""
        return copy_with(self, files=files)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows are not in the table's own files."""
        return self.foreign is not None and not self.foreign.stored

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
        is_key = self.primary_key and not self.primary_key_deferrable
        first = (Key(self.key_name, self.primary_key),) if is_key else ()
        rest = (
            Key(c.name, c.columns, c.nulls_distinct) for c in self.constraints if isinstance(c, Unique) and c.is_key
        )
        return (*first, *rest)

    @property
    def exclusions(self) -> tuple[Exclusion, ...]:
        """What its exclusion constraints require, and its keys that are not `keys`; in order of creation."""
        found: list[Exclusion] = []
        if self.primary_key and self.primary_key_deferrable:
            primary = Unique(oids.constraint(self.oid), self.key_name, self.primary_key)
            found.append(_exclude_equal(replace(primary, deferrable=True, deferred=self.primary_key_deferred)))
        for each in self.constraints:
            if isinstance(each, Exclude):
                found.append(
                    Exclusion(
                        each.oid,
                        each.name,
                        each.keys,
                        each.operators,
                        each.columns,
                        each.predicate,
                        is_unique=False,
                        deferrable=each.deferrable,
                        deferred=each.deferred,
                    )
                )
            elif isinstance(each, Unique) and not each.is_key:
                found.append(_exclude_equal(each))
        return tuple(found)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The CHECK constraints in the order in which PostgreSQL evaluates them: by name."""
        return tuple(sorted((c for c in self.constraints if isinstance(c, Check)), key=lambda c: c.name))

    @property
    def has_checks(self) -> bool:
        """Whether it, or a partition of it, may have CHECK constraints."""
        return self.partitioned_by is not None or any(isinstance(each, Check) for each in self.constraints)

    @property
    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        """The FOREIGN KEY constraints."""
        return tuple(c for c in self.constraints if isinstance(c, ForeignKey))

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of its indexes, which share the namespace of relations."""
        others = (c.name for c in self.constraints if isinstance(c, Unique | Index | Exclude))
        return (*((self.key_name,) if self.primary_key else ()), *others)


def _exclude_equal(unique: Unique) -> Exclusion:
    keys = tuple(map(IndexKey, unique.columns)) if unique.details is None else unique.details.keys
    return Exclusion(
        unique.oid,
        unique.name,
        keys,
        ("=",) * len(keys),
        unique.columns,
        "" if unique.details is None else unique.details.predicate,
        unique.nulls_distinct,
        deferrable=unique.deferrable,
        deferred=unique.deferred,
    )


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table as one commit left it: `table` is its definition and files then, `id` Iceberg's number of the snapshot.

    `committed` is in microseconds since 1970 UTC. `operation` is Iceberg's: append, overwrite, delete or replace.
    """

    id: int
    committed: int
    operation: str
    table: Table
