"""Names and defaults in the spelling of PostgreSQL's deparser."""

from __future__ import annotations

import re

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.catalog.pinned_routines import show_expression_names
from gpudb.errors import GpudbError
from gpudb.types import BIT, SqlType, type_exists
from gpudb.values.bit_strings import parse_bits
from gpudb.values.interval import parse_restricted_interval
from gpudb.values.text import format_text, parse_text

# Types whose literals depend on the session or the time.
_SESSION_FUNCTIONS = {"timestamptz", "timetz"}
_CURRENT = {"now", "today", "tomorrow", "yesterday"}


def split_names(text: str) -> list[str]:
    """Returns the names of a search path, as they are between the quotes or in lower case."""
    found = []
    for quoted, plain in _NAME.findall(text):
        name = quoted[1:-1].replace('""', '"') if quoted else plain.strip().lower()
        if name or quoted:
            found.append(name)
    return found


_NAME = re.compile(r'\s*(?:("(?:[^"]|"")*")|([^,]+))[^,]*(?:,|$)')


def deparse_default(text: str, item: SqlType, *, short: bool = True) -> str:
    """Returns a column's default as pg_get_expr shows it: a literal has the column's type.

    With `short` functions and types are named as the default search path finds them.
    """
    try:
        tree = postgast.parse(f"SELECT {text}")
    except postgast.PgQueryError:
        return text
    node = tree.stmts[0].stmt.select_stmt.target_list[0].res_target.val
    return _deparse_node(node, item) or show_expression_names(text, short=short)


def show_type(node: pg.TypeName) -> str | None:
    """Returns a built-in type as format_type shows it; None for a user's type, and for one with a modifier."""
    names = [each.string.sval for each in node.names]
    if len(node.typmods) or len(node.array_bounds) or node.pct_type or len(names) > 2:
        return None
    if (len(names) == 2 and names[0] != "pg_catalog") or not type_exists(names[-1]):
        return None
    return SqlType(names[-1]).unmodified_name


def quote_text(text: str) -> str:
    """Returns a text as a literal."""
    escaped = text.replace("'", "''")
    return f"E'{escaped}'".replace("\\", "\\\\") if "\\" in text else f"'{escaped}'"


def _deparse_node(node: pg.Node, item: SqlType) -> str | None:
    kind = node.WhichOneof("node")
    if kind == "a_const":
        return _deparse_literal(node.a_const, item)
    if kind == "type_cast" and node.type_cast.arg.a_const.HasField("sval"):
        shown = show_type(node.type_cast.type_name)
        return None if shown is None else f"{quote_text(node.type_cast.arg.a_const.sval.sval)}::{shown}"
    if kind == "sqlvalue_function":
        name = pg.SQLValueFunctionOp.Name(node.sqlvalue_function.op).removeprefix("SVFOP_")
        return None if name.endswith("_N") else name
    return None


def _get_number_type(text: str) -> str:
    """Returns the type of a number beyond int4: bigint for a whole number that fits, else numeric."""
    if text.lstrip("-").isdigit() and -(2**63) <= int(text) < 2**63:
        return f"'{text}'::bigint"
    return text if text[0] != "-" else f"'{text}'::numeric"


def _deparse_literal(constant: pg.A_Const, item: SqlType) -> str | None:
    kind = SqlType(item.name, item.modifier if item.name == "interval" else -1, user=item.user)
    type_text = kind.unmodified_name
    if constant.isnull:
        return f"NULL::{type_text}"
    match constant.WhichOneof("val"):
        case "ival":
            value = constant.ival.ival
            return str(value) if value >= 0 else f"'{value}'::integer"
        case "fval":
            return _get_number_type(str(constant.fval.fval))
        case "boolval":
            return "true" if constant.boolval.boolval else "false"
        case "sval":
            text = _format_value(str(constant.sval.sval), kind)
            if (item.name == "int4" and text[0] != "-") or (item.name == "numeric" and _DECIMAL.fullmatch(text)):
                return text
            if item.name == "bool":
                return {"t": "true", "f": "false"}.get(text, text)
            return "'" + text.replace("'", "''") + f"'::{type_text}"
        case "bsval":
            return f"'{parse_bits(BIT, constant.bsval.bsval)}'::\"bit\""
    return None


_DECIMAL = re.compile(r"\d+\.\d+")


def _format_value(text: str, kind: SqlType) -> str:
    """Returns a literal's text in the type's output form; unchanged if that is unknown or the text is invalid."""
    if kind.name in _SESSION_FUNCTIONS or text.strip().lower() in _CURRENT:
        return text
    try:
        value = parse_restricted_interval(text, kind.modifier) if kind.name == "interval" else parse_text(kind, text)
        return format_text(kind, value) if kind.name != "bpchar" else text
    except GpudbError:
        return text
