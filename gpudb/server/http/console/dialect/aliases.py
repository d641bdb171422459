"""Names of a select list that are used within their own SELECT, where DuckDB finds no column of that name.

PostgreSQL knows them in GROUP BY and ORDER BY alone. Where binding tells that a column does not exist, the expression
of the name moves into a subquery from which the SELECT reads, or, in a SELECT that groups, takes the name's places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from postgast import pg_query_pb2 as pg

from gpudb.server.http.console.dialect.trees import get_name, has_aggregate, is_star, walk

_OWN_CLAUSES = frozenset({"group_clause", "sort_clause"})
"""Clauses in which PostgreSQL itself knows the names."""


class Use(NamedTuple):
    """A name of the select list of the SELECT with a number, counted from the text's start, that is used within it."""

    select: int
    name: str


def find_use(tree: Any, place: int) -> Use | None:
    """Returns what the column at a byte offset uses; None if it is no name of its SELECT's list."""
    for number, select in enumerate(_list_selects(tree)):
        for node in _iter_columns(select):
            if node.column_ref.location == place:
                name = get_name(node)
                known = name is not None and any(each.res_target.name == name for each in select.target_list)
                return Use(number, name) if known and name is not None else None
    return None


def resolve_use(tree: Any, use: Use) -> None:
    """Lets a SELECT know a name of its own list."""
    select = _list_selects(tree)[use.select]
    entry = next(each for each in select.target_list if each.res_target.name == use.name)
    value = pg.Node()
    value.CopyFrom(entry.res_target.val)
    alias = _find_alias(select)
    if alias is not None and not (use.select == 0 and any(is_star(each.res_target.val) for each in select.target_list)):
        if not _computes_groups(value):
            inner = make_column(f"§{use.name}")
            entry.res_target.val.CopyFrom(inner)
            _replace(select, use.name, inner, entry)
            _nest(select, value, f"§{use.name}", alias)
            return
    _replace(select, use.name, value, entry)


def _replace(select: Any, name: str, value: Any, entry: Any) -> None:
    for node in list(_iter_columns(select, without=entry)):
        if get_name(node) == name:
            node.CopyFrom(value)


def make_column(name: str) -> Any:
    """Returns the column of a name."""
    return pg.Node(column_ref=pg.ColumnRef(fields=[pg.Node(string=pg.String(sval=name))]))


def _find_alias(select: Any) -> str | None:
    """Returns the name that a subquery in place of a SELECT's one source needs; None for SELECTs of other forms."""
    if select.group_clause or select.window_clause or select.distinct_clause or len(select.from_clause) != 1:
        return None
    if select.HasField("having_clause") or any(has_aggregate(each) for each in select.target_list):
        return None
    source = select.from_clause[0]
    kind = source.WhichOneof("node")
    if kind == "range_var":
        return str(source.range_var.alias.aliasname or source.range_var.relname)
    if kind == "range_subselect" and source.range_subselect.alias.aliasname:
        return str(source.range_subselect.alias.aliasname)
    return "§" if kind == "range_subselect" else None


def _computes_groups(value: Any) -> bool:
    """Whether an expression has a window function, whose rows a condition of its SELECT would change."""
    found = False

    def look(message: Any) -> None:
        nonlocal found
        found = found or (isinstance(message, pg.FuncCall) and message.HasField("over"))

    walk(value, look)
    return found


def _nest(select: Any, value: Any, name: str, alias: str) -> None:
    """Has a SELECT read from a subquery that adds a column to its source."""
    star = pg.Node(column_ref=pg.ColumnRef(fields=[pg.Node(a_star=pg.A_Star())]))
    targets = [pg.Node(res_target=pg.ResTarget(val=star)), pg.Node(res_target=pg.ResTarget(name=name, val=value))]
    inner = pg.SelectStmt(
        target_list=targets,
        from_clause=list(select.from_clause),
        limit_option=pg.LIMIT_OPTION_DEFAULT,
        op=pg.SETOP_NONE,
    )
    subquery = pg.RangeSubselect(subquery=pg.Node(select_stmt=inner), alias=pg.Alias(aliasname=alias))
    del select.from_clause[:]
    select.from_clause.append(pg.Node(range_subselect=subquery))


def _list_selects(message: Any) -> list[Any]:
    """Returns the SELECTs of a tree, each before those within it."""
    found = [message] if isinstance(message, pg.SelectStmt) else []
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                found += _list_selects(each)
    return found


def _iter_columns(message: Any, without: Any = None) -> Iterator[Any]:
    """Yields the nodes of columns in a SELECT, without those of SELECTs within it and of clauses that know names."""
    for field, value in message.ListFields():
        if field.message_type is None or (isinstance(message, pg.SelectStmt) and field.name in _OWN_CLAUSES):
            continue
        for each in value if field.is_repeated else (value,):
            if isinstance(each, pg.SelectStmt) or each is without or each == without:
                continue
            if isinstance(each, pg.Node) and each.WhichOneof("node") == "column_ref":
                yield each
            elif not (isinstance(each, pg.Node) and each.WhichOneof("node") == "select_stmt"):
                yield from _iter_columns(each, without)
