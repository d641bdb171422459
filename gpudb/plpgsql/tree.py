"""Nodes of a PL/pgSQL body: blocks, declarations and statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpudb.plpgsql.scope import Fragment, Reference, Variable


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What INTO and FETCH fill: a record, or a list of variables and fields."""

    record: Reference | None
    parts: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement; `line` is its line in the body, `shown` its name in error contexts."""

    line: int
    shown: ClassVar[str] = ""


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """WHEN condition OR … THEN statements; a condition is a SQLSTATE, or "" for OTHERS."""

    line: int
    conditions: tuple[str, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block(Statement):
    """[DECLARE …] BEGIN … [EXCEPTION …] END; `state` and `message` are SQLSTATE and SQLERRM of the handlers."""

    label: str
    variables: tuple[Variable, ...]
    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...] = ()
    state: Variable | None = None
    message: Variable | None = None
    shown: ClassVar[str] = "statement block"


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Statement):
    """variable := expression; `subscripts` are those of an array's item, each (low, high) with low None for an item.

    `source` is the text of the statement.
    """

    target: Reference
    subscripts: tuple[tuple[Fragment | None, Fragment | None, bool], ...]
    value: Fragment
    source: str
    shown: ClassVar[str] = "assignment"


@dataclass(frozen=True, slots=True, eq=False)
class If(Statement):
    """IF … ELSIF … ELSE."""

    branches: tuple[tuple[Fragment, tuple[Statement, ...], int], ...]
    otherwise: tuple[Statement, ...]
    shown: ClassVar[str] = "IF"


@dataclass(frozen=True, slots=True, eq=False)
class Case(Statement):
    """CASE; a simple CASE keeps its operand in a `variable` that the conditions of the branches read."""

    operand: Fragment | None
    variable: Variable | None
    branches: tuple[tuple[Fragment, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...] | None
    shown: ClassVar[str] = "CASE"


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Statement):
    """LOOP, or WHILE with a condition."""

    label: str
    condition: Fragment | None
    body: tuple[Statement, ...]

    @property
    def name(self) -> str:
        """The name in error contexts."""
        return "LOOP" if self.condition is None else "WHILE"


@dataclass(frozen=True, slots=True, eq=False)
class ForRange(Statement):
    """FOR variable IN [REVERSE] low .. high [BY step]."""

    label: str
    variable: Variable
    low: Fragment
    high: Fragment
    step: Fragment | None
    reverse: bool
    body: tuple[Statement, ...]
    shown: ClassVar[str] = "FOR with integer loop variable"


@dataclass(frozen=True, slots=True, eq=False)
class ForQuery(Statement):
    """FOR target IN query."""

    label: str
    target: Target
    query: Fragment
    body: tuple[Statement, ...]
    shown: ClassVar[str] = "FOR over SELECT rows"


@dataclass(frozen=True, slots=True, eq=False)
class ForExecute(Statement):
    """FOR target IN EXECUTE text USING …."""

    label: str
    target: Target
    query: Fragment
    using: tuple[Fragment, ...]
    body: tuple[Statement, ...]
    shown: ClassVar[str] = "FOR over EXECUTE statement"


@dataclass(frozen=True, slots=True, eq=False)
class ForCursor(Statement):
    """FOR record IN cursor(arguments)."""

    label: str
    target: Target
    cursor: Variable
    arguments: tuple[Fragment, ...]
    body: tuple[Statement, ...]
    shown: ClassVar[str] = "FOR over cursor"


@dataclass(frozen=True, slots=True, eq=False)
class ForEach(Statement):
    """FOREACH target [SLICE n] IN ARRAY expression."""

    label: str
    target: Target
    slice: int
    array: Fragment
    body: tuple[Statement, ...]
    shown: ClassVar[str] = "FOREACH over array"


@dataclass(frozen=True, slots=True, eq=False)
class Exit(Statement):
    """EXIT or CONTINUE [label] [WHEN condition]."""

    is_exit: bool
    label: str
    condition: Fragment | None

    @property
    def name(self) -> str:
        """The name in error contexts."""
        return "EXIT" if self.is_exit else "CONTINUE"


@dataclass(frozen=True, slots=True, eq=False)
class Return(Statement):
    """RETURN [expression]."""

    value: Fragment | None
    shown: ClassVar[str] = "RETURN"


@dataclass(frozen=True, slots=True, eq=False)
class ReturnNext(Statement):
    """RETURN NEXT [expression]."""

    value: Fragment | None
    shown: ClassVar[str] = "RETURN NEXT"


@dataclass(frozen=True, slots=True, eq=False)
class ReturnQuery(Statement):
    """RETURN QUERY query, or RETURN QUERY EXECUTE text USING …."""

    query: Fragment
    dynamic: bool
    using: tuple[Fragment, ...] = ()
    shown: ClassVar[str] = "RETURN QUERY"


@dataclass(frozen=True, slots=True, eq=False)
class Raise(Statement):
    """RAISE; without anything it raises the handled error again.

    `condition` is a SQLSTATE, `condition_name` that or the condition's name, as written. `options` are
    (name, expression).
    """

    level: str
    condition: str
    condition_name: str
    message: str | None
    arguments: tuple[Fragment, ...]
    options: tuple[tuple[str, Fragment], ...]
    again: bool = False
    shown: ClassVar[str] = "RAISE"


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Statement):
    """ASSERT condition [, message]."""

    condition: Fragment
    message: Fragment | None
    shown: ClassVar[str] = "ASSERT"


@dataclass(frozen=True, slots=True, eq=False)
class Perform(Statement):
    """PERFORM query."""

    query: Fragment
    shown: ClassVar[str] = "PERFORM"


@dataclass(frozen=True, slots=True, eq=False)
class Sql(Statement):
    """A statement of SQL, with INTO [STRICT] taken out of its text."""

    query: Fragment
    into: Target | None
    strict: bool
    shown: ClassVar[str] = "SQL statement"


@dataclass(frozen=True, slots=True, eq=False)
class Call(Statement):
    """CALL or DO within a body."""

    query: Fragment
    is_call: bool

    @property
    def name(self) -> str:
        """The name in error contexts."""
        return "CALL" if self.is_call else "DO"


@dataclass(frozen=True, slots=True, eq=False)
class Execute(Statement):
    """EXECUTE text [INTO [STRICT] target] [USING …]."""

    query: Fragment
    into: Target | None
    strict: bool
    using: tuple[Fragment, ...]
    shown: ClassVar[str] = "EXECUTE"


@dataclass(frozen=True, slots=True, eq=False)
class GetDiagnostics(Statement):
    """GET [STACKED] DIAGNOSTICS variable = item, …."""

    stacked: bool
    items: tuple[tuple[Reference, str], ...]

    @property
    def name(self) -> str:
        """The name in error contexts."""
        return "GET STACKED DIAGNOSTICS" if self.stacked else "GET DIAGNOSTICS"


@dataclass(frozen=True, slots=True, eq=False)
class Open(Statement):
    """OPEN cursor: bound with arguments, FOR query, or FOR EXECUTE text USING …."""

    cursor: Variable
    arguments: tuple[Fragment, ...]
    query: Fragment | None
    dynamic: bool
    using: tuple[Fragment, ...]
    scroll: bool | None
    shown: ClassVar[str] = "OPEN"


@dataclass(frozen=True, slots=True, eq=False)
class Fetch(Statement):
    """FETCH direction FROM cursor INTO target, or MOVE; `count` is an expression, or None for 1 and ALL."""

    cursor: Variable
    direction: str
    count: Fragment | None
    into: Target | None
    is_move: bool

    @property
    def name(self) -> str:
        """The name in error contexts."""
        return "MOVE" if self.is_move else "FETCH"


@dataclass(frozen=True, slots=True, eq=False)
class Close(Statement):
    """CLOSE cursor."""

    cursor: Variable
    shown: ClassVar[str] = "CLOSE"


@dataclass(frozen=True, slots=True, eq=False)
class EndTransaction(Statement):
    """COMMIT or ROLLBACK [AND CHAIN]."""

    commit: bool
    chain: bool

    @property
    def name(self) -> str:
        """The name in error contexts."""
        return "COMMIT" if self.commit else "ROLLBACK"


@dataclass(frozen=True, slots=True, eq=False)
class Null(Statement):
    """NULL."""


def statement_name(statement: Statement) -> str:
    """Returns the name of a statement in error contexts."""
    return str(getattr(statement, "name", statement.shown))


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A parsed body: its parameters in order, its block, and how names that are also columns are understood.

    `prints_parameters` is #print_strict_params, `found` the variable FOUND, and
    `ends_transactions` whether the body has COMMIT, ROLLBACK, CALL or DO.
    """

    parameters: tuple[Variable, ...]
    found: Variable
    block: Block
    conflict: str = "error"
    prints_parameters: bool = False
    ends_transactions: bool = False
