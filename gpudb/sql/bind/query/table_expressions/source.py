"""The arguments of a table expression: its query, with the columns of that, and the calls that follow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from gpudb.errors import GpudbError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import OutputColumn, Query
from gpudb.sql.parse.friendly.pivot import AS
from gpudb.sql.parse.parser import children, inner, kind, strings


class Source:
    """The call of a table expression, whose query sees `scope`."""

    def __init__(self, binder: Binder, scope: Scope, call: Any) -> None:
        self.binder, self.scope, self.call = binder, scope, call
        self.node: Any = inner(inner(call.args[0]).subselect)
        """The SelectStmt message of its query."""

    @cached_property
    def query(self) -> Query:
        """The query, bound."""
        return self.binder.bind_query(self.node, self.scope)

    @property
    def columns(self) -> Sequence[OutputColumn]:
        """The columns of the query."""
        return self.query.columns

    def arguments(self, function: str) -> list[list[Any]]:
        """Returns the arguments of each call of a function among those of this one."""
        calls = [inner(each) for each in self.call.args[1:]]
        return [list(each.args) for each in calls if strings(each.funcname) == (function,)]

    def locate(self, error: GpudbError) -> GpudbError:
        """Returns an error with the position of the table expression."""
        return self.binder.locate(error, self.call.location)


def read_named(node: Any) -> tuple[Any, str | None]:
    """Returns an expression and the name that it was given."""
    if kind(node) != "func_call" or strings(inner(node).funcname) != (AS,):
        return node, None
    expression, name = inner(node).args
    if kind(name) == "a_const":
        return expression, str(inner(name).sval.sval)
    return expression, strings(inner(name).fields)[-1]


def list_names(node: Any) -> list[str]:
    """Returns the names of the columns that an expression reads."""
    if node.DESCRIPTOR.name == "ColumnRef":
        return [each.string.sval for each in node.fields[-1:] if kind(each) == "string"]
    return [name for each in children(node) for name in list_names(each)]
