"""Compiled bodies: the function that a body becomes, its variables, and its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

from gpudb.errors import SqlError
from gpudb.plpython import plpy_module
from gpudb.plpython.definitions import Definition
from gpudb.plpython.errors import FILE

GD: dict[Any, Any] = {}
"""What all bodies of the session share."""
_MISSING = object()


def compile_body(definition: Definition) -> CodeType:
    """Compiles a body as that of a function; 38000 for text that is no Python."""
    name = _function_name(definition)
    body = definition.body.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\n\t")
    try:
        return compile(f"def {name}():\n\t{body}\n", FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        what = "anonymous code block" if definition.name is None else f'function "{definition.name}"'
        if isinstance(error, SyntaxError) and error.lineno is not None:
            shown = f"{type(error).__name__}: {error.msg} ({FILE}, line {error.lineno})"
        else:
            shown = f"{type(error).__name__}: {error}"
        message = f"could not compile PL/Python {what}"
        raise SqlError.of("external_routine_exception", message, detail=shown) from None


def _function_name(definition: Definition) -> str:
    if definition.name is None:
        return "__plpython_inline_block"
    plain = "".join(each if each.isascii() and each.isalnum() else "_" for each in definition.name)
    return f"__plpython_procedure_{plain}_{definition.oid}"


class Procedure:
    """A compiled body with its variables: they last until the routine changes."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.variables: dict[str, Any] = {
            "__name__": "__main__", "plpy": plpy_module.plpy, "GD": GD, "SD": {}, "args": [],
        }  # fmt: skip
        exec(compile_body(definition), self.variables)
        self._function: Callable[[], Any] = self.variables[_function_name(definition)]

    @contextmanager
    def call(self, arguments: Sequence[Any], more: dict[str, Any] | None = None) -> Iterator[Any]:
        """Runs the body with the values of its inputs, and with further variables (TD); yields its result.

        The variables are there until the block ends: a generator that the body returns reads them.
        """
        variables, definition = self.variables, self.definition
        given: dict[str, Any] = {"args": list(arguments), **(more or {})}
        given |= {name: value for name, value in zip(definition.names, arguments, strict=True) if name}
        before = {name: variables.get(name, _MISSING) for name in given}
        variables.update(given)
        try:
            yield self._function()
        finally:  # a call within a call has its own
            for name, value in before.items():
                if value is _MISSING:
                    variables.pop(name, None)
                else:
                    variables[name] = value


_PROCEDURES: dict[int, Procedure] = {}


def find_procedure(definition: Definition) -> Procedure:
    """Returns the compiled body of a routine."""
    if definition.name is None:
        return Procedure(definition)
    known = _PROCEDURES.get(definition.oid)
    if known is None or known.definition != definition:
        known = _PROCEDURES[definition.oid] = Procedure(definition)
    return known
