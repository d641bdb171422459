"""Routines in PL/pgSQL: their bodies are parsed and compiled once a session, and run with Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from gpudb.catalog.routines import Routine
from gpudb.errors import GpudbError, SqlError
from gpudb.functions.registry import Function
from gpudb.lru import LruCache
from gpudb.plpgsql.compilation import Compiled, compile_body, make_runtime
from gpudb.plpgsql.compiler import Shape
from gpudb.plpgsql.context import add_context
from gpudb.plpgsql.declared import Declared, Parameter
from gpudb.plpgsql.parser import parse_body
from gpudb.plpgsql.records import Record
from gpudb.plpgsql.tree import Body
from gpudb.session.context import Context, SessionState
from gpudb.session.execution.routines.acting import act_for
from gpudb.session.execution.routines.languages import BLOCK, TRIGGER
from gpudb.session.execution.routines.procedural import SessionHost, resolve_declared_type
from gpudb.session.execution.routines.routine_calls import call_value
from gpudb.session.execution.routines.value_calls import Rows, ValueCalls
from gpudb.sql.bind.expressions.routines import get_result_types
from gpudb.types import INT4, OID, TEXT, SqlType

_MAX_LEVEL = 300
_MAX_BODIES = 256
_BODIES: WeakKeyDictionary[SessionState, LruCache[object, Compiled]] = WeakKeyDictionary()
TRIGGER_VARIABLES = {
    "tg_name": TEXT, "tg_when": TEXT, "tg_level": TEXT, "tg_op": TEXT, "tg_relid": OID, "tg_relname": TEXT,
    "tg_table_name": TEXT, "tg_table_schema": TEXT, "tg_nargs": INT4, "tg_argv": TEXT.array,
}  # fmt: skip
"""The variables of a trigger function's body beside NEW and OLD."""
Caller = Callable[[Context, Function, Sequence[object]], object]


class PlpgsqlLanguage(ValueCalls):
    """PL/pgSQL (see `languages.Language`)."""

    def check(self, context: Context, routine: Routine) -> None:
        """Parses a body; 42601."""
        parse_routine(context, routine)

    def run(
        self, context: Context, routine: Routine, values: Sequence[object], *, is_atomic: bool
    ) -> Rows | tuple[object, ...] | None:
        """Runs a body (see `run_body`)."""
        return run_body(context, routine, values, call_value, is_atomic=is_atomic)

    def begin_trigger(
        self, context: Context, routine: Routine, row: SqlType, variables: Mapping[str, object]
    ) -> TriggerCall:
        """Returns calls of a trigger function."""
        return TriggerCall(context, routine, call_value, row, variables)


def parse_routine(context: Context, routine: Routine, row: SqlType | None = None) -> Body:
    """Parses the body of a routine; errors have positions in the body. `row` is the type of a trigger's OLD and NEW."""
    parameters = [each for each in routine.arguments if each.mode != "t" or not routine.rows_of]
    is_trigger = routine.result == TRIGGER
    declared = Declared(
        routine.name,
        tuple(Parameter(each.name, each.type, each.mode != "o") for each in parameters),
        (("new", row), ("old", row), *TRIGGER_VARIABLES.items()) if is_trigger else (),
        returns_set=routine.returns_set,
        returns_nothing=routine.kind == "p" or routine.result.name == "void",
        has_outputs=any(each.mode in {"o", "b", "t"} for each in parameters),
        is_procedure=routine.kind == "p",
        is_block=routine.name == BLOCK,
    )
    try:
        return parse_body(routine.body, declared, lambda text: resolve_declared_type(context, text))
    except GpudbError as error:
        if error.position is None:
            line = error.where if error.where and error.where.startswith("near") else "near line 1"
            error.where = f'compilation of PL/pgSQL function "{routine.name}" {line}'
        error.has_calls = True
        raise


def find_shape(routine: Routine) -> Shape:
    """Returns what a routine's body returns."""
    parameters = [each for each in routine.arguments if each.mode != "t" or not routine.rows_of]
    outputs = tuple(place for place, each in enumerate(parameters) if each.mode in {"o", "b", "t"})
    if routine.result == TRIGGER:
        return Shape("trigger")
    types = get_result_types(routine)
    if routine.kind == "p":
        return Shape("procedure", types if outputs else (), outputs)
    if routine.returns_set:
        return Shape("set", types, outputs)
    if routine.result.name == "void":
        return Shape("nothing")
    if outputs:
        return Shape("value", types, outputs, types[0])
    if routine.rows_of or len(types) > 1:
        return Shape("row", types)
    return Shape("value", types, (), types[0])


def run_body(
    context: Context,
    routine: Routine,
    values: Sequence[object],
    call: Caller,
    *,
    is_atomic: bool = True,
) -> Rows | tuple[object, ...] | None:
    """Runs a routine with the values of its inputs: its rows, the values of its result, or None for nothing."""
    found: Any = _Call(context, routine, call, is_atomic=is_atomic).run(_arguments(routine, values))
    return _without_records(found)


class _Call:
    """A call of a routine, or calls of a trigger function for several rows of type `row`."""

    def __init__(
        self, context: Context, routine: Routine, call: Caller, row: SqlType | None = None, *, is_atomic: bool = True
    ) -> None:
        if context.level >= _MAX_LEVEL:
            raise stack_depth_error()
        self._outside, self._routine, self._row = context, routine, row
        inside = replace(context, plan=None, level=context.level + 1, session_calls=None, arguments=None, parameters=())
        self._host = SessionHost(inside, call, is_atomic=is_atomic, routine=routine)

    def run(self, arguments: Sequence[object]) -> object:
        """Runs the body with the values of its variables."""
        routine, host = self._routine, self._host
        with act_for(self._outside.session, self._outside.transaction.catalog, routine):
            try:
                compiled = _find_compiled(self._outside, routine, host, self._row)
                return compiled.run(make_runtime(host, compiled), *arguments)
            except GpudbError as error:
                add_context(error, error.__traceback__)
                raise
            except RecursionError:
                raise stack_depth_error() from None
            finally:
                self._outside.transaction = host.context.transaction


class TriggerCall:
    """A trigger function that runs for rows of one relation."""

    def __init__(
        self, context: Context, routine: Routine, call: Caller, row: SqlType, variables: Mapping[str, object]
    ) -> None:
        """`variables` are the values of TRIGGER_VARIABLES."""
        self._call = _Call(context, routine, call, row)
        self._variables = [variables[name] for name in TRIGGER_VARIABLES]

    def run(self, new: Record, old: Record) -> Record | None:
        """Returns what the function returns: a row, `new` or `old` themselves among others, or None for NULL."""
        found = self._call.run((new, old, *self._variables))
        return found if isinstance(found, Record) else None


def _arguments(routine: Routine, values: Sequence[object]) -> list[object]:
    """Returns the values of all parameters of the body, NULL for those without."""
    given = iter(values)
    result: list[object] = []
    for each in routine.arguments:
        if each.mode == "t":
            if not routine.rows_of:
                result.append(None)
        elif each.mode == "o":
            if routine.kind == "p":
                next(given)
            result.append(None)
        else:
            value = next(given)
            if each.type.fields and each.type.element is None:
                value = _as_record(each.type, value)
            result.append(value)
    return result


def _as_record(item: SqlType, value: object) -> Record:
    names, types = tuple(n for n, _ in item.fields), tuple(t for _, t in item.fields)
    return Record(names, types, list(value) if isinstance(value, tuple) else [None] * len(names))


def _find_compiled(context: Context, routine: Routine, host: SessionHost, row: SqlType | None = None) -> Compiled:
    session = context.session
    bodies = _BODIES.get(session)
    if bodies is None:
        bodies = _BODIES[session] = LruCache(_MAX_BODIES)
    key = routine, row, host.version(), session.user, session.search_path()
    compiled = bodies.get(key)
    if compiled is None:
        body = parse_routine(context, routine, row)
        compiled = compile_body(body, host, _signature(routine), find_shape(routine))
        bodies.put(key, compiled)
    return compiled


def _signature(routine: Routine) -> str:
    if routine.name == BLOCK and not routine.oid:
        return BLOCK
    types = ",".join(str(each.type) for each in routine.inputs if each.mode != "o")
    return f"{routine.name}({types})"


def _without_records(found: Rows | tuple[object, ...] | None) -> Rows | tuple[object, ...] | None:
    """Returns rows or values with records as tuples."""
    if isinstance(found, list):
        return [tuple(map(_plain_value, row)) for row in found]
    return None if found is None else tuple(map(_plain_value, found))


def _plain_value(value: object) -> object:
    return tuple(map(_plain_value, value.values)) if isinstance(value, Record) else value


def stack_depth_error() -> SqlError:
    """Returns the error for calls that are nested too deeply."""
    hint = "Calls of routines are nested too deeply."
    return SqlError.of("statement_too_complex", "stack depth limit exceeded", hint=hint)
