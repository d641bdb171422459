"""Functions, procedures and aggregates that users define."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudb.catalog.models import Model
from gpudb.catalog.user_types import make_type_key
from gpudb.types import SqlType
from gpudb.values.acl import Acl

NO_RELATION = -1
"""In the place of a relation's OID: rows of a call's own column definition list."""


def get_routine_path(schema: str, search_path: Sequence[str]) -> tuple[str, ...]:
    """Returns the schemas in which a routine's name with that qualifier, or '', is looked up.

    `pg_temp` is the session's temporary schema, which is on its search path. Names without a qualifier are never looked
    up there: no temporary function hides another one.
    """
    if schema == "pg_temp":
        return tuple(each for each in search_path if each.startswith("pg_temp_"))
    return (schema,) if schema else tuple(each for each in search_path if not each.startswith("pg_temp_"))


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
    """A function (`kind` f), procedure (p) or aggregate (a). `body` is its text in its `language`, sql or plpgsql.
    A function that scores rows with a `model` is in sql too, or in the language model, without a body.

    A `standard` body was parsed when it was defined (RETURN, BEGIN ATOMIC); any other text is parsed at each call.
    `volatility` is v, s or i; `parallel`, `cost`, `rows` and `leakproof` are kept for pg_proc only.
    `rows_of` is the OID of the table whose rows it returns; the arguments then include that table's columns.
    A `definer` (SECURITY DEFINER) routine runs with its owner's privileges, and every routine with its `settings`,
    names and values of its SET clauses.
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
    language: str = "sql"
    model: Model | None = None
    settings: tuple[tuple[str, str], ...] = ()

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
