"""Parser of PL/pgSQL bodies: blocks, control structures, and the way from a text to its tree.

PostgreSQL's grammar is pl_gram.y. Its libpg_query form (`postgast.parse_plpgsql`) keeps neither the scopes of
variables nor composite types, which this tree has; expressions and statements of SQL are checked by libpg_query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.errors import GpudbError
from gpudb.plpgsql import statements
from gpudb.plpgsql.declarations import read_declarations
from gpudb.plpgsql.declared import Declared
from gpudb.plpgsql.reader import Reader, TypeResolver
from gpudb.plpgsql.scanner import Token
from gpudb.plpgsql.scope import Fragment, Scope, Variable
from gpudb.plpgsql.tree import (
    Block,
    Body,
    Case,
    Exit,
    ForCursor,
    ForEach,
    ForExecute,
    ForQuery,
    ForRange,
    Handler,
    If,
    Loop,
    Statement,
    Target,
)
from gpudb.types import BOOL, INT4, TEXT


def parse_body(text: str, declared: Declared, resolve_type: TypeResolver) -> Body:
    """Parses a body; 42601 and other errors with a position in the text."""
    return Parser(text, declared, resolve_type).parse()


class Parser(Reader):
    """Parser of one body."""

    def __init__(self, text: str, declared: Declared, resolve_type: TypeResolver) -> None:
        super().__init__(text, Scope(label=declared.name).enter(declared.name), resolve_type, declared)
        self.labels: list[tuple[str, bool]] = []
        self.conflict = "error"
        self.prints_parameters = False

    def parse(self) -> Body:
        """Parses the whole text."""
        parameters = []
        for number, each in enumerate(self.declared.parameters, 1):
            variable = self.new_variable(each.name or f"${number}", each.type)
            parameters.append(variable)
            self.scope = self.scope.add(variable, f"${number}")
            if each.name:
                self.scope = self.scope.add(variable)
        for name, item in self.declared.implicit:
            variable = self.new_variable(name, item)
            parameters.append(variable)
            self.scope = self.scope.add(variable)
        found = self.new_variable("found", BOOL)
        self.scope = self.scope.add(found)
        self._read_options()
        line = self.scanner.line(self.scanner.token.start)
        block = self._read_block(self._read_label(), line)
        self.scanner.take(";")
        if self.scanner.token.text:
            raise self.scanner.error()
        return Body(tuple(parameters), found, block, self.conflict, self.prints_parameters, self.ends_transactions)

    def _read_options(self) -> None:
        while self.scanner.token.text == "#":
            self.scanner.next()
            option, value = self.scanner.next(), self.scanner.next()
            if option.word == "variable_conflict" and value.word in {"error", "use_variable", "use_column"}:
                self.conflict = value.word
            elif option.word == "print_strict_params" and value.word in {"on", "off"}:
                self.prints_parameters = value.word == "on"
            elif option.word != "option" or value.word != "dump":
                raise self.scanner.error(option)

    # ---- blocks

    def _read_label(self) -> str:
        scanner = self.scanner
        if scanner.token.text != "<<":
            return ""
        scanner.next()
        token = scanner.next()
        if token.word is None:
            raise scanner.error(token)
        if scanner.next().text != ">>":
            raise scanner.error(scanner.peek(-1))
        return token.word

    def _read_block(self, label: str, line: int) -> Block:
        outside = self.scope
        self.scope = outside.enter(label)
        variables = read_declarations(self)
        self.scanner.expect("begin")
        self.labels.append((label, False))
        body = self.read_statements("exception", "end")
        handlers: list[Handler] = []
        state = message = None
        if self.scanner.take("exception"):
            state, message = self.new_variable("sqlstate", TEXT), self.new_variable("sqlerrm", TEXT)
            state.constant = message.constant = True
            inside = self.scope
            self.scope = inside.add(state).add(message)
            while self.scanner.token.is_keyword("when"):
                handlers.append(self._read_handler())
            if not handlers:
                raise self.scanner.error()
        self.labels.pop()
        self.scanner.expect("end")
        self._check_end_label(label)
        self.scope = outside
        return Block(line, label, tuple(variables), body, tuple(handlers), state, message)

    def _read_handler(self) -> Handler:
        line = self.scanner.line(self.scanner.next().start)
        conditions: list[str] = []
        while True:
            conditions += self._near(line, self.read_condition)
            if not self.scanner.take("or"):
                break
        self.scanner.expect("then")
        return Handler(line, tuple(conditions), self.read_statements("when", "end"))

    def _near(self, line: int, read: object) -> tuple[str, ...]:
        try:
            return read()  # type: ignore[operator, no-any-return]
        except GpudbError as error:
            if error.position is None:
                error.where = error.where or f"near line {line}"
            raise

    def _check_end_label(self, label: str) -> None:
        token = self.scanner.token
        if token.word is None:
            return
        self.scanner.next()
        if not label:
            raise self.scanner.error_at(f'end label "{token.word}" specified for unlabeled block', token)
        if token.word != label:
            message = f'end label "{token.word}" differs from block\'s label "{label}"'
            raise self.scanner.error_at(message, token)

    def read_statements(self, *until: str) -> tuple[Statement, ...]:
        """Reads statements up to one of these words."""
        result: list[Statement] = []
        while not self.scanner.token.is_keyword(*until):
            if not self.scanner.token.text:
                raise self.scanner.error()
            found = self._read_statement()
            if found is not None:
                result.append(found)
        return tuple(result)

    # ---- statements

    def _read_statement(self) -> Statement | None:
        scanner = self.scanner
        token = scanner.token
        line = scanner.line(token.start)
        label = self._read_label()
        first = scanner.token
        if first.is_keyword("declare", "begin"):
            block = self._read_block(label, line)
            scanner.expect(";")
            return block
        loop = self._read_loop(label, line)
        if loop is not None:
            return loop
        if label:
            raise scanner.error()
        if first.word is None:
            raise scanner.error()
        if (assignment := statements.read_assignment(self, line)) is not None:
            return assignment
        if not first.quoted and first.word in _CONTROL:
            scanner.next()
            return _CONTROL[first.word](self, line)
        return statements.read_statement(self, line)

    def _read_loop(self, label: str, line: int) -> Statement | None:
        scanner = self.scanner
        if scanner.take("loop"):
            return Loop(line, label, None, self._read_body(label))
        if scanner.take("while"):
            condition = self.read_expression("loop")
            return Loop(line, label, condition, self._read_body(label))
        outside = self.scope
        try:
            if scanner.take("for"):
                return self._read_for(label, line)
            if scanner.take("foreach"):
                return self._read_foreach(label, line)
        finally:
            self.scope = outside
        return None

    def _read_body(self, label: str) -> tuple[Statement, ...]:
        """Reads the statements of a loop, after LOOP."""
        self.labels.append((label, True))
        body = self.read_statements("end")
        self.labels.pop()
        self.scanner.expect("end", "loop")
        self._check_end_label(label)
        self.scanner.expect(";")
        return body

    def _read_for(self, label: str, line: int) -> Statement:
        scanner = self.scanner
        mark, token = scanner.mark(), scanner.token
        _, names = self.read_name()
        if scanner.token.text == ",":
            scanner.reset(mark)
            target: Target | None = self.read_target()
        else:
            target = None
        after_name = scanner.mark()
        scanner.expect("in")
        if scanner.take("execute"):
            target = target or self._loop_target(mark, after_name, token)
            query, using = self.read_dynamic_query("loop", "LOOP")
            return ForExecute(line, label, target, query, using, self._read_body(label))
        cursor = self.scope.find(scanner.token.word or "") if scanner.token.word else None
        if cursor is not None and cursor.type is not None and cursor.type.name == "refcursor":
            return self._read_for_cursor(label, line, cursor, names, target, token)
        reverse = scanner.take("reverse")
        if self._is_range():
            if target is not None or len(names) > 1:
                raise scanner.error_at("integer FOR loop must have only one target variable", token)
            low = self.read_expression("..")
            high = self.read_sql("loop", "by", missing="LOOP")
            step = None
            if scanner.take("by"):
                step = self.read_sql("loop", missing="LOOP")
            scanner.expect("loop")
            variable = self.new_variable(names[0], INT4, line)
            self.scope = self.scope.enter(label).add(variable)
            return ForRange(line, label, variable, low, high, step, reverse, self._read_body(label))
        if reverse:
            raise scanner.error_at("cannot specify REVERSE in query FOR loop", scanner.peek(-1))
        target = target or self._loop_target(mark, after_name, token)
        query = self.read_sql("loop", prefix="", missing="LOOP")
        scanner.expect("loop")
        return ForQuery(line, label, target, query, self._read_body(label))

    def _loop_target(self, mark: int, after: int, token: Token) -> Target:
        """Reads the target of a loop over rows, and returns to where it was."""
        here = self.scanner.mark()
        self.scanner.reset(mark)
        found = self.peek_reference()
        if found is None:
            message = "loop variable of loop over rows must be a record variable or list of scalar variables"
            raise self.scanner.error_at(message, token)
        self.scanner.reset(mark)
        target = self.read_target()
        self.scanner.reset(here)
        return target

    def _is_range(self) -> bool:
        """Whether `..` comes before LOOP, outside parentheses."""
        depth, ahead = 0, 0
        while (token := self.scanner.peek(ahead)).text:
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
            if not depth and token.text == "..":
                return True
            if not depth and token.is_keyword("loop"):
                return False
            ahead += 1
        return False

    def _read_for_cursor(
        self, label: str, line: int, cursor: Variable, names: Sequence[str], target: Target | None, token: Token
    ) -> Statement:
        scanner = self.scanner
        shown = scanner.next()
        if cursor.cursor is None:
            message = "cursor FOR loop must use a bound cursor variable"
            raise scanner.error_at(message, token)
        if target is not None or len(names) > 1:
            raise scanner.error_at("cursor FOR loop must have only one target variable", token)
        arguments = statements.read_cursor_arguments(self, cursor, shown)
        scanner.expect("loop")
        variable = self.new_variable(names[0], None, line)
        self.scope = self.scope.enter(label).add(variable)
        record = Target(statements.whole(variable))
        return ForCursor(line, label, record, cursor, arguments, self._read_body(label))

    def _read_foreach(self, label: str, line: int) -> Statement:
        scanner = self.scanner
        target = self.read_target()
        depth = 0
        if scanner.take("slice"):
            token = scanner.next()
            if not token.is_number:
                raise scanner.error(token)
            depth = int(token.text)
        scanner.expect("in", "array")
        array = self.read_expression("loop")
        return ForEach(line, label, target, depth, array, self._read_body(label))

    def read_if(self, line: int) -> Statement:
        """IF … END IF."""
        branches = []
        at = line
        while True:
            condition = self.read_expression("then")
            branches.append((condition, self.read_statements("elsif", "elseif", "else", "end"), at))
            token = self.scanner.token
            at = self.scanner.line(token.start)
            if not (self.scanner.take("elsif") or self.scanner.take("elseif")):
                break
        otherwise = self.read_statements("end") if self.scanner.take("else") else ()
        self.scanner.expect("end", "if", ";")
        return If(line, tuple(branches), otherwise)

    def read_case(self, line: int) -> Statement:
        """CASE … END CASE."""
        scanner = self.scanner
        operand: Fragment | None = None
        variable: Variable | None = None
        outside = self.scope
        if not scanner.token.is_keyword("when"):
            operand = self.read_sql("when", missing="WHEN")
            variable = self.new_variable(f"__Case__Variable_{self.count + 1}__", None, line)
            self.scope = outside.add(variable)
        branches = []
        while scanner.take("when"):
            condition = self.read_expression("then")
            if variable is not None:
                text = f'"{variable.name}" IN ({condition.text})'
                condition = Fragment(text, self.scope, condition.offset)
            branches.append((condition, self.read_statements("when", "else", "end")))
        otherwise = self.read_statements("end") if scanner.take("else") else None
        scanner.expect("end", "case", ";")
        self.scope = outside
        return Case(line, operand, variable, tuple(branches), otherwise)

    def read_exit(self, line: int, *, is_exit: bool) -> Statement:
        """EXIT or CONTINUE [label] [WHEN condition]."""
        scanner = self.scanner
        start, token = scanner.peek(-1), scanner.token
        label = ""
        if token.word is not None and not token.is_keyword("when"):
            label = scanner.next().word or ""
            self._check_label(token, label, is_exit=is_exit)
        condition = None
        if scanner.take("when"):
            condition = self.read_expression(";")
        else:
            scanner.expect(";")
        what = "EXIT" if is_exit else "CONTINUE"
        if not label and not any(is_loop for _, is_loop in self.labels):
            hint = " unless it has a label" if is_exit else ""
            raise scanner.error_at(f"{what} cannot be used outside a loop{hint and ', ' + hint.strip()}", start)
        return Exit(line, is_exit, label, condition)

    def _check_label(self, token: Token, label: str, *, is_exit: bool) -> None:
        known = dict(self.labels)
        if label not in known:
            message = f'there is no label "{label}" attached to any block or loop enclosing this statement'
            raise self.scanner.error_at(message, token)
        if not is_exit and not known[label]:
            raise self.scanner.error_at(f'block label "{label}" cannot be used in CONTINUE', token)


_CONTROL: dict[str, Callable[[Parser, int], Statement]] = {
    "if": Parser.read_if,
    "case": Parser.read_case,
    "exit": lambda parser, line: parser.read_exit(line, is_exit=True),
    "continue": lambda parser, line: parser.read_exit(line, is_exit=False),
}
