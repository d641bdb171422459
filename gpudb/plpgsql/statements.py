"""Parsing of the statements of PL/pgSQL that contain no others."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import FeatureNotSupported
from gpudb.plpgsql.declarations import REFCURSOR
from gpudb.plpgsql.reader import Reader, is_row, unquote
from gpudb.plpgsql.scanner import Token
from gpudb.plpgsql.scope import Fragment, Reference, Variable, find_reference
from gpudb.plpgsql.tree import (
    Assert,
    Assign,
    Call,
    Close,
    EndTransaction,
    Execute,
    Fetch,
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


def read_assignment(reader: Reader, line: int) -> Statement | None:
    """Reads `variable := expression` with fields and subscripts; None, without moving, for another statement."""
    scanner = reader.scanner
    mark, token = scanner.mark(), scanner.token
    _, names = reader.read_name()
    after = scanner.token
    found = find_reference(reader.scope, names)
    if after.text not in {":=", "=", "["}:
        scanner.reset(mark)
        return None
    if found is None:
        raise reader.unknown(token, names)
    reader.check_assignable(found, token)
    subscripts: list[tuple[Fragment | None, Fragment | None, bool]] = []
    while scanner.take("["):
        low: Fragment | None = None
        if scanner.token.text != ":":
            low = reader.read_sql(":", "]", missing="]")
        if scanner.take(":"):
            high = None if scanner.token.text == "]" else reader.read_sql("]")
            subscripts.append((low, high, True))
        else:
            subscripts.append((None, low, False))
        scanner.expect("]")
    if scanner.token.text == ".":
        raise FeatureNotSupported("assignments to a field of an array's item are not supported")
    if not (scanner.take(":=") or scanner.take("=")):
        raise scanner.error()
    value = reader.read_sql(";")
    source = scanner.text[token.start : scanner.token.start].rstrip()
    scanner.next()
    return Assign(line, found, tuple(subscripts), value, source)


def read_statement(reader: Reader, line: int) -> Statement:
    """Reads a statement by its first word; any that is not PL/pgSQL's own is SQL."""
    token = reader.scanner.token
    read = _READERS.get(token.word or "") if not token.quoted else None
    if read is None:
        return _read_sql_statement(reader, line)
    reader.scanner.next()
    return read(reader, line)


def _read_sql_statement(reader: Reader, line: int) -> Statement:
    scanner = reader.scanner
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
            into = reader.read_target()
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
    if reader.checks:
        reader.check_sql(part, first.start)
    return Sql(line, Fragment(part, reader.scope, first.start), into, strict)


# ---- statements of PL/pgSQL


def _read_null(reader: Reader, line: int) -> Statement:
    reader.scanner.expect(";")
    return Null(line)


def _read_perform(reader: Reader, line: int) -> Statement:
    if reader.scanner.token.text == ";":
        reader.scanner.next()
        return Null(line)  # SELECT without a list, which PostgreSQL allows
    return Perform(line, reader.read_expression(";"))


def _read_return(reader: Reader, line: int) -> Statement:
    scanner, declared = reader.scanner, reader.declared
    start, token = scanner.peek(-1), scanner.token
    if scanner.take("next"):
        return _read_return_next(reader, line, start)
    if scanner.take("query"):
        if not declared.returns_set:
            message = "cannot use RETURN QUERY in a non-SETOF function"
            raise scanner.error_at(message, start, "datatype_mismatch")
        if scanner.take("execute"):
            query, using = reader.read_dynamic_query(";", ";")
            return ReturnQuery(line, query, True, using)
        query = reader.read_sql(";", prefix="")
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
    return Return(line, reader.read_expression(";"))


def _read_return_next(reader: Reader, line: int, token: Token) -> Statement:
    scanner, declared = reader.scanner, reader.declared
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
    return ReturnNext(line, reader.read_expression(";"))


def _read_raise(reader: Reader, line: int) -> Statement:
    scanner = reader.scanner
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
            arguments, ended = reader.read_list(";", "using")
        _check_arguments(reader, message, len(arguments))
    elif scanner.token.word is not None and not scanner.token.is_keyword("using"):
        if scanner.take("sqlstate"):
            condition = name = reader.read_sqlstate()
        else:
            name = scanner.next().word or ""
            condition = reader.resolve_condition(name)
    if not ended:
        if scanner.take("using"):
            ended = "using"
        else:
            scanner.expect(";")
    if ended == "using":
        options = _read_options(reader)
    return Raise(line, level, condition, name, message, arguments, tuple(options))


def _check_arguments(reader: Reader, message: str, count: int) -> None:
    expected = message.replace("%%", "").count("%")
    if expected != count:
        many = "few" if expected > count else "many"
        raise reader.scanner.error_at(f"too {many} parameters specified for RAISE", Token("", -1, -1))


def _read_options(reader: Reader) -> list[tuple[str, Fragment]]:
    scanner = reader.scanner
    result: list[tuple[str, Fragment]] = []
    while True:
        token = scanner.next()
        if token.word not in _OPTIONS:
            raise scanner.error(token, "unrecognized RAISE statement option")
        if not (scanner.take("=") or scanner.take(":=")):
            raise scanner.error(None, 'syntax error, expected "="')
        value = reader.read_sql(",", ";", missing=";")
        result.append((token.word, value))
        if scanner.next().text == ";":
            return result


def _read_assert(reader: Reader, line: int) -> Statement:
    condition = reader.read_sql(",", ";", missing=";")
    if reader.scanner.next().text == ";":
        return Assert(line, condition, None)
    return Assert(line, condition, reader.read_expression(";"))


def _read_call(reader: Reader, line: int, *, is_call: bool) -> Statement:
    scanner = reader.scanner
    start = scanner.peek(-1)
    while scanner.token.text != ";":
        if not scanner.next().text:
            raise scanner.error()
    end = scanner.token.start
    scanner.next()
    reader.ends_transactions = True  # what it calls may
    return Call(line, reader.fragment(start.start, end, ""), is_call)


def _read_execute(reader: Reader, line: int) -> Statement:
    scanner = reader.scanner
    query = reader.read_sql("into", "using", ";", missing=";")
    into: Target | None = None
    strict = False
    using: tuple[Fragment, ...] = ()
    while True:
        token = scanner.token
        if scanner.take("into"):
            if into is not None:
                raise scanner.error(token)
            strict = scanner.take("strict")
            into = reader.read_target()
        elif scanner.take("using"):
            if using:
                raise scanner.error(token)
            result = []
            while True:
                result.append(reader.read_sql(",", "into", ";", missing=";"))
                if not scanner.take(","):
                    break
            using = tuple(result)
        else:
            scanner.expect(";")
            return Execute(line, query, into, strict, using)


def _read_get(reader: Reader, line: int) -> Statement:
    scanner = reader.scanner
    stacked = scanner.take("stacked")
    if not stacked:
        scanner.take("current")
    scanner.expect("diagnostics")
    items: list[tuple[Reference, str]] = []
    while True:
        token = scanner.token
        target = reader.read_variable()
        reader.check_assignable(target, token)
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


def _read_cursor_variable(reader: Reader) -> Variable:
    scanner = reader.scanner
    token = scanner.token
    found = reader.peek_reference()
    if found is None:
        _, names = reader.read_name()
        raise reader.unknown(token, names)
    if found.path or found.variable.type is None:
        raise scanner.error_at("cursor variable must be a simple variable", token, "datatype_mismatch")
    if found.variable.type.name != "refcursor":
        message = f'variable "{found.variable.name}" must be of type cursor or refcursor'
        raise scanner.error_at(message, token, "datatype_mismatch")
    return found.variable


def read_cursor_arguments(reader: Reader, cursor: Variable, token: Token) -> tuple[Fragment, ...]:
    """Reads the arguments of a bound cursor, by position or by name, in the order of its parameters."""
    scanner = reader.scanner
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
        values[at] = reader.read_sql(",", ")", missing=")")
        if scanner.next().text == ")":
            break
    if len(values) < len(parameters):
        raise scanner.error_at(f'not enough arguments for cursor "{cursor.name}"', scanner.peek(-1))
    return tuple(values[at] for at in range(len(parameters)))


def _read_open(reader: Reader, line: int) -> Statement:
    scanner = reader.scanner
    token = scanner.token
    cursor = _read_cursor_variable(reader)
    if cursor.cursor is not None:
        arguments = read_cursor_arguments(reader, cursor, token)
        scanner.expect(";")
        return Open(line, cursor, arguments, None, False, (), cursor.cursor.scroll)
    scroll: bool | None = None
    if scanner.take("no", "scroll"):
        scroll = False
    elif scanner.take("scroll"):
        scroll = True
    scanner.expect("for")
    if scanner.take("execute"):
        query, using = reader.read_dynamic_query(";", ";")
        return Open(line, cursor, (), query, True, using, scroll)
    query = reader.read_sql(";", prefix="")
    scanner.expect(";")
    return Open(line, cursor, (), query, False, (), scroll)


def _read_fetch(reader: Reader, line: int, *, is_move: bool) -> Statement:
    scanner = reader.scanner
    direction, count = "next", None
    several = False
    if scanner.token.is_keyword(*_DIRECTIONS) and not _is_cursor_name(reader):
        direction = scanner.next().word or ""
        if direction in {"absolute", "relative"} or (
            direction in {"forward", "backward"} and not scanner.token.is_keyword("from", "in", "all")
            and not _is_cursor_name(reader)
        ):  # fmt: skip
            several = direction in {"forward", "backward"}
            count = reader.read_sql("from", "in", missing="FROM")
        elif scanner.take("all"):
            direction, several = f"{direction} all", True
    elif scanner.take("all"):
        direction, several = "forward all", True
    elif not _is_cursor_name(reader) and not scanner.token.is_keyword("from", "in"):
        count, direction, several = reader.read_sql("from", "in", missing="FROM"), "forward", True
    if not scanner.take("from"):
        scanner.take("in")
    cursor = _read_cursor_variable(reader)
    if is_move:
        scanner.expect(";")
        return Fetch(line, cursor, direction, count, None, True)
    if several:
        message = "FETCH statement cannot return multiple rows"
        raise scanner.error_at(message, Token("", -1, -1), "feature_not_supported")
    scanner.expect("into")
    target = reader.read_target()
    scanner.expect(";")
    return Fetch(line, cursor, direction, count, target, False)


def _is_cursor_name(reader: Reader) -> bool:
    """Whether the next token is a cursor that ends the direction."""
    token, after = reader.scanner.token, reader.scanner.peek(1)
    if token.word is None or not (after.text == ";" or after.is_keyword("into")):
        return False
    found = reader.scope.find(token.word)
    return found is not None and found.type == REFCURSOR


def _read_close(reader: Reader, line: int) -> Statement:
    cursor = _read_cursor_variable(reader)
    reader.scanner.expect(";")
    return Close(line, cursor)


def _read_end(reader: Reader, line: int, *, commit: bool) -> Statement:
    scanner = reader.scanner
    chain = False
    if scanner.take("and"):
        chain = not scanner.take("no")
        scanner.expect("chain")
    scanner.expect(";")
    reader.ends_transactions = True
    return EndTransaction(line, commit, chain)


_READERS: dict[str, Callable[[Reader, int], Statement]] = {
    "null": _read_null,
    "perform": _read_perform,
    "return": _read_return,
    "raise": _read_raise,
    "assert": _read_assert,
    "call": lambda reader, line: _read_call(reader, line, is_call=True),
    "do": lambda reader, line: _read_call(reader, line, is_call=False),
    "execute": _read_execute,
    "get": _read_get,
    "open": _read_open,
    "fetch": lambda reader, line: _read_fetch(reader, line, is_move=False),
    "move": lambda reader, line: _read_fetch(reader, line, is_move=True),
    "close": _read_close,
    "commit": lambda reader, line: _read_end(reader, line, commit=True),
    "rollback": lambda reader, line: _read_end(reader, line, commit=False),
}
