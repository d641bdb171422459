"""Routines in PL/Python: a process of the session runs their bodies, and the session answers what they ask.

A body that begins with the comment `# vectorized`, or `# vectorized numpy` (or another of
`plpython.definitions.VECTORS`), takes and returns whole columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.plpgsql.context import add_context, register_frame
from gpudb.plpgsql.records import column_values
from gpudb.plpython.definitions import VECTORS, Definition
from gpudb.session.context import Context
from gpudb.session.execution.routines.acting import act_for
from gpudb.session.execution.routines.children import get_child
from gpudb.session.execution.routines.languages import BLOCK, TRIGGER
from gpudb.session.execution.routines.literals import get_literal_value, make_table
from gpudb.session.execution.routines.procedural import SessionHost
from gpudb.session.execution.routines.python_host import PythonHost
from gpudb.session.execution.routines.python_triggers import PythonTrigger
from gpudb.session.execution.routines.routine_calls import call_value
from gpudb.sql.bind.expressions.routines import get_result_names, get_result_types
from gpudb.sql.bound import Expr
from gpudb.types import SqlType

MODULE = "gpudb.plpython.child"
"""What the process of a session serves."""
_MARKER = re.compile(r"\s*#\s*vectorized(?:\s+(\w+))?\s*$", re.MULTILINE)
_MAX_LEVEL = 100


class PythonLanguage:
    """PL/Python (see `languages.Language`)."""

    def check(self, context: Context, routine: Routine) -> None:
        """Compiles a body; 38000. 0A000 for what results may not be."""
        definition = _define(context, routine)
        if any(each.type.domain is not None for each in (*routine.outputs, *routine.arguments)) or (
            routine.result.domain is not None
        ):
            raise FeatureNotSupported("parameters and results of PL/Python functions cannot be domains")
        if definition.vectors and (routine.returns_set or len(definition.outputs) != 1 or routine.kind == "p"):
            raise FeatureNotSupported("a vectorised function returns one value for each row")
        get_child(context, MODULE).call("check", (definition,), context.cancel.check)

    def call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], args: Sequence[Expr], *, is_atomic: bool
    ) -> pa.Table | None:
        """Calls a routine with literals."""
        values = [get_literal_value(context, arg) for arg in args]
        return self._call(context, routine, types, values, is_atomic=is_atomic)

    def call_value(self, context: Context, routine: Routine, values: Sequence[object]) -> object:
        """Calls a function that returns one value."""
        table = self._call(context, routine, [routine.result], values, is_atomic=True)
        if table is None or not table.num_rows:
            return None
        return column_values(routine.result, table.column(0).combine_chunks(), context.session.settings["timezone"])[0]

    def _call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], values: Sequence[object], *, is_atomic: bool
    ) -> pa.Table | None:
        definition = _define(context, routine, types)
        if definition.vectors:
            given = make_table(definition.types, [values])
            columns = [each.combine_chunks() for each in given.columns]
            return pa.table([self.call_columns(context, routine, columns, 1)], names=["k1"])
        if routine.kind == "p":  # a call has places for output parameters, which the body has not
            values = [each for each, argument in zip(values, routine.inputs, strict=True) if argument.mode != "o"]
        found: pa.Table | None = _run(context, routine, "call", (definition, tuple(values)), is_atomic=is_atomic)
        if routine.result.name == "void" and routine.kind == "f":
            return make_table(types, [("",)])  # it has returned something: not NULL
        return found

    def takes_columns(self, routine: Routine) -> bool:
        """Whether calls over rows are one message: all that return one value."""
        return routine.result.name not in {"void", "record"}

    def call_columns(self, context: Context, routine: Routine, arguments: Sequence[pa.Array], count: int) -> pa.Array:
        """Calls a function for the rows of columns."""
        definition = _define(context, routine)
        found: pa.Array = _run(context, routine, "call_columns", (definition, tuple(arguments), count), is_atomic=True)
        return found

    def run_block(self, context: Context, routine: Routine, *, is_atomic: bool) -> None:
        """Runs the block of DO."""
        self._call(context, routine, (), (), is_atomic=is_atomic)

    def begin_trigger(
        self, context: Context, routine: Routine, row: SqlType, variables: Mapping[str, object]
    ) -> PythonTrigger:
        """Returns calls of a trigger function."""

        def call(values: tuple[object, ...]) -> Any:
            definition = replace(_define(context, routine), outputs=row.fields, is_record=True)
            return _run(context, routine, "call_trigger", (definition, *values), is_atomic=True)

        return PythonTrigger(call, row, variables, context.session.settings["timezone"])


def _define(context: Context, routine: Routine, types: Sequence[SqlType] | None = None) -> Definition:
    """Returns what the process is told of a routine; `types` are those of the call's result columns."""
    inputs = [each for each in routine.arguments if each.mode in {"i", "b", "v"}]
    outputs: tuple[tuple[str, SqlType], ...] = ()
    is_void = routine.result.name == "void" and routine.kind == "f"
    if not is_void and routine.result != TRIGGER and (routine.kind == "f" or routine.outputs):
        names = get_result_names(routine, None)
        outputs = tuple(zip(names, get_result_types(routine) if types is None else types, strict=True))
    shape = "procedure" if routine.kind == "p" else "set" if routine.returns_set else "nothing" if is_void else "value"
    return Definition(
        routine.oid,
        None if routine.name == BLOCK and not routine.oid else routine.name,
        routine.body,
        tuple(each.name for each in inputs),
        tuple(each.type for each in inputs),
        outputs,
        "trigger" if routine.result == TRIGGER else shape,
        bool(routine.rows_of) or len(routine.outputs) > 1 or routine.kind == "p",
        context.session.settings["timezone"],
        _read_vectors(context, routine),
    )


def _read_vectors(context: Context, routine: Routine) -> str:
    """Returns the form of columns for which a body's first line asks, or else its SET gpudb.vectorized.

    Empty for a body of single values. 22023.
    """
    own = dict(routine.settings)
    found, asked = _MARKER.match(routine.body), own.get("gpudb.vectorized", "off")
    if found is None and asked == "off":
        return ""
    named = found[1] if found is not None else "" if asked == "on" else asked
    form = named or own.get("gpudb.vectors") or context.session.settings["gpudb.vectors"]
    if form not in VECTORS:
        hint = f"Available forms: {', '.join(VECTORS)}."
        raise SqlError.of("invalid_parameter_value", f'unknown form of vectors "{form}"', hint=hint)
    return form


def _run(context: Context, routine: Routine, name: str, arguments: tuple[Any, ...], *, is_atomic: bool) -> Any:
    """Calls a function of the process in the session of one call."""
    if context.level >= _MAX_LEVEL:
        hint = "Calls of routines are nested too deeply."
        raise SqlError.of("statement_too_complex", "stack depth limit exceeded", hint=hint)
    inside = replace(context, plan=None, level=context.level + 1, session_calls=None, arguments=None, parameters=())
    host = SessionHost(inside, call_value, is_atomic=is_atomic, routine=routine)
    answers = PythonHost(host, routine)
    try:
        with act_for(context.session, context.transaction.catalog, routine):
            return get_child(context, MODULE).call(name, arguments, context.cancel.check, answers.answer)
    except GpudbError as error:
        add_context(error, error.__traceback__)
        raise
    finally:
        context.transaction = host.context.transaction


def _describe(frame: FrameType) -> str | None:
    routine = frame.f_locals["routine"]
    is_block = routine.name == BLOCK and not routine.oid
    return "PL/Python anonymous code block" if is_block else f'PL/Python function "{routine.name}"'


register_frame(_run.__code__, _describe)
