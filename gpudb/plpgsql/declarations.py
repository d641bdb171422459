"""DECLARE: variables, constants, aliases and bound cursors."""

from __future__ import annotations

from dataclasses import replace

from gpudb.plpgsql.reader import Reader
from gpudb.plpgsql.scope import CursorQuery, Fragment, Reference, Variable, find_reference
from gpudb.types import SqlType

REFCURSOR = SqlType("refcursor")
_SECTIONS = ("begin", "declare", "exception", "end")


def read_declarations(reader: Reader) -> list[Variable]:
    """Reads the declarations of a block into the reader's scope, up to BEGIN."""
    scanner = reader.scanner
    result: list[Variable] = []
    while scanner.take("declare"):
        while not scanner.token.is_keyword(*_SECTIONS):
            if scanner.take("<", "<") or scanner.token.text == "<<":
                raise scanner.error_at("block label must be placed before DECLARE, not after", scanner.token)
            found = _read_declaration(reader)
            if found is not None:
                result.append(found)
    return result


def _read_declaration(reader: Reader) -> Variable | None:
    """Reads one declaration; None for an alias."""
    scanner = reader.scanner
    token = scanner.next()
    if token.word is None:
        raise scanner.error(token)
    name, line = token.word, scanner.line(token.start)
    if reader.scope.has_in_block(name):
        raise scanner.error(token, "duplicate declaration")
    if scanner.take("alias", "for"):
        _read_alias(reader, name)
        return None
    if scanner.token.is_keyword("cursor", "scroll", "no") and _is_cursor(reader):
        return _read_cursor(reader, name, line)
    constant = scanner.take("constant")
    item = read_type(reader, "not", "collate", "default", ":=", "=", ";")
    if scanner.take("collate"):
        reader.read_name()
    not_null = scanner.take("not", "null")
    default: Fragment | None = None
    if scanner.take("default") or scanner.take(":=") or scanner.take("="):
        default = reader.read_expression(";")
    else:
        scanner.expect(";")
    variable = reader.new_variable(name, item, line)
    variable.constant, variable.not_null, variable.default = constant, not_null, default
    if not_null and default is None:
        message = f'variable "{name}" must have a default value, since it\'s declared NOT NULL'
        raise scanner.error_at(message, token, "null_value_not_allowed")
    reader.scope = reader.scope.add(variable)
    return variable


def read_type(reader: Reader, *until: str) -> SqlType | None:
    """Reads a type up to one of these words or signs: a name, name%TYPE or name%ROWTYPE; None for record."""
    scanner = reader.scanner
    start = scanner.token
    depth, end = 0, start.start
    while depth or not _ends(scanner.token, until):
        token = scanner.next()
        if not token.text or token.text == ";":
            raise (
                scanner.error_at("incomplete data type declaration", token) if not token.text else scanner.error(token)
            )
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        end = token.end
    if end == start.start:
        if scanner.token.text == ";":
            raise scanner.error(None, "missing data type declaration")
        raise scanner.error()
    return _resolve(reader, scanner.text[start.start : end], start.start)


def _ends(token: object, until: tuple[str, ...]) -> bool:
    word, text = getattr(token, "word", None), getattr(token, "text", "")
    return (word or text) in until


def _resolve(reader: Reader, text: str, offset: int) -> SqlType | None:
    lowered = text.rstrip().lower()
    array = lowered.endswith("[]") and "%" in lowered
    while lowered.endswith("[]"):
        if not array:
            break
        text = text.rstrip()[:-2]
        lowered = text.rstrip().lower()
    if lowered.endswith("type") and "%" in lowered:
        name = text[: text.rindex("%")].strip()
        inner = Reader(name, reader.scope, reader.resolve_type, reader.declared)
        _, names = inner.read_name()
        known = find_reference(reader.scope, names) if "rowtype" not in lowered else None
        if known is not None:
            item = known.variable.type if not known.path else _field_type(known)
            return item.array if array and item is not None else item
    if lowered == "record":
        return None
    at = offset + (text.rindex("%") if "%" in text else 0)
    try:
        item = reader.resolve_type(text.strip())
    except Exception as error:
        if hasattr(error, "position"):
            error.position = at + 1
        raise
    return item.array if array and item is not None else item


def _field_type(known: Reference) -> SqlType | None:
    item = known.variable.type
    for name in known.path:
        item = dict(item.fields).get(name) if item is not None else None
    return item


def _read_alias(reader: Reader, name: str) -> None:
    scanner = reader.scanner
    token = scanner.token
    if token.text.startswith("$"):
        scanner.next()
        variable = reader.scope.find(token.text)
        if variable is None:
            raise scanner.error_at(f'variable "{token.text}" does not exist', token, "undefined_column")
    else:
        _, names = reader.read_name()
        found = find_reference(reader.scope, names)
        if found is None:
            message = f'variable "{".".join(names)}" does not exist'
            raise scanner.error_at(message, token, "undefined_object")
        variable = found.variable
    scanner.expect(";")
    reader.scope = reader.scope.add(variable, name)


def _is_cursor(reader: Reader) -> bool:
    scanner = reader.scanner
    if scanner.token.is_keyword("cursor"):
        return True
    ahead = 2 if scanner.token.is_keyword("no") else 1
    return scanner.peek(ahead).is_keyword("cursor")


def _read_cursor(reader: Reader, name: str, line: int) -> Variable:
    scanner = reader.scanner
    scroll: bool | None = None
    if scanner.take("no", "scroll"):
        scroll = False
    elif scanner.take("scroll"):
        scroll = True
    scanner.expect("cursor")
    outside = reader.scope
    reader.scope = outside.enter()
    parameters: list[Variable] = []
    if scanner.take("("):
        while True:
            token = scanner.next()
            if token.word is None:
                raise scanner.error(token)
            item = read_type(reader, ",", ")")
            variable = reader.new_variable(token.word, item, line)
            parameters.append(variable)
            if not scanner.take(","):
                break
        scanner.expect(")")
        for each in parameters:
            reader.scope = reader.scope.add(each)
    if not (scanner.take("for") or scanner.take("is")):
        raise scanner.error()
    query = reader.read_sql(";", prefix="")
    scanner.expect(";")
    query = replace(query, scope=reader.scope)
    variable = reader.new_variable(name, REFCURSOR, line)
    variable.cursor = CursorQuery(tuple(parameters), query, scroll)
    reader.scope = outside.add(variable)
    return variable
