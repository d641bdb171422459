"""The state of binding one statement, and the entry points of mutually recursive binding functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.catalog.model import Catalog
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.accesses import Accesses
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Expr, OutputColumn, Parameter, Query, RowLock
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import expression_location, position
from gpudb.sql.traverse import walk
from gpudb.types import UNKNOWN, SqlType, type_by_oid

MAX_PARAMETERS = 65535
"""The protocol's limit on parameters."""


@dataclass(slots=True)
class Arguments:
    """Arguments of the routine whose body is being bound; `uses` lists the position of each use.

    `stored` is whether the catalog stores the body with the names that it had when it was defined.
    """

    routine: str
    names: tuple[str, ...]
    values: tuple[Expr, ...]
    uses: list[int] = field(default_factory=list)
    stored: bool = field(default=False, kw_only=True)

    def by_number(self, number: int) -> Expr:
        """Returns argument `$number`; 42P02."""
        if not 1 <= number <= len(self.values):
            raise SqlError.of("undefined_parameter", f"there is no parameter ${number}")
        self.uses.append(number - 1)
        return self.values[number - 1]

    def by_name(self, name: str) -> Expr | None:
        """Returns the argument of a name; None if there is none."""
        return self.by_number(self.names.index(name) + 1) if name and name in self.names else None

    def choose(self, names: Sequence[str], bind_column: Callable[[], Expr]) -> Expr:
        """Returns what a name denotes. `bind_column` binds a column, or an argument where there is none."""
        return bind_column()

    def whole(self, name: str) -> Expr | None:
        """Returns the record variable of a name, for `name.*`; a routine's arguments are none."""
        return None


@dataclass(slots=True)
class Binder(ABC):
    """The state of binding one statement, and the entry points of mutual recursion.

    - `frames`: registered data frames by name.
    - `system_columns`: returns the columns of a relation of pg_catalog or information_schema; None if there is none.
    - `timezone`: the session's, for literals.
    - `parameters`: types of parameters by number.
    - `cacheable`: whether a plan of the statement may be cached; `reads_files`: whether it names files.
    - `expansions`: unless None, collects what the constructs of the text stand for that depend on the catalog.
    - `stored_within`: the search path of the statement while a text that the catalog stores is bound; else None.
    - `parse_nodes`: the parse node of each bound expression, by the expression's identity.
    - `presence_columns`: the columns of relations under an outer join that are read as whole rows, by relation, until
      FROM is bound.
    - `arguments`: the arguments of the routine whose body is being bound.
    - `max_parameters`: the number of values that the client sent, if known.
    - `fresh_labels`: OIDs of enum labels that the transaction added and may not use before it commits.
    - `subquery_names`: the name of the first column of each subquery in an expression, by its location.
    - `check_canceled`: raises if the statement is canceled.
    - `accesses`: records what the statement reads and changes.
    - `row_locks`: collects what locking clauses lock; None where they are refused.
    - `friendly`: whether the text may have what PostgreSQL lacks; what is stored has none of it.
    - `values`: the values of the parameters, if they are known.
    - `describing`: whether the statement is only described: its parameters have no values yet.
    - `open_files`: returns the files that a statement names; raises if a role (None: the current) may not read them.
    - `evaluate_integer`: returns the value of an expression without columns of a type that is stored as 64-bit integer.
    - `fetch_texts`: returns the rows of a query of one column of texts, in the snapshot of the statement.
    """

    catalog: Catalog
    text: str = ""
    search_path: tuple[str, ...] = ("public",)
    timezone: str = "UTC"
    frames: Mapping[str, tuple[OutputColumn, ...]] = field(default_factory=dict)
    system_columns: Callable[[str, str], tuple[OutputColumn, ...] | None] = lambda schema, name: None
    parameters: dict[int, SqlType] = field(default_factory=dict)
    cacheable: bool = True
    reads_files: bool = False
    expansions: Expansions | None = None
    stored_within: tuple[str, ...] | None = None
    parse_nodes: dict[int, tuple[Expr, Any]] = field(default_factory=dict)
    presence_columns: dict[int, tuple[OutputColumn, ...]] = field(default_factory=dict)
    arguments: Arguments | None = None
    _rels: int = 0
    _ctes: int = 0
    depth: int = 0
    routine_depth: int = 0
    max_parameters: int = MAX_PARAMETERS
    values: Sequence[object] = ()
    fresh_labels: frozenset[int] = frozenset()
    subquery_names: dict[int, str] = field(default_factory=dict)
    check_canceled: Callable[[], None] = lambda: None
    accesses: Accesses = field(default_factory=Accesses)
    row_locks: list[RowLock] | None = None
    describing: bool = False
    friendly: bool = True
    evaluate_integer: Callable[[Expr], int | None] = lambda expr: _refuse_evaluation(expr)

    fetch_texts: Callable[[Query, Accesses], list[str]] = lambda query, accesses: _refuse_rows()

    open_files: Callable[[FileRequest, str | None], FileTable] = lambda request, role: _refuse_files()

    @abstractmethod
    def bind_expression(self, scope: Scope, node: Any) -> Expr:
        """Binds a `Node` to an expression."""

    @abstractmethod
    def bind_query(self, node: Any, outer: Scope | None, *, resolve_unknowns: bool = True) -> Query:
        """Binds a SelectStmt message to a query."""

    @abstractmethod
    def coerce(self, expr: Expr, target: SqlType, context: str = "i", target_name: str | None = None) -> Expr:
        """Converts an expression to a type."""

    @contextmanager
    def changed(self, **state: Any) -> Iterator[None]:
        """Gives fields other values, by their names, and after that their own ones again."""
        own = {name: getattr(self, name) for name in state}
        try:
            for name, value in state.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in own.items():
                setattr(self, name, value)

    @contextmanager
    def bind_stored(self, text: str = "", schema: str | None = None) -> Iterator[None]:
        """Binds a text that the catalog stores, of an object in a schema; its errors have positions in `text`.

        Its names without a schema are PostgreSQL's own, whatever functions there are now (`catalog.pinned_routines`).
        """
        path = self.search_path if schema is None else (schema, "public")
        within = self.search_path if self.stored_within is None else self.stored_within
        with self.changed(text=text, search_path=path, stored_within=within, expansions=None, arguments=None):
            yield

    @contextmanager
    def bind_apart(self, text: str) -> Iterator[None]:
        """Binds a text in an argument: its `$1` would be the statement's, and its places are not the statement's.

        Its errors have no position; their context is the text. Its rows cannot be locked.
        """
        with self.changed(text=text, expansions=None, arguments=None, row_locks=None, max_parameters=0):
            try:
                yield
            except GpudbError as error:
                error.position = 0
                error.where = error.where or f'SQL statement "{text.strip()}"'
                raise

    def declare_parameters(self, oids: Sequence[int], digits: Mapping[int, SqlType] | None = None) -> None:
        """Takes over the parameter types that a client gave; 0 leaves one to be inferred.

        `digits` are the types of numerics that have digits of their own, by their numbers.
        """
        for number, oid in enumerate(oids, 1):
            known = UNKNOWN if oid in (0, UNKNOWN.oid) else self.catalog.type_by_oid(oid)
            result = type_by_oid(oid) if known is None else replace(known, domain=None)
            own = digits.get(number) if digits else None
            self.parameters[number] = own if own is not None and own.name == result.name else result

    def get_parameter(self, number: int) -> Parameter:
        """Returns parameter `$number`, of the type known so far."""
        if not 1 <= number <= self.max_parameters:
            raise SqlError.of("undefined_parameter", f"there is no parameter ${number}")
        return Parameter(number, self.parameters.setdefault(number, UNKNOWN))

    def infer_parameter(self, parameter: Parameter, target: SqlType) -> Parameter:
        """Gives a parameter its inferred type; 42P08 if it already has another."""
        known = self.parameters[parameter.number]
        if known.name == "unknown":
            self.parameters[parameter.number] = target.plain
            return Parameter(parameter.number, target.plain)
        if known.name != target.name:
            message = f"inconsistent types deduced for parameter ${parameter.number}"
            raise SqlError.of("ambiguous_parameter", message, detail=f"{target} versus {known}")
        return Parameter(parameter.number, known)

    def get_parameter_types(self) -> tuple[SqlType, ...]:
        """Returns the types of all parameters of the bound statement; 42P18 if one is unknown."""
        count = max(self.parameters, default=0)
        types = []
        for number in range(1, count + 1):
            found = self.parameters.get(number, UNKNOWN)
            if found.name == "unknown":
                raise SqlError.of("indeterminate_datatype", f"could not determine data type of parameter ${number}")
            types.append(found)
        return tuple(types)

    def new_rel(self) -> int:
        """Returns a new relation number."""
        self._rels += 1
        return self._rels

    def new_cte(self) -> int:
        """Returns a new number for a WITH query."""
        self._ctes += 1
        return self._ctes

    def number_after(self, node: Any) -> None:
        """Lets new relations and WITH queries have other numbers than those of a bound tree."""
        for each in walk(node):
            self._rels = max(self._rels, abs(getattr(each, "rel", 0)), abs(getattr(each, "item", 0)))
            self._ctes = max(self._ctes, getattr(each, "cte", 0), getattr(each, "number", 0))

    def locate(self, error: GpudbError, location: int) -> GpudbError:
        """Returns the error with the position of a byte offset in the statement's text."""
        return error.at(position(self.text, location))

    def locate_expr(self, error: GpudbError, expr: Expr) -> GpudbError:
        """Returns the error with the position of a bound expression, if the statement's text contains that."""
        place = self.parse_nodes.get(id(expr))
        return error if place is None else self.locate(error, expression_location(place[1]))


def _refuse_files() -> FileTable:
    raise FeatureNotSupported("files as tables are not supported here")


def _refuse_rows() -> list[str]:
    raise FeatureNotSupported("PIVOT without a list of values (IN) is not supported here")


def _refuse_evaluation(_: Expr) -> int | None:
    raise FeatureNotSupported("an expression whose value decides what a statement reads is not supported here")
