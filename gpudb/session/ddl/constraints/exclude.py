"""EXCLUDE in CREATE TABLE and ALTER TABLE: its keys, operators and predicate, and whether an index could compare them.

No index is built: new rows are joined with the table's. What PostgreSQL's access methods cannot compare is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import Exclude, IndexDetails, IndexKey, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.functions import resolve
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.key_expressions import list_used_columns, store_expression
from gpudb.session.objects.constraints import (
    allocate_oid,
    check_constraint_name_free,
    constraint_names_in,
    index_names_in,
    list_key_names,
)
from gpudb.session.objects.names import check_name_free, free_name, join_names, truncate_identifier
from gpudb.sql.parse.parser import inner, present, strings
from gpudb.types import SqlType
from gpudb.types.facts import WITHOUT_CLASSES

_METHODS = frozenset({"btree", "hash", "gist", "spgist"})
_RANGES = frozenset({"&&", "=", "-|-"})
_SCALARS = frozenset({"=", "<>"})
_NAMED = {"range_ops": _RANGES, "multirange_ops": _RANGES, "inet_ops": frozenset({"&&", "=", "<>"})}
"""The operators of a class by its name that are commutative."""
_GIST_SCALARS = frozenset(
    "int2 int4 int8 float4 float8 numeric bool text varchar bpchar bytea date time timetz timestamp timestamptz"
    " interval uuid oid money inet cidr bit varbit".split()
)
"""The types of which btree_gist has operator classes, beside enums."""
_FAMILIES = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "datetime"),
    **dict.fromkeys(("inet", "cidr"), "network"),
    "varchar": "text",
}
_COMMUTATIVE = _RANGES | _SCALARS


def build_exclude(context: Context, table: Table, node: Any) -> Table:
    """The table with the exclusion constraint of a Constraint message.

    42704 for a type that the access method cannot compare, 42809 for an operator that is not its, 42703, 42710, 0A000.
    """
    method = node.access_method or "btree"
    if method not in _METHODS:
        if method in {"gin", "brin"}:
            raise FeatureNotSupported(f'access method "{method}" does not support exclusion constraints')
        raise SqlError.of("undefined_object", f'access method "{method}" does not exist')
    if table.partitioned_by is not None or table.partition_bound is not None:
        error = FeatureNotSupported("exclusion constraints are not supported on partitioned tables")
        raise context.binder().locate(error, node.location)
    keys: list[IndexKey] = []
    operators: list[str] = []
    for each in map(inner, node.exclusions):
        element, named = inner(each.items[0]), strings(inner(each.items[1]).items)
        if len(element.collation) and strings(element.collation)[-1] not in {"C", "POSIX", "default"}:
            raise FeatureNotSupported("collations other than C are not supported")
        if len(element.opclassopts) or element.ordering > 1 or element.nulls_ordering > 1:
            raise FeatureNotSupported("an exclusion constraint with options of an index's column is not supported")
        key, kind = _read_key(context, table, element)
        _check_operator(context, method, kind, key.operator_class, named[-1])
        keys.append(key)
        operators.append(named[-1])
    predicate = ""
    if present(node.where_clause):
        predicate, _ = store_expression(context, table, node.where_clause, enforced=True, condition=True)
    details = IndexDetails(tuple(keys), predicate=predicate)
    made = Exclude(
        0,
        "",
        list_used_columns(table, details),
        details.keys,
        tuple(operators),
        method,
        predicate,
        node.deferrable,
        node.initdeferred,
    )
    name = _choose_name(context, table, node.conname, made)
    made = replace(made, oid=allocate_oid(context), name=name)
    return replace(table, constraints=(*table.constraints, made))


def _choose_name(context: Context, table: Table, given: str, made: Exclude) -> str:
    catalog = context.transaction.catalog
    if not given:
        taken = index_names_in(catalog, table) | constraint_names_in(catalog, table)
        return free_name(taken, table.name, join_names(list_key_names(made)), "excl")
    name = truncate_identifier(given)
    check_name_free(catalog, table.schema, name)
    if name in table.index_names:
        raise SqlError.of("duplicate_table", f'relation "{name}" already exists')
    check_constraint_name_free(table, name)
    return name


def _read_key(context: Context, table: Table, element: Any) -> tuple[IndexKey, SqlType]:
    """Returns a key of an IndexElem message, and its type."""
    operator_class = strings(element.opclass)[-1] if len(element.opclass) else ""
    if not element.name:
        expression, kind = store_expression(context, table, element.expr, enforced=True, method=None)
        assert kind is not None
        return IndexKey("", expression, operator_class, kind), kind
    column = next((each for each in table.columns if each.name == element.name), None)
    if column is None:
        raise UndefinedColumn(f'column "{element.name}" named in key does not exist')
    return IndexKey(element.name, operator_class=operator_class), column.type.plain


def _check_operator(context: Context, method: str, kind: SqlType, class_name: str, operator: str) -> None:
    """Raises 42704 for a type without a class, 42883 for an unknown operator, 42809 for one that is not its."""
    family, known = _find_class(context, method, kind, class_name)
    resolve.resolve_operator(operator, kind, kind)
    if operator in known:
        return
    declared = f"any{_describe(kind)}" if _describe(kind) else str(kind)
    shown = f"{operator}({declared},{declared})"
    if operator not in _COMMUTATIVE:
        detail = "Only commutative operators can be used in exclusion constraints."
        raise SqlError.of("wrong_object_type", f"operator {shown} is not commutative", detail=detail)
    message = f'operator {shown} is not a member of operator family "{family}"'
    detail = "The exclusion operator must be related to the index operator class for the constraint."
    raise SqlError.of("wrong_object_type", message, detail=detail)


def _find_class(context: Context, method: str, kind: SqlType, name: str) -> tuple[str, frozenset[str]]:
    """Returns the name of an operator family and its commutative operators; 42704."""
    has_scalars = "btree_gist" in context.transaction.catalog.extensions
    ranged = {"range": "range_ops", "multirange": "multirange_ops"}.get(_describe(kind))
    if method in {"btree", "hash"}:
        if kind.name.lstrip("_") in WITHOUT_CLASSES:
            raise _missing_class(kind, method)
        return ranged or f"{_FAMILIES.get(kind.name, kind.name)}_ops", frozenset({"="})
    if name:
        if name in _NAMED:
            return name, _NAMED[name]
        if not (method == "gist" and name.startswith("gist_") and has_scalars):
            message = f'operator class "{name}" does not exist for access method "{method}"'
            raise SqlError.of("undefined_object", message)
        return name, _SCALARS
    if ranged is not None and not (method == "spgist" and ranged == "multirange_ops"):
        return ranged, _RANGES
    scalar = kind.name in _GIST_SCALARS or bool(kind.labels)
    if method == "gist" and scalar and has_scalars:
        return f"gist_{kind.name}_ops", _SCALARS
    raise _missing_class(kind, method)


def _describe(kind: SqlType) -> str:
    if kind.range_type is not None:
        return "multirange"
    return "range" if kind.category == "R" else ""


def _missing_class(kind: SqlType, method: str) -> SqlError:
    message = f'data type {kind} has no default operator class for access method "{method}"'
    hint = "You must specify an operator class for the index or define a default operator class for the data type."
    return SqlError.of("undefined_object", message, hint=hint)
