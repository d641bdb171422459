"""What the parser of PL/pgSQL shares: SQL up to a keyword, targets, conditions, and variables by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import postgast

from gpudb.errors import GpudbError, SqlError, sqlstates
from gpudb.plpgsql.declared import Declared
from gpudb.plpgsql.scanner import Scanner, Token
from gpudb.plpgsql.scope import Fragment, Reference, Scope, Variable, find_reference
from gpudb.plpgsql.tree import Target
from gpudb.sql.parse.parser import parse
from gpudb.types import SqlType

TypeResolver = Callable[[str], SqlType | None]
"""Returns the type of a name as a declaration writes it; None for `record`. 42704."""

_CLOSING = {"(": ")", "[": "]"}


class Reader:
    """The state of parsing: tokens, the scope, and the variables so far."""

    def __init__(
        self, text: str, scope: Scope, resolve_type: TypeResolver, declared: Declared, *, checks: bool = True
    ) -> None:
        self.scanner = Scanner(text)
        self.scope = scope
        self.resolve_type = resolve_type
        self.declared = declared
        self.checks = checks
        self.count = 0
        self.ends_transactions = False

    def new_variable(self, name: str, item: SqlType | None, line: int = 0) -> Variable:
        """Returns a variable with a new number; the caller adds it to the scope."""
        self.count += 1
        return Variable(name, self.count, item, line)

    # ---- SQL

    def read_sql(self, *until: str, prefix: str = "SELECT ", missing: str = "") -> Fragment:
        """Reads SQL up to one of these words or signs outside parentheses, and leaves it as the next token."""
        start, end = self._skip_to(until, missing or " or ".join(until))
        if start == end:
            what = "missing expression" if prefix else "missing SQL statement"
            raise self.scanner.error(None, what if self.scanner.token.text else "syntax error")
        return self.fragment(start, end, prefix)

    def read_expression(self, *until: str) -> Fragment:
        """Reads an expression and moves on over the word or sign that ends it."""
        result = self.read_sql(*until)
        self.scanner.next()
        return result

    def fragment(self, start: int, end: int, prefix: str = "SELECT ") -> Fragment:
        """Returns the SQL between two offsets; 42601 if PostgreSQL's grammar does not allow it."""
        text = self.scanner.text[start:end].rstrip()
        if self.checks:
            self.check_sql(prefix + text, start - len(prefix))
        return Fragment(text, self.scope, start)

    def check_sql(self, text: str, offset: int) -> None:
        """42601 for text that is no SQL; `offset` is where the text begins in the body."""
        try:
            parse(text)
        except GpudbError as error:
            error.position = error.position + offset if error.position else None
            raise

    def _skip_to(self, until: Sequence[str], shown: str) -> tuple[int, int]:
        scanner = self.scanner
        first = scanner.token
        end = first.start
        open_: list[str] = []
        while True:
            token = scanner.token
            if not token.text:
                if open_:
                    raise scanner.error(token, "mismatched parentheses")
                raise self._missing(shown, token, first)
            if not open_ and _is_any(token, until):
                return first.start, end
            if token.text in _CLOSING:
                open_.append(_CLOSING[token.text])
            elif token.text in {")", "]"} and (not open_ or open_.pop() != token.text):
                raise scanner.error(token, "mismatched parentheses")
            elif token.text == ";" and (";" not in until or open_):
                if open_:
                    raise scanner.error(token, "mismatched parentheses")
                raise self._missing(shown, token, first)
            end = token.end
            scanner.next()

    def _missing(self, shown: str, token: Token, first: Token) -> SqlError:
        if not token.text and shown == ";":
            return self.scanner.error()
        return self.scanner.error_at(f'missing "{shown.upper()}" at end of SQL expression', token)

    def read_list(self, *until: str) -> tuple[tuple[Fragment, ...], str]:
        """Reads expressions between commas; also returns the word or sign that ends them, over which it moves."""
        result = []
        while True:
            result.append(self.read_sql(",", *until, missing=until[0]))
            ended = self.scanner.next()
            if ended.text != ",":
                return tuple(result), (ended.word or ended.text)

    # ---- names

    def read_name(self) -> tuple[Token, tuple[str, ...]]:
        """Reads a possibly qualified name."""
        token = self.scanner.next()
        if token.word is None:
            raise self.scanner.error(token)
        names = [token.word]
        while self.scanner.token.text == "." and self.scanner.peek(1).word is not None:
            self.scanner.next()
            names.append(self.scanner.next().word or "")
        return token, tuple(names)

    def peek_reference(self) -> Reference | None:
        """Returns the variable or field that the next tokens name; moves on only if there is one."""
        mark = self.scanner.mark()
        if self.scanner.token.word is None:
            return None
        _, names = self.read_name()
        found = find_reference(self.scope, names)
        if found is None:
            self.scanner.reset(mark)
        return found

    def read_variable(self, kind: str = "") -> Reference:
        """Reads a variable or a field; 42601 for any other name."""
        token = self.scanner.token
        if token.word is None:
            raise self.scanner.error()
        found = self.peek_reference()
        if found is None:
            _, names = self.read_name()
            raise self.unknown(token, names)
        return found

    def unknown(self, token: Token, names: Sequence[str]) -> SqlError:
        """Returns the error for a name that is no variable."""
        return self.scanner.error_at(f'"{".".join(names)}" is not a known variable', token)

    def check_assignable(self, target: Reference, token: Token) -> None:
        """22005 for a constant."""
        if target.variable.constant:
            message = f'variable "{target.variable.name}" is declared CONSTANT'
            raise self.scanner.error_at(message, token, "error_in_assignment")

    def read_target(self) -> Target:
        """Reads what INTO fills: a record, or scalars between commas."""
        token = self.scanner.token
        first = self.read_variable()
        self.check_assignable(first, token)
        if is_row(first):
            if self.scanner.token.text == ",":
                message = "record variable cannot be part of multiple-item INTO list"
                raise self.scanner.error_at(message, self.scanner.token)
            return Target(first)
        parts = [first]
        while self.scanner.take(","):
            token = self.scanner.token
            part = self.read_variable()
            self.check_assignable(part, token)
            if is_row(part):
                shown = ".".join((part.variable.name, *part.path))
                raise self.scanner.error_at(f'"{shown}" is not a scalar variable', token)
            parts.append(part)
        return Target(None, tuple(parts))

    # ---- conditions

    def read_condition(self) -> tuple[str, ...]:
        """Reads a condition's name or SQLSTATE 'xxxxx'; its SQLSTATEs, or "" for OTHERS. 42704, 42601."""
        token = self.scanner.next()
        if token.word is None:
            raise self.scanner.error(token)
        if token.is_keyword("sqlstate") and self.scanner.token.is_string:
            return (self.read_sqlstate(),)
        if token.word == "others":
            return ("",)
        return (self.resolve_condition(token.word),)

    def read_dynamic_query(self, end: str, missing: str) -> tuple[Fragment, tuple[Fragment, ...]]:
        """Reads what follows EXECUTE to `end`: the expression of the query's text, and those after USING."""
        query = self.read_sql(end, "using", missing=missing)
        using: tuple[Fragment, ...] = ()
        if self.scanner.take("using"):
            using, _ = self.read_list(end)
        else:
            self.scanner.expect(end)
        return query, using

    def read_sqlstate(self) -> str:
        """Reads five letters and digits in quotes."""
        token = self.scanner.next()
        state = unquote(token)
        if len(state) != 5 or not all(each in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" for each in state):
            raise self.scanner.error_at("invalid SQLSTATE code", token)
        return state

    def resolve_condition(self, name: str) -> str:
        """Returns the SQLSTATE of a condition's name; 42704."""
        state = sqlstates().get(name)
        if state is None:
            raise SqlError.of("undefined_object", f'unrecognized exception condition "{name}"')
        return state


def is_row(reference: Reference) -> bool:
    """Whether a reference denotes a whole record."""
    return not reference.path and reference.variable.is_record


def unquote(token: Token) -> str:
    """Returns the value of a string token."""
    parsed = postgast.parse(f"SELECT {token.text}")
    return str(parsed.stmts[0].stmt.select_stmt.target_list[0].res_target.val.a_const.sval.sval)


def _is_any(token: Token, words: Sequence[str]) -> bool:
    return any(token.is_keyword(each) or (token.word is None and token.text == each) for each in words)
