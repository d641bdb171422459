"""What compilation shares: the lines of Python so far and their places, expressions, and assignments.

Variables are Python's local variables. An expression that Python can compute is written in place; any other is a call
of the runtime with the values of the variables that it may name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.plpgsql.expressions import Code, Emitter, Names, NotSimple, is_too_deep, simple_target
from gpudb.plpgsql.host import Host
from gpudb.plpgsql.plans import Sql, bind_statically, parameter_codes
from gpudb.plpgsql.scanner import Scanner
from gpudb.plpgsql.scope import Fragment, Reference, Scope, Variable, find_reference
from gpudb.plpgsql.tree import Body, Statement, Target, statement_name
from gpudb.sql.bound import Call
from gpudb.types import BOOL, SqlType


@dataclass(frozen=True, slots=True)
class Shape:
    """What a body returns: `types` are those of the columns, `outputs` the places of output parameters.

    `kind` is "value", "row", "set", "nothing", "procedure" or "trigger".
    """

    kind: str
    types: tuple[SqlType, ...] = ()
    outputs: tuple[int, ...] = ()
    result: SqlType | None = None


@dataclass(slots=True)
class Loop:
    """A construct of Python that `break` leaves: a loop, or a labelled block."""

    label: str
    is_loop: bool
    pending: set[tuple[str, int]] = field(default_factory=set)


class Compiler:
    """Writes one body."""

    def __init__(self, body: Body, host: Host, signature: str, shape: Shape) -> None:
        self.body = body
        self.host = host
        self.signature = signature
        self.shape = shape
        self.names = Names()
        self.loops: list[Loop] = []
        self.guards = 0
        self.lines: list[str] = []
        self.places: list[str] = []
        self._place = ""
        self._depth = 1

    # ---- lines

    def write(self, line: str) -> None:
        """Writes a line of Python at the place that `at` has set."""
        self.lines.append(" " * self._depth + line)
        self.places.append(self._place)

    def indent(self, by: int = 1) -> None:
        """Moves following lines in or out."""
        self._depth += by
        if self._depth > 90:
            raise FeatureNotSupported("PL/pgSQL statements are nested too deeply")

    def at(self, line: int, shown: str) -> None:
        """Sets what following lines stand for in CONTEXT."""
        self._place = f"line {line} {shown}".rstrip()

    def at_phase(self, shown: str) -> None:
        """Sets what following lines stand for: no statement."""
        self._place = shown

    def at_statement(self, statement: Statement) -> None:
        """Sets the statement that following lines stand for."""
        self.at(statement.line, f"at {statement_name(statement)}")

    def begin_loop(self, label: str, *, is_loop: bool) -> None:
        """Begins a construct that `break` leaves."""
        self.loops.append(Loop(label, is_loop))

    # ---- results

    def write_return_outputs(self) -> None:
        """Returns the output parameters, the rows of a set, or nothing."""
        if self.shape.kind == "set":
            self.write("return rt.rows")
        elif self.shape.outputs:
            self.write(f"return {self.outputs()}")
        else:
            self.write("return None")

    def outputs(self) -> str:
        """Python of the output parameters' values, a tuple."""
        parameters = (self.body.parameters[place] for place in self.shape.outputs)
        return "(" + "".join(f"{_read_output(each)}, " for each in parameters) + ")"

    # ---- expressions

    def sql(self, fragment: Fragment, prefix: str, context: str, is_expression: bool = False) -> tuple[str, str, Sql]:
        """Returns the global name of a fragment, Python of its variables' values, and the fragment ready to bind."""
        variables = tuple(_named_variables(fragment))
        ready = Sql(fragment, variables, prefix, self.body.conflict, context, is_expression)
        values = "(" + "".join(f"{each.local}, " for each in variables) + ")"
        return self.names.add(ready), values, ready

    def expression(self, fragment: Fragment, context: str = "") -> tuple[str, str, Sql]:
        """Returns a fragment that is an expression, as `sql` does."""
        return self.sql(fragment, "SELECT ", context or f'SQL expression "{fragment.text}"', True)

    def simple(self, fragment: Fragment, item: SqlType | None, *, is_condition: bool = False) -> Code | None:
        """Returns an expression as Python, converted to a type; None if Python does not compute it."""
        _, _, ready = self.expression(fragment)
        found = bind_statically(ready, self.host)
        target = None if found is None else simple_target(found[0])
        if found is None or target is None:
            return None
        emitter = Emitter(self.names, parameter_codes(found[1]), self._call_routine)
        try:
            if is_condition:
                if target.type != BOOL:
                    return None
                code = Code(emitter.emit_condition(target), fails=not found[1].used)
            else:
                code = emitter.emit(target)
                code = code if item is None else emitter.convert(code, target.type, item)
            # PostgreSQL computes constants when it plans, so that CONTEXT has the expression
            return None if (code.fails and not found[1].used) or is_too_deep(code.source) else code
        except (NotSimple, RecursionError):
            return None

    def _call_routine(self, call: Call, args: Sequence[Code]) -> Code:
        function = call.function
        if function.returns_set or len(function.out_types) > 1 or call.type.fields or function.kind != "f":
            raise NotSimple
        values = "".join(f"{each.source}, " for each in args)
        name = self.names.add(function)
        return Code(f"rt.host.call_routine({name}, ({values}))", True, True)

    def condition(self, fragment: Fragment) -> str:
        """Python of a condition, true only if it is true."""
        code = self.simple(fragment, BOOL, is_condition=True)
        if code is not None:
            return code.source
        name, values, _ = self.expression(fragment)
        return f"rt.condition({name}, {values})"

    def value(self, fragment: Fragment, item: SqlType, context: str = "") -> str:
        """Python of an expression as a value of a type."""
        code = self.simple(fragment, item)
        if code is not None:
            return code.source
        name, values, _ = self.expression(fragment, context)
        return f"rt.value({name}, {values}, {self.names.add(item)})"

    def row(self, fragment: Fragment) -> str:
        """Python of an expression's columns and values."""
        name, values, _ = self.expression(fragment)
        return f"rt.row({name}, {values})"

    def text(self, fragment: Fragment) -> str:
        """Python of an expression as text."""
        name, values, _ = self.expression(fragment)
        return f"rt.text({name}, {values})"

    # ---- assignment

    def assign(self, variable: Variable, source: str, *, nullable: bool = True) -> None:
        """Writes an assignment of a converted value."""
        if variable.not_null and nullable:
            source = f"rt.not_null({source}, {variable.name!r})"
        self.write(f"{variable.local} = {source}")

    def store_row(self, target: Target, row: str, columns: str) -> None:
        """Writes the assignment of a row, a pair of Python names, to what INTO fills."""
        if target.record is not None:
            variable = target.record.variable
            self.write(f"{variable.local} = rt.into_record({row}, {self.names.add(variable)}, {columns})")
            return
        for place, part in enumerate(target.parts):
            self.store_part(part, row, place)

    def store_part(self, part: Reference, row: str, place: int) -> None:
        """Writes the assignment of one value of a row to a variable or a field."""
        variable = part.variable
        if part.path:
            name = self.names.add(variable)
            self.write(
                f"{variable.local} = rt.set_field({variable.local}, {name}, {part.path!r}, "
                f"{row}[1][{place}] if {row} else None, {row}[0][{place}][1] if {row} else None)"
            )
            return
        assert variable.type is not None
        self.assign(variable, f"rt.store({row}, {place}, {self.names.add(variable.type)})")

    def find_target(self, scope: Scope, names: tuple[str, ...]) -> Reference:
        """Returns the variable in the place of an output parameter; 42601."""
        found = find_reference(scope, names)
        if found is None or found.variable.constant:
            message = f'procedure parameter "{".".join(names)}" is an output parameter but corresponding argument'
            raise SqlError.of("syntax_error", message + " is not writable")
        return found

    @property
    def found(self) -> str:
        """The Python variable of FOUND."""
        return self.body.found.local


def _read_output(parameter: Variable) -> str:
    """Returns Python of an output parameter's value; a copy of an array, which the body may change in place."""
    local = parameter.local
    is_array = parameter.type is not None and parameter.type.element is not None
    return f"None if {local} is None else copy_array({local})" if is_array else local


def _named_variables(fragment: Fragment) -> list[Variable]:
    """Returns the variables that a fragment's words may denote."""
    result: list[Variable] = []
    scanner = Scanner(fragment.text)
    while (token := scanner.next()).text:
        name = token.word if token.word is not None else token.text
        variable = fragment.scope.find(name)
        if variable is not None and variable not in result:
            result.append(variable)
        if token.word is not None and scanner.token.text == "." and scanner.peek(1).word is not None:
            labelled = fragment.scope.find(scanner.peek(1).word or "", token.word)
            if labelled is not None and labelled not in result:
                result.append(labelled)
    return result
