"""PIVOT: a group's aggregates for each value of some columns become columns, as in DuckDB.

Values that are not listed are read from the rows first, in the snapshot of the statement: which columns there are
depends on them, so no view or function can have such a PIVOT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.composed import composed_functions
from gpudb.functions.library import functions_by_name
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.routines import find_routines
from gpudb.sql.bind.query.table_expressions.source import Source, list_names, read_named
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Column, Cte, CteScan, Derived, FrameScan, Query, Select
from gpudb.sql.parse.friendly.pivot import GROUP, ON, USING
from gpudb.sql.parse.parser import children, deparse, expression_location, inner, kind, strings
from gpudb.sql.parse.templates import add_target, fill_template, make_column
from gpudb.sql.parse.values import read_constant, strip_casts
from gpudb.sql.traverse import is_volatile, outer_columns, walk
from gpudb.types import SqlType

_MOST_COLUMNS = 1600
_EMPTY = "''"
"""What the empty text is called, as in DuckDB: PostgreSQL has no empty names."""


class _Value(NamedTuple):
    """A value of a pivoted expression: its expression, and what it is called in names of columns."""

    node: Any
    name: str


class _Pivoted(NamedTuple):
    """A pivoted expression and its values."""

    node: Any
    values: Sequence[_Value]


def pivot(source: Source) -> Any:
    """Returns the query of a PIVOT."""
    pivoted = [_read_pivoted(source, each) for each in source.arguments(ON)]
    (given,) = source.arguments(USING) or ([],)
    aggregates = [read_named(each) for each in given] or [(_count(), None)]
    groups = _list_groups(source, [*(node for node, _ in aggregates), *(each.node for each in pivoted)])
    chosen = list(product(*(each.values for each in pivoted)))
    if len(chosen) * len(aggregates) + len(groups) > _MOST_COLUMNS:
        raise source.locate(SqlError.of("too_many_columns", f"PIVOT can have at most {_MOST_COLUMNS} columns"))
    places = ", ".join(map(str, range(1, len(groups) + 1)))
    grouped = f" GROUP BY {places}" if groups else ""
    query = fill_template(f'SELECT FROM "$source" AS pivoted{grouped}', {"$source": source.node})
    for group, shown in groups:
        add_target(query, group, shown)
    for values in chosen:
        test = _test(pivoted, values)
        for node, name in aggregates:
            named = [each.name for each in values]
            named += [name or _describe(node)] if name is not None or len(aggregates) > 1 else []
            add_target(query, _filter(source, node, test), "_".join(named))
    return query


def _count() -> Any:
    return pg.Node(
        func_call=pg.FuncCall(funcname=[pg.Node(string=pg.String(sval="count"))], agg_star=True, location=-1)
    )


def _describe(node: Any) -> str:
    """Returns the text of an aggregate as names of columns have it."""
    select = pg.SelectStmt(limit_option=pg.LIMIT_OPTION_DEFAULT, op=pg.SETOP_NONE)
    select.target_list.add().res_target.val.CopyFrom(node)
    return deparse(select).removeprefix("SELECT ")


# ------------------------------------------------------------------------------------------------ values


def _read_pivoted(source: Source, arguments: list[Any]) -> _Pivoted:
    node, *rest = arguments
    if not rest:
        return _Pivoted(node, _fetch_values(source, node))
    values = []
    for each in inner(rest[0]).args:
        value, name = read_named(each)
        if kind(value) == "sub_link":
            error = FeatureNotSupported("a query as the values of PIVOT is not supported")
            raise source.binder.locate(error, expression_location(value))
        values.append(_Value(value, name if name is not None else _name_value(source, value)))
    return _Pivoted(node, values)


def _name_value(source: Source, node: Any) -> str:
    """Returns the name of a listed value: the text of a constant."""
    constant = strip_casts(node)
    if kind(constant) == "a_const":
        value = read_constant(inner(constant))
        if inner(constant).isnull or value is None:
            return "NULL"
        return ("true" if value else "false") if isinstance(value, bool) else str(value) or _EMPTY
    return _describe(node)


def _fetch_values(source: Source, node: Any) -> list[_Value]:
    """Returns the values of an expression over the rows, in their order, not their texts'; NULL is none of them."""
    binder = source.binder
    if binder.expansions is not None or binder.arguments is not None:
        message = "PIVOT without a list of values (IN) is not supported in views and functions"
        raise source.locate(FeatureNotSupported(message))
    if binder.parameters:
        message = "PIVOT without a list of values (IN) is not supported in a statement with parameters"
        raise source.locate(FeatureNotSupported(message))
    text = (
        'SELECT value::text FROM (SELECT DISTINCT "$value" AS value FROM "$source" AS pivoted) AS found'
        " WHERE value IS NOT NULL ORDER BY found.value"
    )
    query = binder.bind_query(fill_template(text, {"$value": node, "$source": source.node}), source.scope)
    query = _make_whole(source, query)
    typed = fill_template(
        'SELECT "$value" AS value FROM "$source" AS pivoted', {"$value": node, "$source": source.node}
    )
    type_ = binder.bind_query(typed, source.scope).columns[0].type
    binder.cacheable = False
    return [_Value(_literal(each, type_), each or _EMPTY) for each in binder.fetch_texts(query, binder.accesses)]


def _make_whole(source: Source, query: Query) -> Query:
    """Returns a query with the WITH queries that it reads; 0A000 if it cannot run before the rest of the statement."""
    level: Scope | None = source.scope
    known: dict[int, Cte] = {}
    while level is not None:
        known |= {each.number: each for each, _ in level.ctes.values() if isinstance(each, Cte)}
        level = level.parent
    own = {each.number for each in walk(query) if isinstance(each, Cte)}
    read = {each.cte for each in walk(query) if isinstance(each, CteScan)}
    whole = replace(query, ctes=(*(known[each] for each in sorted(known)), *query.ctes))
    frames = {each.name for each in walk(whole) if isinstance(each, FrameScan)}
    if outer_columns(query) or not read <= own | set(known) or not frames <= set(source.binder.frames):
        message = "PIVOT without a list of values (IN) that depends on the rest of the statement is not supported"
        raise source.locate(FeatureNotSupported(message))
    if _is_unstable(whole):
        message = "PIVOT without a list of values (IN) that depends on a volatile function or a sample is not supported"
        raise source.locate(FeatureNotSupported(message))
    return whole


def _is_unstable(query: Query) -> bool:
    """Whether a query computes with a volatile function, but for columns of subqueries that nothing reads."""
    nodes = list(walk(query))
    unread = set[int]()
    while True:
        read = {(each.rel, each.index) for each in nodes if isinstance(each, Column) and id(each) not in unread}
        unused = [
            target
            for each in nodes
            if isinstance(each, Derived) and isinstance(each.query, Select) and not each.query.distinct
            for index, target in enumerate(each.query.targets)
            if (each.rel, index) not in read and target not in [key.expr for key in each.query.order_by]
        ]
        found = {id(node) for target in unused for node in walk(target)}
        if found <= unread:
            return any(is_volatile(each) and id(each) not in unread for each in nodes)
        unread |= found


def _literal(text: str, type_: SqlType) -> Any:
    constant = pg.Node(a_const=pg.A_Const(sval=pg.String(sval=text), location=-1))
    return pg.Node(type_cast=pg.TypeCast(arg=constant, type_name=_name_type(type_), location=-1))


def _name_type(type_: SqlType) -> Any:
    """Returns the TypeName message of a type."""
    is_domain = type_.domain is not None and type_.domain.base == type_.name
    named = type_.domain if is_domain else type_.user
    if type_.element is not None and not is_domain:
        name = _name_type(type_.element)
        name.array_bounds.add().integer.ival = -1
        return name
    if named is not None:
        parts = [pg.Node(string=pg.String(sval=each)) for each in (named.schema, named.name)]
        return pg.TypeName(names=parts, typemod=-1, location=-1)
    select = fill_template(f"SELECT NULL::{type_}", {})
    return inner(inner(select.target_list[0]).val).type_name


# ------------------------------------------------------------------------------------------------ groups and tests


def _list_groups(source: Source, reads: Sequence[Any]) -> list[tuple[Any, str]]:
    """Returns the groups and their names: those that are given, or all columns that nothing else, `reads`, reads."""
    given = source.arguments(GROUP)
    if not given:
        read = {name for node in reads for name in list_names(node)}
        return [(make_column("pivoted", each.name), "") for each in source.columns if each.name not in read]
    return [(node, strings(inner(node).fields)[-1] if kind(node) == "column_ref" else "") for node in given[0]]


def _test(pivoted: Sequence[_Pivoted], values: Sequence[_Value]) -> Any:
    """Returns the condition of the rows that have some values."""
    holes = [f'"$on{number}" IS NOT DISTINCT FROM "$in{number}"' for number in range(len(values))]
    parts = {f"$on{number}": each.node for number, each in enumerate(pivoted)}
    parts |= {f"$in{number}": each.node for number, each in enumerate(values)}
    for number, value in enumerate(values):
        constant = strip_casts(value.node)
        if kind(constant) == "a_const" and not inner(constant).isnull:
            holes[number] = f'"$on{number}" = "$in{number}"'
    return inner(fill_template(f"SELECT {' AND '.join(holes)}", parts).target_list[0]).val


def _filter(source: Source, node: Any, test: Any) -> Any:
    """Returns an expression whose aggregates see the rows of a condition alone; 42803 if it has none."""
    copy = pg.Node()
    copy.CopyFrom(node)
    if not _filter_calls(source.binder, copy, test):
        error = SqlError.of("grouping_error", "PIVOT needs aggregate functions behind USING")
        raise source.binder.locate(error, expression_location(node))
    return copy


def _filter_calls(binder: Binder, message: Any, test: Any) -> bool:
    if message.DESCRIPTOR.name == "FuncCall" and _is_aggregate(binder, message):
        if message.HasField("agg_filter"):
            both = fill_template('SELECT "$one" AND "$other"', {"$one": message.agg_filter, "$other": test})
            message.agg_filter.CopyFrom(inner(both.target_list[0]).val)
        else:
            message.agg_filter.CopyFrom(test)
        return True
    filtered = [_filter_calls(binder, each, test) for each in children(message)]
    return any(filtered)


def _is_aggregate(binder: Binder, call: Any) -> bool:
    """Whether a call is one of an aggregate, or of a name for one."""
    names = strings(call.funcname)
    routines = find_routines(binder, names)
    if _is_known(names[-1]) or any(each.kind == "a" for each in routines):
        return True
    template = composed_functions().get((names[-1], len(call.args))) if len(names) == 1 and not routines else None
    if template is None:
        return False
    root = inner(fill_template(f"SELECT {template}", {}).target_list[0]).val
    return kind(root) == "func_call" and _is_known(strings(inner(root).funcname)[-1])


def _is_known(name: str) -> bool:
    return any(each.kind == "a" for each in functions_by_name().get(name, ()))
