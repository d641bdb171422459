"""Compilation of statements that contain no others: assignments, RETURN, RAISE, SQL, cursors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.plpgsql.plans import bind_statically
from gpudb.plpgsql.references import NeedsRecord
from gpudb.plpgsql.scope import Fragment, Reference, Variable
from gpudb.plpgsql.tree import (
    Assert,
    Assign,
    Call,
    Close,
    EndTransaction,
    Execute,
    Fetch,
    GetDiagnostics,
    Open,
    Perform,
    Raise,
    Return,
    ReturnNext,
    ReturnQuery,
    Sql,
    Statement,
    Target,
)
from gpudb.types import INT4, INT8, OID, TEXT

if TYPE_CHECKING:
    from gpudb.plpgsql.compiler import Compiler

_DIRECTIONS = {
    "next": ("forward", None), "prior": ("backward", None), "first": ("absolute", 1), "last": ("absolute", -1),
    "absolute": ("absolute", None), "relative": ("relative", None), "forward": ("forward", None),
    "backward": ("backward", None), "forward all": ("forward", 1 << 62), "backward all": ("backward", 1 << 62),
}  # fmt: skip


def write_action(compiler: Compiler, statement: Statement) -> None:
    """Writes a statement."""
    _WRITERS[type(statement)](compiler, statement)


# ---- assignment


def write_record(compiler: Compiler, variable: Variable, value: Fragment | None) -> None:
    """Writes the assignment of an expression, or NULL, to a record."""
    if value is None:
        if variable.type is None:
            compiler.write(f"{variable.local} = None")
        else:
            compiler.write(f"{variable.local} = rt.null_record({compiler.names.add(variable.type)})")
        return
    name, values, _ = compiler.expression(value)
    compiler.write(f"{variable.local} = rt.record({name}, {values}, {compiler.names.add(variable)})")


def write_typed(compiler: Compiler, variable: Variable, value: Fragment) -> None:
    """Writes the assignment of an expression to a new variable, which gets the expression's type.

    Where that is not known before the body runs, the variable is a record with one field, `value`.
    """
    _, _, ready = compiler.expression(value)
    found = bind_statically(ready, compiler.host)
    if found is None:
        compiler.write(f"{variable.local} = rt.single_record({compiler.row(value)})")
        return
    variable.type = found[0].columns[0].type.plain
    compiler.assign(variable, compiler.value(value, variable.type))


def _write_assign(compiler: Compiler, statement: Assign) -> None:
    variable, path = statement.target.variable, statement.target.path
    context = f'PL/pgSQL assignment "{statement.source}"'
    if path:
        if statement.subscripts:
            raise FeatureNotSupported("assignments to items of a record's array are not supported")
        known = compiler.names.add(variable)
        row = compiler.names.temporary()
        compiler.write(f"{row} = {compiler.row(statement.value)}")
        compiler.write(
            f"{variable.local} = rt.set_field({variable.local}, {known}, {path!r}, {row}[1][0], {row}[0][0][1])"
        )
        return
    if statement.subscripts:
        _write_item(compiler, statement, variable)
        return
    if variable.is_record:
        write_record(compiler, variable, statement.value)
        return
    assert variable.type is not None
    code = compiler.simple(statement.value, variable.type)
    if code is not None:
        compiler.assign(variable, code.source, nullable=code.nullable)
    else:
        compiler.assign(variable, compiler.value(statement.value, variable.type, context))


def _write_item(compiler: Compiler, statement: Assign, variable: Variable) -> None:
    item = variable.type.element if variable.type is not None else None
    if item is None:
        raise FeatureNotSupported(f"assignments to subscripts of type {variable.type} are not supported")
    places = []
    for _, high, is_slice in statement.subscripts:
        if is_slice or high is None:
            raise FeatureNotSupported("assignments to slices of arrays are not supported in PL/pgSQL")
        places.append(compiler.value(high, INT4))
    value = compiler.value(statement.value, item)
    found = "".join(f"{place}, " for place in places)
    compiler.write(f"{variable.local} = rt.set_item({variable.local}, ({found}), {value})")


# ---- returning


def _write_return(compiler: Compiler, statement: Return) -> None:
    shape = compiler.shape
    if statement.value is None:
        compiler.write_return_outputs()
    elif shape.kind == "trigger":
        _write_trigger_return(compiler, statement.value)
    elif shape.kind == "row":
        types = compiler.names.add(shape.types)
        name, values, _ = compiler.expression(statement.value)
        compiler.write(f"return rt.returned_row({name}, {values}, {types})")
    else:
        assert shape.result is not None
        code = compiler.simple(statement.value, shape.result)
        if code is not None:
            compiler.write(f"return ({code.source},)")
            return
        if shape.result.fields:
            compiler.write(f"return ({compiler.value(statement.value, shape.result)},)")
            return
        name, values, _ = compiler.expression(statement.value)
        row = compiler.names.temporary()
        compiler.write(f"{row} = rt.any_row({name}, {values})")
        compiler.at_phase("while casting return value to function's return type")
        compiler.write(f"return (rt.convert({row}[1], {row}[0], {compiler.names.add(shape.result)}),)")
        compiler.at_statement(statement)


def _write_trigger_return(compiler: Compiler, value: Fragment) -> None:
    """Writes RETURN of a trigger function: a record itself, so that an unchanged NEW is recognised, or NULL."""
    words = value.text.split()
    if [each.lower() for each in words] == ["null"]:
        compiler.write("return None")
        return
    variable = value.scope.find(words[0].lower()) if len(words) == 1 else None
    if variable is not None and variable.is_record:
        compiler.write(f"return {variable.local}")
        return
    name, values, _ = compiler.expression(value)
    compiler.write(f"return rt.trigger_row({name}, {values})")


def _write_return_next(compiler: Compiler, statement: ReturnNext) -> None:
    shape = compiler.shape
    if statement.value is None:
        compiler.write(f"rt.rows.append({compiler.outputs()})")
    elif len(shape.types) == 1:
        compiler.write(f"rt.rows.append(({compiler.value(statement.value, shape.types[0])},))")
    else:
        types = compiler.names.add(shape.types)
        name, values, _ = compiler.expression(statement.value)
        compiler.write(f"rt.rows.append(rt.returned_row({name}, {values}, {types}))")


def _write_return_query(compiler: Compiler, statement: ReturnQuery) -> None:
    types = compiler.names.add(compiler.shape.types)
    context = "None"
    if statement.dynamic:
        rows = f"rt.iterate_text({compiler.text(statement.query)}, {using(compiler, statement.using)})"
    else:
        name, values, _ = compiler.sql(statement.query, "", f'SQL statement "{statement.query.text}"')
        rows, context = f"rt.iterate({name}, {values})", f"{name}.context"
    compiler.write(f"{compiler.found} = rt.add_query({rows}, {types}, {context})")


# ---- messages


def _write_raise(compiler: Compiler, statement: Raise) -> None:
    if statement.again:
        compiler.write("raise rt.error_again()")
        return
    arguments = "".join(f"{compiler.text(each)}, " for each in statement.arguments)
    options = "".join(f"{name!r}: {compiler.text(value)}, " for name, value in statement.options)
    state, name = statement.condition, statement.condition_name
    compiler.write(
        f"rt.raise_({statement.level!r}, {state!r}, {name!r}, {statement.message!r}, ({arguments}), {{{options}}})"
    )


def _write_assert(compiler: Compiler, statement: Assert) -> None:
    compiler.write(f"if rt.host.asserts() and not {compiler.condition(statement.condition)}:")
    message = "None" if statement.message is None else compiler.text(statement.message)
    compiler.write(f" rt.fail_assertion({message})")


def _write_diagnostics(compiler: Compiler, statement: GetDiagnostics) -> None:
    for target, item in statement.items:
        match item:
            case "row_count":
                source, kind = "rt.row_count", INT8
            case "pg_context":
                source, kind = "rt.context()", TEXT
            case "pg_routine_oid":
                source, kind = "rt.host.routine_oid", OID
            case _:
                source, kind = f"rt.diagnostics({item!r})", TEXT
        _write_value(compiler, target, source, compiler.names.add(kind))


def _write_value(compiler: Compiler, target: Reference, source: str, item: str) -> None:
    variable = target.variable
    if target.path:
        known = compiler.names.add(variable)
        compiler.write(f"{variable.local} = rt.set_field({variable.local}, {known}, {target.path!r}, {source}, {item})")
        return
    assert variable.type is not None
    compiler.assign(variable, f"rt.convert({source}, {item}, {compiler.names.add(variable.type)})")


# ---- SQL


def using(compiler: Compiler, values: Sequence[Fragment]) -> str:
    """Python of the values of USING."""
    return "(" + "".join(f"{compiler.row(each)}, " for each in values) + ")"


def _write_perform(compiler: Compiler, statement: Perform) -> None:
    name, values, _ = compiler.sql(statement.query, "SELECT ", f'SQL statement "SELECT {statement.query.text}"')
    compiler.write(f"{compiler.found} = rt.perform({name}, {values})")


def _write_sql(compiler: Compiler, statement: Sql) -> None:
    name, values, _ = compiler.sql(statement.query, "", f'SQL statement "{statement.query.text}"')
    if statement.into is None:
        result = compiler.names.temporary()
        compiler.write(f"{result} = rt.execute({name}, {values})")
        compiler.write(f"if {result} is not None: {compiler.found} = {result}")
        return
    _write_into(compiler, statement.into, f"rt.fetch({name}, {values}, {_strict(compiler, statement.strict)})")


def _strict(compiler: Compiler, strict: bool) -> str:
    return f"strict={strict}, prints={strict and compiler.body.prints_parameters}"


def _write_into(compiler: Compiler, target: Target, fetched: str) -> None:
    unique = compiler.names.temporary()
    row, columns = f"r{unique}", f"c{unique}"
    compiler.write(f"{row}, {columns} = {fetched}")
    compiler.write(f"{compiler.found} = {row} is not None")
    compiler.store_row(target, row, columns)


def _write_execute(compiler: Compiler, statement: Execute) -> None:
    text, values = compiler.text(statement.query), using(compiler, statement.using)
    if statement.into is None:
        compiler.write(f"rt.execute_text({text}, {values})")
        return
    unique = compiler.names.temporary()
    row, columns = f"r{unique}", f"c{unique}"
    compiler.write(f"{row}, {columns} = rt.fetch_text({text}, {values}, {_strict(compiler, statement.strict)})")
    compiler.store_row(statement.into, row, columns)


def _write_call(compiler: Compiler, statement: Call) -> None:
    name, values, ready = compiler.sql(statement.query, "", f'SQL statement "{statement.query.text}"')
    unique = compiler.names.temporary()
    row, columns = f"r{unique}", f"c{unique}"
    compiler.write(f"{row}, {columns} = rt.call({name}, {values}, is_guarded={compiler.guards > 0})")
    if statement.is_call:
        try:
            targets = compiler.host.output_targets(ready.text, ready.references(None))
        except (NeedsRecord, GpudbError) as error:
            if isinstance(error, GpudbError) and error.sqlstate == "42601":
                raise
            # It does not exist yet, or fields of records determine it: the call finds it, or says that there is none
            compiler.write(f"rt.check_no_outputs({columns})")
            return
        for place, names in enumerate(targets):
            reference = compiler.find_target(statement.query.scope, names)
            compiler.store_part(reference, row, place)


# ---- cursors


def write_open(compiler: Compiler, variable: Variable, arguments: Sequence[Fragment]) -> None:
    """Writes the opening of a bound cursor."""
    assert variable.cursor is not None
    for parameter, value in zip(variable.cursor.parameters, arguments, strict=True):
        assert parameter.type is not None
        compiler.write(f"{parameter.local} = {compiler.value(value, parameter.type)}")
    query = variable.cursor.query
    name, values, _ = compiler.sql(query, "", f'SQL statement "{query.text}"')
    opened = f"rt.open_cursor({variable.local}, {name}, {values}, {variable.cursor.scroll})"
    compiler.write(f"{variable.local} = {opened}")


def _write_open(compiler: Compiler, statement: Open) -> None:
    variable = statement.cursor
    if statement.query is None:
        write_open(compiler, variable, statement.arguments)
    elif statement.dynamic:
        text, values = compiler.text(statement.query), using(compiler, statement.using)
        opened = f"rt.open_text({variable.local}, {text}, {values}, {statement.scroll})"
        compiler.write(f"{variable.local} = {opened}")
    else:
        name, values, _ = compiler.sql(statement.query, "", f'SQL statement "{statement.query.text}"')
        opened = f"rt.open_cursor({variable.local}, {name}, {values}, {statement.scroll})"
        compiler.write(f"{variable.local} = {opened}")


def _write_fetch(compiler: Compiler, statement: Fetch) -> None:
    direction, fixed = _DIRECTIONS[statement.direction]
    count = repr(fixed) if statement.count is None else compiler.value(statement.count, INT4)
    variable = statement.cursor
    arguments = f"{variable.name!r}, {variable.local}, {direction!r}, {count}"
    if statement.is_move:
        compiler.write(f"{compiler.found} = rt.move_cursor({arguments})")
        return
    assert statement.into is not None
    _write_into(compiler, statement.into, f"rt.fetch_cursor({arguments})")


def _write_close(compiler: Compiler, statement: Close) -> None:
    compiler.write(f"rt.close_cursor({statement.cursor.name!r}, {statement.cursor.local})")


def _write_end(compiler: Compiler, statement: EndTransaction) -> None:
    if compiler.guards:
        compiler.write(f"raise rt.subtransaction_error({statement.commit})")
        return
    compiler.write(f"rt.host.end_transaction(commit={statement.commit}, chain={statement.chain})")


_WRITERS: dict[type, Callable[[Compiler, Any], None]] = {
    Assert: _write_assert,
    Assign: _write_assign,
    Call: _write_call,
    Close: _write_close,
    EndTransaction: _write_end,
    Execute: _write_execute,
    Fetch: _write_fetch,
    GetDiagnostics: _write_diagnostics,
    Open: _write_open,
    Perform: _write_perform,
    Raise: _write_raise,
    Return: _write_return,
    ReturnNext: _write_return_next,
    ReturnQuery: _write_return_query,
    Sql: _write_sql,
}
