"""Variables of PL/pgSQL blocks, the scopes in which their names are found, and the SQL that names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpudb.types import SqlType


@dataclass(slots=True, eq=False)
class Variable:
    """A variable of a block, or a parameter. `type` is None for a record, whose fields its value determines.

    `number` is unique in a body, `line` that of the declaration. `cursor` is the query of a bound cursor.
    """

    name: str
    number: int
    type: SqlType | None
    line: int = 0
    constant: bool = False
    not_null: bool = False
    default: Fragment | None = None
    cursor: CursorQuery | None = None

    @property
    def is_record(self) -> bool:
        """Whether the variable has fields: a record, or a value of a composite type."""
        return self.type is None or (bool(self.type.fields) and self.type.element is None)

    @property
    def local(self) -> str:
        """The name of the Python variable."""
        return f"v{self.number}"


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The names that are visible at a place: one variable, and the scope before its declaration.

    `block` identifies the block of the variable, `label` is its name.
    """

    parent: Scope | None = None
    variable: Variable | None = None
    alias: str = ""
    block: object = None
    label: str = ""

    def enter(self, label: str = "") -> Scope:
        """Returns the scope of a block within this one."""
        return Scope(self, block=object(), label=label)

    def add(self, variable: Variable, alias: str = "") -> Scope:
        """Returns this scope with one variable more, under its own name or an alias."""
        return Scope(self, variable, alias or variable.name, self.block, self.label)

    def find(self, name: str, label: str | None = None) -> Variable | None:
        """Returns the innermost variable of a name, of the block of a label if that is given."""
        for each in self._chain():
            if each.variable is not None and each.alias == name and label in {None, each.label}:
                return each.variable
        return None

    def has_in_block(self, name: str) -> bool:
        """Whether the innermost block declares a name."""
        return any(each.block is self.block and each.variable and each.alias == name for each in self._chain())

    def _chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """SQL text within a body: an expression or a statement, and the scope of its names."""

    text: str
    scope: Scope
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class CursorQuery:
    """The query of a bound cursor, and its parameters."""

    parameters: tuple[Variable, ...]
    query: Fragment
    scroll: bool | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """What a name in a body denotes: a variable, or with `path` a field of a record."""

    variable: Variable
    path: tuple[str, ...] = field(default=())


def find_reference(scope: Scope, names: tuple[str, ...]) -> Reference | None:
    """Returns what a possibly qualified name denotes: var, var.field, label.var, label.var.field."""
    if len(names) == 1:
        found = scope.find(names[0])
        return None if found is None else Reference(found)
    first = scope.find(names[0])
    if first is not None and first.is_record:
        return Reference(first, names[1:])
    labelled = scope.find(names[1], names[0])
    if labelled is not None and (len(names) == 2 or labelled.is_record):
        return Reference(labelled, names[2:])
    return None
