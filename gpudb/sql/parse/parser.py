"""Parses SQL text to PostgreSQL's own parse tree, by libpg_query through postgast.

Nodes are protobuf messages; `kind(node)` and `inner(node)` open the `Node` wrapper that lists hold. Their locations
are byte offsets into the statement's text; `position` converts one to PostgreSQL's 1-based character position.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import postgast
from google.protobuf.message import Message
from postgast import pg_query_pb2 as pg
from postgast.errors import check_error
from postgast.native import lib

from gpudb.catalog.copies import copy_with
from gpudb.catalog.parse_trees import deparse_tree
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, SyntaxError_
from gpudb.sql.parse.asof_join import AsofClause, attach_asof_join, extract_asof_joins
from gpudb.sql.parse.clause_text import hide_quoted
from gpudb.sql.parse.distribute_by import DistributeBy, extract_distribution
from gpudb.sql.parse.file_names import FileName, attach_file_name, mentions_files, replace_file_name
from gpudb.sql.parse.friendly import rewrite
from gpudb.sql.parse.friendly.columns import mark_columns, mentions_columns
from gpudb.sql.parse.friendly.rewritten import Rewritten
from gpudb.sql.parse.friendly.shapes import find_malformed, mentions_calls
from gpudb.sql.parse.friendly.show_tables import shows_tables
from gpudb.sql.parse.interrupts import run_native
from gpudb.sql.parse.json_format import attach_json_format, replace_json_format
from gpudb.sql.parse.literal_rows import LiteralRows
from gpudb.sql.parse.model_statements import ModelStatement, extract_model_statements
from gpudb.sql.parse.nesting import check_depth, decode
from gpudb.sql.parse.node_statements import ExecuteDirect, NodeStatement, extract_node_statements
from gpudb.sql.parse.qualify import QualifyClause, attach_condition, extract_qualify
from gpudb.sql.parse.resource_groups import ResourceGroupClause, ResourceGroupStatement, extract_resource_groups
from gpudb.sql.parse.statement_functions import find_function_call
from gpudb.sql.parse.system_time import SystemTimeClause, attach_system_time, extract_system_times
from gpudb.sql.parse.vertical_tabs import check_vertical_tabs, replace_escapes

MAX_TEXT = 64 << 20
_LONG_TEXT = 1 << 20
_DISTRIBUTED = frozenset({"CreateStmt", "CreateForeignTableStmt", "CreateTableAsStmt", "AlterTableStmt"})


@dataclass(frozen=True, slots=True)
class RawStatement:
    """A parsed statement: its tree, its own text, and the character at which that starts in the sent text.

    Locations in the tree are byte offsets into its own text. `kind` is the tree's name: SelectStmt, InsertStmt, … A
    `part` is nested in another statement and has that statement's text.
    """

    node: Message
    text: str
    start: int = 0
    distribution: DistributeBy | None = None
    node_statement: NodeStatement | None = None
    model_statement: ModelStatement | None = None
    group_statement: ResourceGroupStatement | None = None
    resource_group: ResourceGroupClause | None = None
    """RESOURCE GROUP of CREATE and ALTER ROLE."""
    direct_node: str | None = None
    """The node of EXECUTE DIRECT, if this is its statement."""
    part: bool = False
    for_model: bool = False
    """Whether it is what ALTER MODEL and the like do to a function of the model."""
    rows: LiteralRows | None = None
    """All rows of an INSERT … VALUES whose tree has only the first one."""
    kind: str = field(init=False)
    is_function: bool = field(init=False)
    """Whether it is a SELECT that is carried out as a statement (see `statement_functions`)."""

    def __post_init__(self) -> None:
        kind = "NodeStmt" if self.node_statement is not None else str(self.node.DESCRIPTOR.name)
        kind = "ModelStmt" if self.model_statement is not None else kind
        kind = "ResourceGroupStmt" if self.group_statement is not None else kind
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "is_function", kind == "SelectStmt" and find_function_call(self.node) is not None)

    def with_rows(self, text: str, rows: LiteralRows) -> RawStatement:
        """Returns the statement of another text of the same shape, with its rows."""
        return copy_with(self, text=text, rows=rows)

    def without_rows(self) -> RawStatement:
        """Returns the statement of an INSERT of literal rows as one of its shape, which others begin with."""
        return replace(self, rows=None, text="")


def parse(text: str, *, friendly: bool = True) -> list[RawStatement]:
    """Parses the statements of a text; 42601 with its position if PostgreSQL's grammar rejects it.

    `friendly` is whether it may have the constructs of `parse.friendly`.
    """
    if "\0" in text:
        raise SqlError.of("character_not_in_repertoire", 'invalid byte sequence for encoding "UTF8": 0x00')
    if len(text) > MAX_TEXT:
        raise SqlError.of("program_limit_exceeded", f"statement text of {len(text)} characters is too long")
    plain, node_statements = extract_node_statements(text)
    plain, model_statements = extract_model_statements(plain)
    plain, group_statements, group_clauses = extract_resource_groups(plain)
    plain, distributions = extract_distribution(plain)
    check_depth(plain)
    if "\v" in plain:
        check_vertical_tabs(plain)
    written = plain
    if "\\v" in plain:
        plain = replace_escapes(plain)
    tree, plain, clauses, rewritten = _parse_any(plain, friendly=friendly)
    encoded, own_text = plain.encode(), written.encode()
    found = []
    for each in tree.stmts:
        start = each.stmt_location
        end = start + each.stmt_len if each.stmt_len else len(encoded)
        node = each.stmt
        if start:
            # Parsed again by itself, so that locations count from the start of its own text
            node = _parse_tree(encoded[start:end].decode().rstrip()).stmts[0].stmt
        if rewritten is None:
            clauses.attach(node, encoded[start:end].decode(), start, end)
        else:
            begin, stop = rewritten.locate_statement(start, end)
            try:
                clauses.attach(node, encoded[start:end].decode(), start, end)
            except GpudbError as error:
                error.position = rewritten.locate_position(error.position, start, begin)
                raise
            rewritten.relocate(node, start, begin)
            start, end = begin, stop
        if friendly and mentions_columns(plain):
            mark_columns(node)
        if mentions_calls(plain):
            for construct, place in find_malformed(node):
                at = position(written, start + place) if place >= 0 else None
                raise SyntaxError_(f"syntax error in {construct}", position=at)
        own = own_text[start:end].decode().rstrip()
        spread = [each for each in distributions if start <= each.offset <= end]
        statement = RawStatement(inner(node), own, len(own_text[:start].decode()), spread[0] if spread else None)
        if spread and (statement.kind not in _DISTRIBUTED or spread[1:]):
            at = position(written, spread[-1].offset)
            raise SyntaxError_('syntax error at or near "DISTRIBUTE"', position=at)
        if group_clauses:
            own_clauses = [each for each in group_clauses if start <= each.offset <= end]
            statement = _attach_resource_group(statement, own_clauses)
        taken_statements = (*node_statements, *model_statements, *group_statements)
        own_taken = next((each for at, each in taken_statements if start <= at <= end), None)
        found.append(statement if own_taken is None else _restore_statement(statement, own_taken, friendly=friendly))
    return found


def _parse_any(text: str, *, friendly: bool) -> tuple[Any, str, _Clauses, Rewritten | None]:
    """Parses a text: returns the tree, the text that has it, its clauses, and how that came from what was written."""
    try:
        tree = _parse_tree(text)
    except postgast.PgQueryError as error:
        taken = _parse_extended(text)
        if taken is not None:
            return *taken, None
        rewritten = rewrite(text) if friendly else None
        if rewritten is None:
            raise _grammar_error(error, text) from None
        return *_parse_rewritten(rewritten, text, error), rewritten
    if friendly and any(map(shows_tables, tree.stmts)) and (rewritten := rewrite(text)) is not None:
        return *_parse_rewritten(rewritten, text, None), rewritten
    return tree, text, _Clauses(), None


def _parse_rewritten(rewritten: Rewritten, text: str, first: postgast.PgQueryError | None) -> tuple[Any, str, _Clauses]:
    """Parses a rewritten text; else 42601 where it, or what the user wrote, is wrong first from the end."""
    try:
        return _parse_tree(rewritten.text), rewritten.text, _Clauses()
    except postgast.PgQueryError as error:
        taken = _parse_extended(rewritten.text)
        if taken is not None:
            return taken
        place = rewritten.locate_position(error.cursorpos or None, 0, 0, written=True)
        if first is not None and (place is None or place <= (first.cursorpos or 0)):
            raise _grammar_error(first, text) from None
        found = _grammar_error(error, rewritten.text)
        found.position = place
        raise found from None


def _attach_resource_group(statement: RawStatement, clauses: list[ResourceGroupClause]) -> RawStatement:
    """Attaches RESOURCE GROUP to the statement of a role; 42601 if there are several, or the statement is another."""
    if not clauses:
        return statement
    if len(clauses) > 1 or statement.kind not in {"CreateRoleStmt", "AlterRoleStmt"}:
        raise SyntaxError_('syntax error at or near "RESOURCE"')
    return replace(statement, resource_group=clauses[0])


def _restore_statement(
    stand_in: RawStatement,
    taken: NodeStatement | ExecuteDirect | ModelStatement | ResourceGroupStatement,
    *,
    friendly: bool,
) -> RawStatement:
    """Replaces a placeholder by its statement; 0A000 if EXECUTE DIRECT contains anything but one SELECT."""
    if isinstance(taken, NodeStatement):
        return replace(stand_in, node_statement=taken)
    if isinstance(taken, ResourceGroupStatement):
        return replace(stand_in, group_statement=taken)
    if not isinstance(taken, ExecuteDirect):
        return replace(stand_in, model_statement=taken)
    inside = parse(taken.text, friendly=friendly)
    if len(inside) != 1 or inside[0].kind != "SelectStmt" or inside[0].direct_node is not None:
        raise FeatureNotSupported("EXECUTE DIRECT is supported for one SELECT")
    return replace(inside[0], start=stand_in.start, direct_node=taken.node)


@dataclass(frozen=True, slots=True)
class _Clauses:
    """Clauses of a text that PostgreSQL's grammar lacks, which are attached to the trees of its statements."""

    qualify: list[QualifyClause] = field(default_factory=list)
    times: list[SystemTimeClause] = field(default_factory=list)
    asof_joins: list[AsofClause] = field(default_factory=list)
    files: list[FileName] = field(default_factory=list)
    json_formats: list[int] = field(default_factory=list)

    def attach(self, node: Any, text: str, start: int, end: int) -> None:
        """Attaches the clauses of a statement, the bytes `start` to `end` of the whole text, to its tree."""
        for hung in self.qualify:
            if start <= hung.offset <= end:
                condition = _parse_expression(hung.condition, hung.offset - start, "QUALIFY")
                attach_condition(inner(node), hung.select - start, condition)
        for clause in self.times:
            if start <= clause.offset <= end:
                expression = _parse_expression(clause.expression, clause.offset - start, "OF")
                attach_system_time(node, text, clause, start, expression)
        for join in self.asof_joins:
            if start <= join.offset <= end:
                attach_asof_join(node, join, start, _parse_expression, _parse_using(join.using))
        for offset in self.json_formats:
            if start <= offset <= end:
                attach_json_format(node, offset - start)
        for file in self.files:
            if start <= file.offset <= end:
                try:
                    attach_file_name(node, file, start)
                except SyntaxError_ as error:
                    raise error.at(position(text, file.offset - start)) from None


def _parse_extended(text: str) -> tuple[Any, str, _Clauses] | None:
    """Parses a text that may have clauses beyond PostgreSQL's grammar: returns the tree, the text without them, and the
    clauses; None if it has none, or is no statement without them either.
    """
    if mentions_files(text) or "json" in text.lower():
        plain, words = _replace_words(text)
        if words.files or words.json_formats:
            with contextlib.suppress(postgast.PgQueryError):
                return _parse_tree(plain), plain, words
            taken = _parse_extended_clauses(plain)
            if taken is not None:
                taken[2].files.extend(words.files)
                taken[2].json_formats.extend(words.json_formats)
            return taken
    return _parse_extended_clauses(text)


def _replace_words(text: str) -> tuple[str, _Clauses]:
    """Returns a text with other words where the grammar rejects names of files or FORMAT json, and those."""
    words = _Clauses()
    while True:
        try:
            _parse_tree(text)
        except postgast.PgQueryError as error:
            place = (error.cursorpos or 1) - 1
            if (file := replace_file_name(text, place)) is not None:
                text = file[0]
                words.files.append(file[1])
            elif (json := replace_json_format(text, place)) is not None:
                text = json[0]
                words.json_formats.append(json[1])
            else:
                return text, words
        else:
            return text, words


def _parse_extended_clauses(text: str) -> tuple[Any, str, _Clauses] | None:
    """Parses a text that may have clauses beyond PostgreSQL's grammar, names of files aside."""
    taken = _parse_clauses(text)
    if taken is None and "asof" in text.lower():
        plain, joins = extract_asof_joins(text)
        if joins:
            with contextlib.suppress(postgast.PgQueryError):
                return _parse_tree(plain), plain, _Clauses(asof_joins=joins)
            taken = _parse_clauses(plain)
            if taken is not None:
                taken[2].asof_joins.extend(joins)
    return taken


def _parse_clauses(text: str) -> tuple[Any, str, _Clauses] | None:
    """Parses a text that has QUALIFY, or the time of a table's snapshot, as `_parse_extended` does."""
    words = text.lower()
    plain, times, clauses = text, list[SystemTimeClause](), list[QualifyClause]()
    if "system_" in words:
        plain, times = extract_system_times(plain, _is_expression)
    if "qualify" in words:
        without, clauses = extract_qualify(plain)
        if times:
            # The word may be a name in the rest of the text
            with contextlib.suppress(postgast.PgQueryError):
                return _parse_tree(plain), plain, _Clauses(times=times)
        plain = without
    if not times and not clauses:
        return None
    try:
        return _parse_tree(plain), plain, _Clauses(clauses, times)
    except postgast.PgQueryError:
        return None


def _parse_using(names: str | None) -> tuple[str, ...]:
    """Returns the names of USING; 42601."""
    if names is None:
        return ()
    try:
        tree = _parse_tree(f"SELECT FROM a JOIN b USING ({names}\n)")
    except postgast.PgQueryError as error:
        raise SyntaxError_(error.message) from None
    return strings(inner(inner(tree.stmts[0].stmt).from_clause[0]).using_clause)


def _is_expression(text: str) -> bool:
    try:
        targets = inner(_parse_tree(f"SELECT ({text}\n)").stmts[0].stmt).target_list
    except postgast.PgQueryError:
        return False
    return len(targets) == 1


def _parse_expression(text: str, offset: int, word: str) -> Any:
    """Parses the expression behind the word of a clause, with locations in the text of the clause's statement."""
    select = "SELECT "
    padded = select + " " * (offset - len(select)) + text
    try:
        targets = inner(_parse_tree(padded).stmts[0].stmt).target_list
    except postgast.PgQueryError as error:
        raise _grammar_error(error, padded) from None
    if len(targets) != 1 or inner(targets[0]).name:
        raise SyntaxError_(f'syntax error at or near "{word}"')
    return inner(targets[0]).val


def _grammar_error(error: postgast.PgQueryError, text: str) -> SqlError:
    """Returns PostgreSQL's error for a text that its grammar rejects."""
    if "stack depth" in error.message or "memory" in error.message:
        return SqlError.of("statement_too_complex", error.message)
    if "invalid byte sequence" in error.message:
        return SqlError.of("character_not_in_repertoire", error.message)
    condition, hint = _GRAMMAR.get(error.message, (None, None))
    if error.message.startswith("unrecognized row security option"):
        hint = "Only PERMISSIVE or RESTRICTIVE policies are supported currently."
    if _RESERVED_ROLE.fullmatch(error.message):
        condition = "reserved_name"
    if error.message == "invalid Unicode escape":
        before = text[: error.cursorpos or 0].lower()
        if before.rfind("u&") > before.rfind("e'"):
            condition, hint = None, "Unicode escapes must be \\XXXX or \\+XXXXXX."
    return SyntaxError_(error.message, position=error.cursorpos or None, condition=condition, hint=hint)


_RESERVED_ROLE = re.compile(r'role name ".*" is reserved|\w+ cannot be used as a role name here')
# Hints and conditions that libpg_query omits from the grammar's errors that are no syntax errors
_GRAMMAR: dict[str, tuple[str | None, str | None]] = {
    "precision for type float must be at least 1 bit": ("invalid_parameter_value", None),
    "precision for type float must be less than 54 bits": ("invalid_parameter_value", None),
    "LIMIT #,# syntax is not supported": (None, "Use separate LIMIT and OFFSET clauses."),
    "frame start cannot be UNBOUNDED FOLLOWING": ("windowing_error", None),
    "frame end cannot be UNBOUNDED PRECEDING": ("windowing_error", None),
    "frame starting from following row cannot end with current row": ("windowing_error", None),
    "frame starting from current row cannot have preceding rows": ("windowing_error", None),
    "frame starting from following row cannot have preceding rows": ("windowing_error", None),
    "invalid Unicode escape": (
        "invalid_escape_sequence",
        "Unicode escapes must be \\uXXXX or \\UXXXXXXXX.",
    ),
    "aggregates cannot have output arguments": ("feature_not_supported", None),
    **{
        f"{kind} constraints cannot be marked {mark}": ("feature_not_supported", None)
        for kind in ("CHECK", "UNIQUE", "PRIMARY KEY", "EXCLUDE", "FOREIGN KEY")
        for mark in ("DEFERRABLE", "NOT VALID", "NO INHERIT")
    },
    "CREATE ASSERTION is not yet implemented": ("feature_not_supported", None),
    "MATCH PARTIAL not yet implemented": ("feature_not_supported", None),
    "current database cannot be changed": ("feature_not_supported", None),
}


def _parse_tree(text: str) -> Any:
    """Returns libpg_query's tree of a text, without protobuf's limit of 100 levels in postgast's own `parse`."""
    data = _parse_bytes(text) if len(text) < _LONG_TEXT else run_native(lambda: _parse_bytes(text))
    return decode(pg.ParseResult, data)


def _parse_bytes(text: str) -> bytes:
    result = lib.pg_query_parse_protobuf(text.encode())
    try:
        check_error(result)
        return ctypes.string_at(result.parse_tree.data, result.parse_tree.len)
    finally:
        lib.pg_query_free_protobuf_parse_result(result)


def kind(node: Any) -> str:
    """Returns the field that a `Node` wraps (`a_expr`, `column_ref`, …); '' for an empty one."""
    return node.WhichOneof("node") or ""


def inner(node: Any) -> Any:
    """Returns the message that a `Node` wraps."""
    return getattr(node, node.WhichOneof("node"))


def children(node: Any) -> Iterator[Any]:
    """Yields the messages that a message has in its fields, one level down, in the order of the fields."""
    for each, value in node.ListFields():
        if each.message_type is not None:
            yield from value if each.is_repeated else (value,)


def present(node: Any) -> bool:
    """Whether an optional `Node` field is set."""
    return node.WhichOneof("node") is not None


def strings(nodes: Any) -> tuple[str, ...]:
    """Returns the texts of a list of String nodes, as in a qualified name."""
    return tuple(node.string.sval for node in nodes)


def position(text: str, location: int) -> int | None:
    """Returns PostgreSQL's 1-based character position of a byte offset; None if the location is unknown."""
    if location < 0:
        return None
    if text.isascii():
        return location + 1
    return len(text.encode()[:location].decode(errors="ignore")) + 1


def parameter_position(text: str, number: int) -> int | None:
    """Returns PostgreSQL's position of the first `$number` outside quotes of a valid text; None if there is none."""
    found = re.search(rf"\${number}(?!\d)", hide_quoted(text))
    return None if found is None else found.start() + 1


_FIRST = ("lexpr", "arg", "testexpr", "args", "xpr")


def expression_location(node: Any) -> int:
    """Returns the byte offset at which an expression begins, as PostgreSQL's exprLocation does; -1 if unknown."""
    found = -1
    while present(node):
        message = inner(node)
        here = getattr(message, "location", -1)
        found = here if found < 0 else min(found, here) if here >= 0 else found
        names = message.DESCRIPTOR.fields_by_name
        first = next((getattr(message, name) for name in _FIRST if name in names), None)
        if first is None or message.DESCRIPTOR.name in {"CaseExpr", "CoalesceExpr", "FuncCall", "MinMaxExpr"}:
            break
        if not hasattr(first, "WhichOneof"):
            if not len(first):
                break
            first = first[0]
        node = first
    return found


def output_location(node: Any, index: int) -> int:
    """Returns the byte offset of an output column's expression in a SelectStmt message; -1 behind a star."""
    while node.op != pg.SETOP_NONE:
        node = node.larg
    if len(node.values_lists):
        return expression_location(inner(node.values_lists[0]).items[index])
    outputs = node.target_list
    return expression_location(inner(outputs[index]).val) if index < len(outputs) else -1


def changes_data(node: Any) -> bool:
    """Whether a statement's own WITH contains INSERT, UPDATE, DELETE or MERGE."""
    if "with_clause" not in node.DESCRIPTOR.fields_by_name or not node.HasField("with_clause"):
        return False
    return any(kind(inner(each).ctequery) != "select_stmt" for each in node.with_clause.ctes)


def deparse(node: Message) -> str:
    """Returns a statement's tree as SQL text."""
    result = pg.ParseResult()
    statement = result.stmts.add()
    field = next(f for f in pg.Node.DESCRIPTOR.fields if f.message_type is node.DESCRIPTOR)
    getattr(statement.stmt, field.name).CopyFrom(node)
    marker = _PARENTHESES
    while marker.encode() in node.SerializeToString():
        marker += "_"
    marked = _mark_operands(statement, marker)
    text = deparse_tree(result)
    return text.replace(f"{marker}(", "(") if marked else text


_PARENTHESES = "gpudb_parentheses"
"""The name of a function that stands for the parentheses that the deparser leaves out."""
_TESTS = frozenset({"bool_expr", "null_test", "boolean_test"})
_LOOSE = {
    "A_Indirection": frozenset({"case_expr", "coalesce_expr", "min_max_expr", "sub_link", "sqlvalue_function"}),
    "NullTest": _TESTS,
    "BooleanTest": _TESTS,
    "TypeCast": _TESTS,
    "CollateClause": _TESTS,
    "A_Expr": _TESTS | {"sub_link"},
    "SubLink": _TESTS | {"a_expr"},
}
"""The kinds of operands of a message that bind less tightly, or are no operands of it without parentheses."""


def _mark_operands(message: Any, marker: str) -> bool:
    """Marks operands that the deparser writes without the parentheses that they need; returns whether there are any."""
    marked = False
    for each in _list_operands(message):
        if kind(each) == "sub_link" and each.sub_link.sub_link_type in (pg.EXPR_SUBLINK, pg.EXISTS_SUBLINK):
            continue
        call = pg.Node(func_call=pg.FuncCall(funcname=[pg.Node(string=pg.String(sval=marker))], args=[each]))
        each.CopyFrom(call)
        marked = True
    for each in children(message):
        marked |= _mark_operands(each, marker)
    return marked


def _list_operands(message: Any) -> list[Any]:
    """Returns the operands of a message that are of a kind that may need parentheses."""
    name = message.DESCRIPTOR.name
    loose = _LOOSE.get(name)
    if loose is None:
        return []
    if name == "SubLink":
        return [message.testexpr] if kind(message.testexpr) in loose else []
    if name != "A_Expr":
        return [message.arg] if kind(message.arg) in loose else []
    if message.kind != pg.AEXPR_OP:
        loose |= {"a_expr"}
    found = [message.lexpr, message.rexpr]
    if kind(message.rexpr) == "list" and "BETWEEN" in pg.A_Expr_Kind.Name(message.kind):
        found += inner(message.rexpr).items
    return [each for each in found if kind(each) in loose]


def count_parameters(statement: RawStatement) -> int:
    """Returns the greatest number of a parameter in a statement's tree; 0 without parameters."""
    return _find_greatest(statement.node)


def _find_greatest(message: Any) -> int:
    if message.DESCRIPTOR.name == "ParamRef":
        return int(message.number)
    greatest = 0
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for each in value if descriptor.is_repeated else (value,):
                greatest = max(greatest, _find_greatest(each))
    return greatest
