"""Relations of the catalog beside tables: views and sequences."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.catalog.tables import Column, Table
from gpudb.catalog.triggers import Trigger
from gpudb.types import BOOL, INT8, SqlType
from gpudb.values.acl import Acl


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
    triggers: tuple[Trigger, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The key in `Catalog.relations`: schema and name."""
        return self.schema, self.name

    @property
    def security_invoker(self) -> bool:
        """Whether the query reads with the privileges of the role that reads the view."""
        return self._is_on("security_invoker")

    @property
    def security_barrier(self) -> bool:
        """Whether the view's conditions precede those of the query that reads it."""
        return self._is_on("security_barrier")

    @property
    def check_option(self) -> str:
        """`local` or `cascaded`: which conditions must hold for rows that are written through the view; or empty."""
        return dict(each.partition("=")[::2] for each in self.options).get("check_option", "").lower()

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
    def key(self) -> tuple[str, str]:
        """The key in `Catalog.relations`: schema and name."""
        return self.schema, self.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of SELECT from a sequence."""
        return _STATE


Relation = Table | View | Sequence
