"""Arguments of functions in FROM over queries: a value for each parameter, some known when a call is bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.functions import resolve
from gpudb.functions.library import get_default_text
from gpudb.functions.registry import Function
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import get_argument_names, strip_argument_name
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Array, Constant, Expr
from gpudb.sql.parse.parser import inner, parse, strings
from gpudb.types import TEXT, UNKNOWN

_BY_TEXT = frozenset({"query", "points", "columns", "weights", "target", "id"})
"""Parameters that decide what is read."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call with a value for each parameter, by its name; `location` is its place in the statement's text."""

    binder: Binder
    function: Function
    values: Mapping[str, Expr]
    location: int

    @property
    def options(self) -> tuple[str, ...]:
        """The parameters whose values the function reads when it runs."""
        return tuple(each for each in self.function.arg_names if each not in _BY_TEXT)

    def has(self, name: str) -> bool:
        """Whether the function has a parameter."""
        return name in self.values

    def text(self, name: str) -> str | None:
        """Returns a text that is known now; 0A000."""
        value = self._constant(name)
        return None if value is None else str(value)

    def required(self, name: str) -> str:
        """Returns a text that is known now and not NULL; 0A000, 22004."""
        value = self.text(name)
        if value is None:
            raise self._null(name)
        return value

    def integer(self, name: str) -> int:
        """Returns an integer that is known now and not NULL; 0A000, 22004."""
        value = self._constant(name)
        if value is None:
            raise self._null(name)
        assert isinstance(value, int)
        return value

    def names(self, name: str) -> tuple[str, ...] | None:
        """Returns an array of names that is known now; None for NULL; 0A000, 22004, 22023."""
        expr = self.values[name]
        if isinstance(expr, Array) and all(isinstance(each, Constant) for each in expr.items):
            value: object = [each.value for each in expr.items if isinstance(each, Constant)]
        else:
            value = self._constant(name)
        if value is None:
            return None
        assert isinstance(value, list)
        if not value or any(isinstance(each, list) for each in value):
            message = f"{name} of {self.function.name} must be an array of one dimension with names of columns"
            raise SqlError.of("invalid_parameter_value", message)
        if None in value:
            raise self._null(name)
        return tuple(map(str, value))

    def locate(self, error: GpudbError) -> GpudbError:
        """Returns an error with the call's position."""
        return self.binder.locate(error, self.location)

    def _constant(self, name: str) -> object:
        expr = self.values[name]
        if not isinstance(expr, Constant):
            message = f"{name} of {self.function.name} must be a constant"
            hint = "What the statement reads depends on it. In PL/pgSQL, EXECUTE runs a statement with its value."
            raise self.locate(FeatureNotSupported(message, hint=hint))
        return expr.value

    def _null(self, name: str) -> SqlError:
        return SqlError.of("null_value_not_allowed", f"{name} of {self.function.name} must not be null")


def bind_arguments(binder: Binder, scope: Scope, call: Any) -> Arguments:
    """Binds the arguments of a FuncCall message, with defaults for those that it lacks."""
    name = strings(call.funcname)[-1]
    clause, scope.clause = scope.clause, "FROM"
    try:
        args = [binder.bind_expression(scope, strip_argument_name(each)) for each in call.args]
    finally:
        scope.clause = clause
    types = tuple(each.type.plain for each in args)
    if types and types[0] == UNKNOWN:  # a query's text, and no matrix's
        types = (TEXT, *types[1:])
    candidate = resolve.resolve_function(name, types, "f", named=get_argument_names(call.args))
    function = candidate.target
    assert isinstance(function, Function)
    given = dict(zip(candidate.positions or range(len(args)), args, strict=True))
    values: dict[str, Expr] = {}
    for place, parameter in enumerate(function.arg_names):
        expr = given.get(place)
        if expr is None:
            default = inner(parse(f"SELECT {get_default_text(function, place)}")[0].node.target_list[0]).val
            expr = binder.bind_expression(Scope(), default)
        values[parameter] = coerce(binder, expr, function.args[place])
    return Arguments(binder, function, values, call.location)
