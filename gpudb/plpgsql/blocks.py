"""Compilation of control structures: blocks with their handlers, IF, CASE, loops, EXIT and CONTINUE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudb.plpgsql import actions
from gpudb.plpgsql.tree import (
    Block,
    Case,
    Exit,
    ForCursor,
    ForEach,
    ForExecute,
    ForQuery,
    ForRange,
    If,
    Loop,
    Null,
    Statement,
    Target,
)
from gpudb.types import INT4

if TYPE_CHECKING:
    from gpudb.plpgsql.compiler import Compiler


def write_statements(compiler: Compiler, statements: Sequence[Statement]) -> None:
    """Writes statements; at least one line of Python."""
    compiler.write("pass")
    for each in statements:
        compiler.at_statement(each)
        write = _WRITERS.get(type(each))
        if write is not None:
            write(compiler, each)
        else:
            actions.write_action(compiler, each)


def write_block(compiler: Compiler, block: Block) -> None:
    """Writes a block: its variables, its statements, and its handlers."""
    uses_break = bool(block.label) and _is_left(block)
    if uses_break:
        _begin_loop(compiler, block.label, is_loop=False)
        _clear_jumps(compiler)
        compiler.write("while True:")
        compiler.indent()
    _write_variables(compiler, block)
    if block.handlers:
        _write_guarded(compiler, block)
    else:
        write_statements(compiler, block.body)
    if uses_break:
        compiler.write("break")
        compiler.indent(-1)
        _end_loop(compiler)


def _write_variables(compiler: Compiler, block: Block) -> None:
    for variable in block.variables:
        shown = "during statement block local variable initialization"
        compiler.at(variable.line, shown)
        if variable.cursor is not None:
            for each in variable.cursor.parameters:
                compiler.write(f"{each.local} = None")
            compiler.write(f"{variable.local} = None")
        elif variable.is_record:
            actions.write_record(compiler, variable, variable.default)
        elif variable.default is None:
            assert variable.type is not None
            if variable.type.domain is not None:
                item = compiler.names.add(variable.type)
                text = compiler.names.add(variable.type.without_modifier.plain)
                compiler.write(f"{variable.local} = rt.convert(None, {text}, {item})")
            else:
                compiler.write(f"{variable.local} = None")
        else:
            assert variable.type is not None
            compiler.assign(variable, compiler.value(variable.default, variable.type))


def _write_guarded(compiler: Compiler, block: Block) -> None:
    assert block.state is not None
    assert block.message is not None
    number = block.state.number
    compiler.at(block.line, "during statement block entry")
    compiler.write(f"s{number} = rt.host.savepoint()")
    compiler.write("try:")
    compiler.indent()
    compiler.guards += 1
    write_statements(compiler, block.body)
    compiler.guards -= 1
    compiler.indent(-1)
    compiler.write(f"except Exception as e{number}:")
    compiler.indent()
    compiler.at(block.line, "during exception cleanup")
    compiler.write(f"x{number} = rt.caught(e{number}, s{number})")
    word = "if"
    for handler in block.handlers:
        compiler.write(f"{word} matches(x{number}, {handler.conditions!r}):")
        word = "elif"
        compiler.indent()
        compiler.write(f"{block.state.local} = x{number}.sqlstate")
        compiler.write(f"{block.message.local} = x{number}.message")
        compiler.write(f"rt.errors.append(x{number})")
        compiler.write("try:")
        compiler.indent()
        write_statements(compiler, handler.body)
        compiler.indent(-1)
        compiler.write("finally:")
        compiler.write(" rt.errors.pop()")
        compiler.indent(-1)
    compiler.write("else:")
    compiler.write(f" raise x{number}")
    compiler.indent(-1)


# ---- branches


def _write_if(compiler: Compiler, statement: If) -> None:
    word = "if"
    for condition, body, line in statement.branches:
        compiler.at(line, "at IF")
        _write_branch(compiler, f"{word} {compiler.condition(condition)}:", body)
        word = "elif"
    if statement.otherwise:
        _write_branch(compiler, "else:", statement.otherwise)


def _write_branch(compiler: Compiler, head: str, body: Sequence[Statement]) -> None:
    compiler.write(head)
    compiler.indent()
    write_statements(compiler, body)
    compiler.indent(-1)


def _write_case(compiler: Compiler, statement: Case) -> None:
    if statement.variable is not None:
        assert statement.operand is not None
        actions.write_typed(compiler, statement.variable, statement.operand)
    word = "if"
    for condition, body in statement.branches:
        if statement.variable is not None and statement.variable.type is None:
            name = f'"{statement.variable.name}"'
            condition = replace(condition, text=condition.text.replace(name, f"{name}.value", 1))
        compiler.at_statement(statement)
        _write_branch(compiler, f"{word} {compiler.condition(condition)}:", body)
        word = "elif"
    if statement.otherwise is not None:
        _write_branch(compiler, "else:", statement.otherwise)
        return
    compiler.at_statement(statement)
    compiler.write("else:")
    compiler.write(" raise rt.no_case()")


# ---- loops


def _begin_loop(compiler: Compiler, label: str, *, is_loop: bool) -> None:
    compiler.begin_loop(label, is_loop=is_loop)


def _end_loop(compiler: Compiler) -> None:
    """Writes what follows a loop: jumps of inner statements to loops further out go on."""
    ended = compiler.loops.pop()
    depth = len(compiler.loops)
    for kind, target in sorted(ended.pending):
        flag = f"j{kind}{target}"
        compiler.write(f"if {flag}:")
        if target == depth - 1:
            compiler.write(f" {flag} = False")
            compiler.write(f" {kind}")
        else:
            compiler.write(" break")
            compiler.loops[-1].pending.add((kind, target))


def _write_body(compiler: Compiler, statement: Any) -> None:
    """Writes the statements of a loop, within its line of Python."""
    compiler.indent()
    compiler.write("if cancel.is_stopped: cancel.check()")
    write_statements(compiler, statement.body)
    compiler.indent(-1)
    compiler.at_statement(statement)
    _end_loop(compiler)


def _write_loop(compiler: Compiler, statement: Loop) -> None:
    condition = "True" if statement.condition is None else compiler.condition(statement.condition)
    _begin_loop(compiler, statement.label, is_loop=True)
    _clear_jumps(compiler)
    compiler.write(f"while {condition}:")
    _write_body(compiler, statement)


def _write_range(compiler: Compiler, statement: ForRange) -> None:
    number = statement.variable.number
    low, high, step = f"l{number}", f"h{number}", f"b{number}"
    compiler.write(f"{low} = {compiler.value(statement.low, INT4)}")
    compiler.write(f"if {low} is None: raise rt.bound_error('lower bound')")
    compiler.write(f"{high} = {compiler.value(statement.high, INT4)}")
    compiler.write(f"if {high} is None: raise rt.bound_error('upper bound')")
    if statement.step is not None:
        compiler.write(f"{step} = {compiler.value(statement.step, INT4)}")
        compiler.write(f"if {step} is None: raise rt.bound_error('BY value')")
        compiler.write(f"if {step} <= 0: raise rt.step_error()")
    else:
        compiler.write(f"{step} = 1")
    found = f"f{number}"
    compiler.write(f"{found} = False")
    _begin_loop(compiler, statement.label, is_loop=True)
    _clear_jumps(compiler)
    end = f"{high} - 1, -{step}" if statement.reverse else f"{high} + 1, {step}"
    compiler.write(f"for {statement.variable.local} in range({low}, {end}):")
    compiler.indent()
    compiler.write(f"{found} = True")
    compiler.indent(-1)
    _write_body_and_found(compiler, statement, found)


def _write_body_and_found(compiler: Compiler, statement: Any, found: str, after: str = "pass") -> None:
    compiler.indent()
    compiler.write("if cancel.is_stopped: cancel.check()")
    write_statements(compiler, statement.body)
    compiler.indent(-1)
    compiler.at_statement(statement)
    compiler.write(after)
    compiler.write(f"{compiler.found} = {found}")
    _end_loop(compiler)


def _write_rows(compiler: Compiler, statement: Any, target: Target, rows: str) -> None:
    """Writes a loop over rows."""
    unique = compiler.names.temporary()
    row, found, iterator = f"r{unique}", f"f{unique}", f"i{unique}"
    compiler.write(f"{found} = False")
    compiler.write(f"{row} = None")
    _begin_loop(compiler, statement.label, is_loop=True)
    _clear_jumps(compiler)
    compiler.write(f"{iterator} = {rows}")
    compiler.write(f"for {row} in {iterator}:")
    compiler.indent()
    compiler.write(f"{found} = True")
    compiler.store_row(target, row, f"{row}[0]")
    compiler.indent(-1)
    _write_body_and_found(compiler, statement, found, f"{iterator}.close()")


def _write_for_query(compiler: Compiler, statement: ForQuery) -> None:
    name, values, _ = compiler.sql(statement.query, "", f'SQL statement "{statement.query.text}"')
    _write_rows(compiler, statement, statement.target, f"rt.iterate({name}, {values})")


def _write_for_execute(compiler: Compiler, statement: ForExecute) -> None:
    using = actions.using(compiler, statement.using)
    _write_rows(compiler, statement, statement.target, f"rt.iterate_text({compiler.text(statement.query)}, {using})")


def _write_for_cursor(compiler: Compiler, statement: ForCursor) -> None:
    variable = statement.cursor
    actions.write_open(compiler, variable, statement.arguments)
    _write_rows(compiler, statement, statement.target, f"rt.iterate_cursor({variable.local})")
    compiler.write(f"{variable.local} = None")


def _write_foreach(compiler: Compiler, statement: ForEach) -> None:
    name, values, _ = compiler.expression(statement.array)
    rows = f"rt.iterate_array({name}, {values}, {statement.slice})"
    _write_rows(compiler, statement, statement.target, rows)


def _write_exit(compiler: Compiler, statement: Exit) -> None:
    if statement.condition is not None:
        compiler.write(f"if {compiler.condition(statement.condition)}:")
        compiler.indent()
    kind = "break" if statement.is_exit else "continue"
    last = len(compiler.loops) - 1
    place = _find_loop(compiler, statement)
    if place == last:
        compiler.write(kind)
    else:
        compiler.write(f"j{kind}{place} = True")
        compiler.write("break")
        compiler.loops[-1].pending.add((kind, place))
    if statement.condition is not None:
        compiler.indent(-1)


def _find_loop(compiler: Compiler, statement: Exit) -> int:
    for place in range(len(compiler.loops) - 1, -1, -1):
        each = compiler.loops[place]
        if each.label == statement.label if statement.label else each.is_loop:
            return place
    raise AssertionError("the parser has checked labels")


def _clear_jumps(compiler: Compiler) -> None:
    """Writes that no jump to this loop is under way."""
    place = len(compiler.loops) - 1
    compiler.write(f"jbreak{place} = jcontinue{place} = False")


def _exits(node: object) -> list[Exit]:
    """Returns the EXIT and CONTINUE statements within a statement."""
    if isinstance(node, Exit):
        return [node]
    if isinstance(node, tuple):
        return [found for each in node for found in _exits(each)]
    if isinstance(node, Statement) or type(node).__name__ == "Handler":
        names = ("body", "handlers", "branches", "otherwise")
        return [found for name in names for found in _exits(getattr(node, name, ()))]
    return []


def _is_left(block: Block) -> bool:
    """Whether an EXIT within a block leaves it by its label."""
    return any(each.label == block.label for each in _exits(block))


def _write_null(compiler: Compiler, statement: Null) -> None:
    compiler.write("pass")


_WRITERS: dict[type, Callable[[Compiler, Any], None]] = {
    Block: write_block,
    Case: _write_case,
    Exit: _write_exit,
    ForCursor: _write_for_cursor,
    ForEach: _write_foreach,
    ForExecute: _write_for_execute,
    ForQuery: _write_for_query,
    ForRange: _write_range,
    If: _write_if,
    Loop: _write_loop,
    Null: _write_null,
}
