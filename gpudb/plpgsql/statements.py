"""Parsing of the statements of PL/pgSQL that contain no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudb.errors import FeatureNotSupported
from gpudb.plpgsql.declarations import REFCURSOR
from gpudb.plpgsql.reader import is_row, unquote
from gpudb.plpgsql.scanner import Token
from gpudb.plpgsql.scope import Reference, Variable, find_reference
from gpudb.plpgsql.tree import (
    Assert,
    Assign,
    Call,
    Close,
    EndTransaction,
    Execute,
    Fetch,
    Fragment,
    GetDiagnostics,
    Null,
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

if TYPE_CHECKING:
    from gpudb.plpgsql.parser import Parser

_LEVELS = ("debug", "log", "info", "notice", "warning", "exception")
_OPTIONS = ("errcode", "message", "detail", "hint", "column", "constraint", "datatype", "table", "schema")
_STACKED = {
    "returned_sqlstate", "message_text", "pg_exception_detail", "pg_exception_hint", "pg_exception_context",
    "column_name", "constraint_name", "pg_datatype_name", "table_name", "schema_name",
}  # fmt: skip
_CURRENT = {"row_count", "pg_context", "pg_routine_oid"}
_DIRECTIONS = ("next", "prior", "first", "last", "absolute", "relative", "forward", "backward")


def whole(variable: Variable) -> Reference:
    """Returns the reference to a whole variable."""
    return Reference(variable)


def read_assignment(parser: Parser, line: int) -> Statement | None:
    """Reads `variable := expression` with fields and subscripts; None, without moving, for another statement."""
    scanner = parser.scanner
    mark, token = scanner.mark(), scanner.token
    _, names = parser.read_name()
    after = scanner.token
    found = find_reference(parser.scope, names)
    if after.text not in {":=", "=", "["}:
        scanner.reset(mark)
        return None
    if found is None:
        raise parser.unknown(token, names)
    parser.check_assignable(found, token)
    subscripts: list[tuple[Fragment | None, Fragment | None, bool]] = []
    while scanner.take("["):
        low: Fragment | None = None
        if scanner.token.text != ":":
            low = parser.read_sql(":", "]", missing="]")
        if scanner.take(":"):
            high = None if scanner.token.text == "]" else parser.read_sql("]")
            subscripts.append((low, high, True))
        else:
            subscripts.append((None, low, False))
        scanner.expect("]")
    if scanner.token.text == ".":
        raise FeatureNotSupported("assignments to a field of an array's item are not supported")
    if not (scanner.take(":=") or scanner.take("=")):
        raise scanner.error()
    value = parser.read_sql(";")
    source = scanner.text[token.start : scanner.token.start].rstrip()
    scanner.next()
    return Assign(line, found, tuple(subscripts), value, source)


def read_statement(parser: Parser, line: int) -> Statement:
    """Reads a statement by its first word; any that is not PL/pgSQL's own is SQL."""
    token = parser.scanner.token
    read = _READERS.get(token.word or "") if not token.quoted else None
    if read is None:
        return _read_sql_statement(parser, line)
    parser.scanner.next()
    return read(parser, line)


def _read_sql_statement(parser: Parser, line: int) -> Statement:
    scanner = parser.scanner
    first = scanner.token
    into: Target | None = None
    strict = False
    cut: tuple[int, int] | None = None
    previous = Token("", 0, 0)
    end = first.start
    while scanner.token.text != ";":
        token = scanner.token
        if not token.text:
            raise scanner.error()
        if token.is_keyword("into") and not previous.is_keyword("insert", "merge", "import"):
            if into is not None:
                raise scanner.error(token, "INTO specified more than once")
            scanner.next()
            strict = scanner.take("strict")
            into = parser.read_target()
            cut = token.start, scanner.peek(-1).end
            previous = scanner.peek(-1)
            end = previous.end
            continue
        previous = scanner.next()
        end = previous.end
    scanner.next()
    text = scanner.text
    if cut is not None:
        blank = " " * (cut[1] - cut[0])
        text = text[: cut[0]] + blank + text[cut[1] :]
    part = text[first.start : end].rstrip()
    if parser.checks:
        parser.check_sql(part, first.start)
    return Sql(line, Fragment(part, parser.scope, first.start), into, strict)


# ---- statements of PL/pgSQL


def _read_null(parser: Parser, line: int) -> Statement:
    parser.scanner.expect(";")
    return Null(line)


def _read_perform(parser: Parser, line: int) -> Statement:
    if parser.scanner.token.text == ";":
        parser.scanner.next()
        return Null(line)  # SELECT without a list, which PostgreSQL allows
    return Perform(line, parser.read_expression(";"))


def _read_return(parser: Parser, line: int) -> Statement:
    scanner, declared = parser.scanner, parser.declared
    start, token = scanner.peek(-1), scanner.token
    if scanner.take("next"):
        return _read_return_next(parser, line, start)
    if scanner.take("query"):
        if not declared.returns_set:
            message = "cannot use RETURN QUERY in a non-SETOF function"
            raise scanner.error_at(message, start, "datatype_mismatch")
        if scanner.take("execute"):
            query, using = parser.read_dynamic_query(";", ";")
            return ReturnQuery(line, query, True, using)
        query = parser.read_sql(";", prefix="")
        scanner.expect(";")
        return ReturnQuery(line, query, False)
    if scanner.take(";"):
        if not (declared.returns_set or declared.returns_nothing or declared.has_outputs):
            raise scanner.error(token, "missing expression")
        return Return(line, None)
    if declared.returns_set:
        message = "RETURN cannot have a parameter in function returning set"
        hint = "Use RETURN NEXT or RETURN QUERY."
        raise scanner.error_at(message, token, "datatype_mismatch", hint=hint)
    if declared.is_procedure:
        raise scanner.error_at("RETURN cannot have a parameter in a procedure", token)
    if declared.has_outputs:
        message = "RETURN cannot have a parameter in function with OUT parameters"
        raise scanner.error_at(message, token, "datatype_mismatch")
    if declared.returns_nothing:
        message = "RETURN cannot have a parameter in function returning void"
        raise scanner.error_at(message, token, "datatype_mismatch")
    return Return(line, parser.read_expression(";"))


def _read_return_next(parser: Parser, line: int, token: Token) -> Statement:
    scanner, declared = parser.scanner, parser.declared
    if not declared.returns_set:
        message = "cannot use RETURN NEXT in a non-SETOF function"
        raise scanner.error_at(message, token, "datatype_mismatch")
    if scanner.take(";"):
        if not declared.has_outputs:
            raise scanner.error(scanner.peek(-1), "missing expression")
        return ReturnNext(line, None)
    if declared.has_outputs:
        message = "RETURN NEXT cannot have a parameter in function with OUT parameters"
        raise scanner.error_at(message, scanner.token, "datatype_mismatch")
    return ReturnNext(line, parser.read_expression(";"))


def _read_raise(parser: Parser, line: int) -> Statement:
    scanner = parser.scanner
    if scanner.take(";"):
        return Raise(line, "exception", "", "", None, (), (), again=True)
    level = "exception"
    if scanner.token.is_keyword(*_LEVELS):
        level = scanner.next().word or level
    condition, name, message = "", "", None
    arguments: tuple[Fragment, ...] = ()
    options: list[tuple[str, Fragment]] = []
    ended = ""
    if scanner.token.is_string:
        token = scanner.next()
        message = unquote(token)
        if scanner.take(","):
            arguments, ended = parser.read_list(";", "using")
        _check_arguments(parser, message, len(arguments))
    elif scanner.token.word is not None and not scanner.token.is_keyword("using"):
        if scanner.take("sqlstate"):
            condition = name = parser.read_sqlstate()
        else:
            name = scanner.next().word or ""
            condition = parser.resolve_condition(name)
    if not ended:
        if scanner.take("using"):
            ended = "using"
        else:
            scanner.expect(";")
    if ended == "using":
        options = _read_options(parser)
    return Raise(line, level, condition, name, message, arguments, tuple(options))


def _check_arguments(parser: Parser, message: str, count: int) -> None:
    expected = message.replace("%%", "").count("%")
    if expected != count:
        many = "few" if expected > count else "many"
        raise parser.scanner.error_at(f"too {many} parameters specified for RAISE", Token("", -1, -1))


def _read_options(parser: Parser) -> list[tuple[str, Fragment]]:
    scanner = parser.scanner
    result: list[tuple[str, Fragment]] = []
    while True:
        token = scanner.next()
        if token.word not in _OPTIONS:
            raise scanner.error(token, "unrecognized RAISE statement option")
        if not (scanner.take("=") or scanner.take(":=")):
            raise scanner.error(None, 'syntax error, expected "="')
        value = parser.read_sql(",", ";", missing=";")
        result.append((token.word, value))
        if scanner.next().text == ";":
            return result


def _read_assert(parser: Parser, line: int) -> Statement:
    condition = parser.read_sql(",", ";", missing=";")
    if parser.scanner.next().text == ";":
        return Assert(line, condition, None)
    return Assert(line, condition, parser.read_expression(";"))


def _read_call(parser: Parser, line: int, *, is_call: bool) -> Statement:
    scanner = parser.scanner
    start = scanner.peek(-1)
    while scanner.token.text != ";":
        if not scanner.next().text:
            raise scanner.error()
    end = scanner.token.start
    scanner.next()
    parser.ends_transactions = True  # what it calls may
    return Call(line, parser.fragment(start.start, end, ""), is_call)


def _read_execute(parser: Parser, line: int) -> Statement:
    scanner = parser.scanner
    query = parser.read_sql("into", "using", ";", missing=";")
    into: Target | None = None
    strict = False
    using: tuple[Fragment, ...] = ()
    while True:
        token = scanner.token
        if scanner.take("into"):
            if into is not None:
                raise scanner.error(token)
            strict = scanner.take("strict")
            into = parser.read_target()
        elif scanner.take("using"):
            if using:
                raise scanner.error(token)
            result = []
            while True:
                result.append(parser.read_sql(",", "into", ";", missing=";"))
                if not scanner.take(","):
                    break
            using = tuple(result)
        else:
            scanner.expect(";")
            return Execute(line, query, into, strict, using)


def _read_get(parser: Parser, line: int) -> Statement:
    scanner = parser.scanner
    stacked = scanner.take("stacked")
    if not stacked:
        scanner.take("current")
    scanner.expect("diagnostics")
    items: list[tuple[Reference, str]] = []
    while True:
        token = scanner.token
        target = parser.read_variable()
        parser.check_assignable(target, token)
        if is_row(target):
            raise scanner.error_at(f'"{target.variable.name}" is not a scalar variable', token)
        if not (scanner.take(":=") or scanner.take("=")):
            raise scanner.error()
        item = scanner.next()
        word = item.word or ""
        if word not in _STACKED | _CURRENT:
            raise scanner.error(item, "unrecognized GET DIAGNOSTICS item")
        if (word in _STACKED) != stacked:
            what = "GET STACKED DIAGNOSTICS" if stacked else "GET CURRENT DIAGNOSTICS"
            message = f"diagnostics item {word.upper()} is not allowed in {what}"
            raise scanner.error_at(message, Token("", -1, -1))
        items.append((target, word))
        if scanner.next().text == ";":
            return GetDiagnostics(line, stacked, tuple(items))
        if scanner.peek(-1).text != ",":
            raise scanner.error(scanner.peek(-1))


# ---- cursors


def _read_cursor_variable(parser: Parser) -> Variable:
    scanner = parser.scanner
    token = scanner.token
    found = parser.peek_reference()
    if found is None:
        _, names = parser.read_name()
        raise parser.unknown(token, names)
    if found.path or found.variable.type is None:
        raise scanner.error_at("cursor variable must be a simple variable", token, "datatype_mismatch")
    if found.variable.type.name != "refcursor":
        message = f'variable "{found.variable.name}" must be of type cursor or refcursor'
        raise scanner.error_at(message, token, "datatype_mismatch")
    return found.variable


def read_cursor_arguments(parser: Parser, cursor: Variable, token: Token) -> tuple[Fragment, ...]:
    """Reads the arguments of a bound cursor, by position or by name, in the order of its parameters."""
    scanner = parser.scanner
    assert cursor.cursor is not None
    parameters = cursor.cursor.parameters
    if not parameters:
        if scanner.token.text == "(":
            message = f'cursor "{cursor.name}" has no arguments'
            raise scanner.error_at(message, scanner.token)
        return ()
    if not scanner.take("("):
        raise scanner.error_at(f'cursor "{cursor.name}" has arguments', scanner.token)
    values: dict[int, Fragment] = {}
    names = [each.name for each in parameters]
    place = 0
    while True:
        here = scanner.token
        if here.word is not None and scanner.peek(1).text in {":=", "=>"}:
            if here.word not in names:
                message = f'cursor "{cursor.name}" has no argument named "{here.word}"'
                raise scanner.error_at(message, here)
            at = names.index(here.word)
            scanner.next()
            scanner.next()
        else:
            at, place = place, place + 1
        if at >= len(parameters):
            raise scanner.error_at(f'too many arguments for cursor "{cursor.name}"', scanner.peek(-1))
        if at in values:
            message = f'value for parameter "{names[at]}" of cursor "{cursor.name}" specified more than once'
            raise scanner.error_at(message, here)
        values[at] = parser.read_sql(",", ")", missing=")")
        if scanner.next().text == ")":
            break
    if len(values) < len(parameters):
        raise scanner.error_at(f'not enough arguments for cursor "{cursor.name}"', scanner.peek(-1))
    return tuple(values[at] for at in range(len(parameters)))


def _read_open(parser: Parser, line: int) -> Statement:
    scanner = parser.scanner
    token = scanner.token
    cursor = _read_cursor_variable(parser)
    if cursor.cursor is not None:
        arguments = read_cursor_arguments(parser, cursor, token)
        scanner.expect(";")
        return Open(line, cursor, arguments, None, False, (), cursor.cursor.scroll)
    scroll: bool | None = None
    if scanner.take("no", "scroll"):
        scroll = False
    elif scanner.take("scroll"):
        scroll = True
    scanner.expect("for")
    if scanner.take("execute"):
        query, using = parser.read_dynamic_query(";", ";")
        return Open(line, cursor, (), query, True, using, scroll)
    query = parser.read_sql(";", prefix="")
    scanner.expect(";")
    return Open(line, cursor, (), query, False, (), scroll)


def _read_fetch(parser: Parser, line: int, *, is_move: bool) -> Statement:
    scanner = parser.scanner
    direction, count = "next", None
    several = False
    if scanner.token.is_keyword(*_DIRECTIONS) and not _is_cursor_name(parser):
        direction = scanner.next().word or ""
        if direction in {"absolute", "relative"} or (
            direction in {"forward", "backward"} and not scanner.token.is_keyword("from", "in", "all")
            and not _is_cursor_name(parser)
        ):  # fmt: skip
            several = direction in {"forward", "backward"}
            count = parser.read_sql("from", "in", missing="FROM")
        elif scanner.take("all"):
            direction, several = f"{direction} all", True
    elif scanner.take("all"):
        direction, several = "forward all", True
    elif not _is_cursor_name(parser) and not scanner.token.is_keyword("from", "in"):
        count, direction, several = parser.read_sql("from", "in", missing="FROM"), "forward", True
    if not scanner.take("from"):
        scanner.take("in")
    cursor = _read_cursor_variable(parser)
    if is_move:
        scanner.expect(";")
        return Fetch(line, cursor, direction, count, None, True)
    if several:
        message = "FETCH statement cannot return multiple rows"
        raise scanner.error_at(message, Token("", -1, -1), "feature_not_supported")
    scanner.expect("into")
    target = parser.read_target()
    scanner.expect(";")
    return Fetch(line, cursor, direction, count, target, False)


def _is_cursor_name(parser: Parser) -> bool:
    """Whether the next token is a cursor that ends the direction."""
    token, after = parser.scanner.token, parser.scanner.peek(1)
    if token.word is None or not (after.text == ";" or after.is_keyword("into")):
        return False
    found = parser.scope.find(token.word)
    return found is not None and found.type == REFCURSOR


def _read_close(parser: Parser, line: int) -> Statement:
    cursor = _read_cursor_variable(parser)
    parser.scanner.expect(";")
    return Close(line, cursor)


def _read_end(parser: Parser, line: int, *, commit: bool) -> Statement:
    scanner = parser.scanner
    chain = False
    if scanner.take("and"):
        chain = not scanner.take("no")
        scanner.expect("chain")
    scanner.expect(";")
    parser.ends_transactions = True
    return EndTransaction(line, commit, chain)


_READERS: dict[str, Callable[[Parser, int], Statement]] = {
    "null": _read_null,
    "perform": _read_perform,
    "return": _read_return,
    "raise": _read_raise,
    "assert": _read_assert,
    "call": lambda parser, line: _read_call(parser, line, is_call=True),
    "do": lambda parser, line: _read_call(parser, line, is_call=False),
    "execute": _read_execute,
    "get": _read_get,
    "open": _read_open,
    "fetch": lambda parser, line: _read_fetch(parser, line, is_move=False),
    "move": lambda parser, line: _read_fetch(parser, line, is_move=True),
    "close": _read_close,
    "commit": lambda parser, line: _read_end(parser, line, commit=True),
    "rollback": lambda parser, line: _read_end(parser, line, commit=False),
}
