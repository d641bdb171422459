"""PARTITION BY and FOR VALUES: keys and bounds of partitions, and what PostgreSQL refuses of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_values import HASHED_TYPES, KEY_TYPES, read_limit, read_value
from gpudb.catalog.partitions import STRATEGY_NAMES, Datum, PartitionBound, PartitionKey
from gpudb.catalog.postgres.partition_rows import deparse_limits
from gpudb.catalog.tables import Column, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce_to_column
from gpudb.sql.bound import OutputColumn, Select
from gpudb.sql.parse.parser import expression_location, inner, kind, strings
from gpudb.types import SqlType
from gpudb.values.datetime_style import use_style
from gpudb.values.text_columns import format_text_column

_STRATEGIES: dict[int, Literal["r", "l", "h"]] = {
    pg.PARTITION_STRATEGY_RANGE: "r",
    pg.PARTITION_STRATEGY_LIST: "l",
    pg.PARTITION_STRATEGY_HASH: "h",
}
_INFINITE = {"minvalue": -1, "maxvalue": 1}


def read_partition_key(context: Context, node: Any, columns: Sequence[Column]) -> PartitionKey:
    """Returns the key of a PartitionSpec message; 42703, 42P17, 0A000 for expressions and for other types."""
    strategy = _STRATEGIES[node.strategy]
    by_name = {column.name: column for column in columns}
    names: list[str] = []
    for each in map(inner, node.part_params):
        if not each.name:
            raise FeatureNotSupported("expressions in a partition key are not supported")
        column = by_name.get(each.name)
        if column is None:
            error = SqlError.of("undefined_column", f'column "{each.name}" named in partition key does not exist')
            raise context.binder().locate(error, each.location)
        if column.generated is not None:
            message = "cannot use generated column in partition key"
            detail = f'Column "{column.name}" is a generated column.'
            raise SqlError.of("invalid_object_definition", message, detail=detail)
        if len(each.opclass) or (len(each.collation) and strings(each.collation)[-1] not in {"C", "POSIX", "default"}):
            raise FeatureNotSupported("operator classes and collations of a partition key are not supported")
        if column.type.name not in (HASHED_TYPES if strategy == "h" else KEY_TYPES) or column.type.domain is not None:
            message = f"PARTITION BY {STRATEGY_NAMES[strategy]} of a column of type {column.type} is not supported"
            raise FeatureNotSupported(message)
        names.append(column.name)
    if strategy == "l" and len(names) > 1:
        raise SqlError.of("invalid_object_definition", 'cannot use "list" partition strategy with more than one column')
    return PartitionKey(strategy, tuple(names))


def read_bound(context: Context, parent: Table, name: str, node: Any) -> PartitionBound:
    """Returns the bound of a PartitionBoundSpec message for the partition `name`; 42P16, 42P17, 42804."""
    key = parent.partitioned_by
    assert key is not None
    if node.is_default:
        if key.strategy == "h":
            message = "a hash-partitioned table may not have a default partition"
            raise SqlError.of("invalid_table_definition", message)
        return PartitionBound(parent.oid, default=True)
    if node.strategy != key.strategy:
        message = f"invalid bound specification for a {STRATEGY_NAMES[key.strategy].lower()} partition"
        raise context.binder().locate(SqlError.of("invalid_table_definition", message), node.location)
    columns = [next(c for c in parent.columns if c.name == column) for column in key.columns]
    if key.strategy == "h":
        return _hash_bound(parent, node.modulus, node.remainder)
    if key.strategy == "l":
        values = [_read_datum(context, each, columns[0]) for each in node.listdatums]
        distinct: dict[Any, Datum] = {}
        for each in values:
            distinct.setdefault(_list_value(columns[0].type, each), each)
        return PartitionBound(parent.oid, values=tuple(distinct.values()))
    for side, nodes in (("FROM", node.lowerdatums), ("TO", node.upperdatums)):
        if len(nodes) != len(columns):
            message = f"{side} must specify exactly one value per partitioning column"
            raise SqlError.of("invalid_table_definition", message)
    lower, upper = (
        _read_range(context, nodes, columns, node.location) for nodes in (node.lowerdatums, node.upperdatums)
    )
    types = [column.type for column in columns]
    if tuple(map(read_limit, types, lower)) >= tuple(map(read_limit, types, upper)):
        shown = [deparse_limits(types, side) for side in (lower, upper)]
        detail = f"Specified lower bound {shown[0]} is greater than or equal to upper bound {shown[1]}."
        message = f'empty range bound specified for partition "{name}"'
        error = SqlError.of("invalid_object_definition", message, detail=detail)
        raise context.binder().locate(error, expression_location(node.lowerdatums[0]))
    return PartitionBound(parent.oid, lower=lower, upper=upper)


def _hash_bound(parent: Table, modulus: int, remainder: int) -> PartitionBound:
    message = ""
    if modulus <= 0:
        message = "modulus for hash partition must be an integer value greater than zero"
    elif remainder < 0:
        message = "remainder for hash partition must be an integer value greater than or equal to zero"
    elif remainder >= modulus:
        message = "remainder for hash partition must be less than modulus"
    if message:
        raise SqlError.of("invalid_table_definition", message)
    return PartitionBound(parent.oid, modulus=modulus, remainder=remainder)


def _read_range(context: Context, nodes: Any, columns: Sequence[Column], location: int) -> tuple[Datum, ...]:
    found: list[Datum] = []
    for node, column in zip(nodes, columns, strict=True):
        datum = _read_datum(context, node, column, ranged=True)
        if found and found[-1].infinite and found[-1] != datum:
            word = "MINVALUE" if found[-1].infinite < 0 else "MAXVALUE"
            error = SqlError.of("datatype_mismatch", f"every bound following {word} must also be {word}")
            raise context.binder().locate(error, expression_location(node))
        if datum == Datum():
            raise SqlError.of("invalid_object_definition", "cannot specify NULL in range bound")
        found.append(datum)
    return tuple(found)


def _read_datum(context: Context, node: Any, column: Column, *, ranged: bool = False) -> Datum:
    if kind(node) == "column_ref":
        names = strings(inner(node).fields)
        if ranged and len(names) == 1 and names[0] in _INFINITE:
            return Datum(infinite=_INFINITE[names[0]])
        message = "cannot use column reference in partition bound expression"
        raise context.binder().locate(FeatureNotSupported(message), inner(node).location)
    binder = context.binder()
    expr = coerce_to_column(
        binder, bind_expression(binder, Scope(clause="partition bound"), node), column.name, column.type
    )
    row = fetch_from_engine(context, Select((OutputColumn("c1", column.type),), (expr,)))
    with use_style():
        value = format_text_column(column.type, row.column(0).combine_chunks(), "UTC")[0].as_py()
    if column.type.name in {"date", "timestamp", "timestamptz"} and value in {"infinity", "-infinity"}:
        raise FeatureNotSupported("infinity in a partition bound is not supported")
    return Datum(value)


def _list_value(type: SqlType, datum: Datum) -> Any:
    """Returns a value of a LIST bound so that equal ones are equal, as 1.0 and 1.00 are; None for NULL."""
    return None if datum.text is None else read_value(type, datum.text)


def check_no_overlap(
    context: Context, parent: Table, siblings: Sequence[Table], name: str, bound: PartitionBound, node: Any
) -> None:
    """Raises 42P17 if a partition takes rows that another one of its parent takes; `node` is its bound's message."""
    key = parent.partitioned_by
    assert key is not None
    types = {column.name: column.type for column in parent.columns}
    for other in siblings:
        held = other.partition_bound
        assert held is not None
        if bound.default and held.default:
            message = f'partition "{name}" conflicts with existing default partition "{other.name}"'
            raise context.binder().locate(SqlError.of("invalid_object_definition", message), node.location)
        if bound.default or held.default:
            continue
        location = node.location
        if key.strategy == "r":
            kinds = [types[column] for column in key.columns]
            low, high, other_low, other_high = (
                tuple(map(read_limit, kinds, side)) for side in (bound.lower, bound.upper, held.lower, held.upper)
            )
            overlaps = low < other_high and other_low < high
            location = expression_location((node.lowerdatums if low >= other_low else node.upperdatums)[0])
        elif key.strategy == "l":
            type = types[key.columns[0]]
            taken = {_list_value(type, each) for each in held.values}
            shared = [each for each in bound.values if _list_value(type, each) in taken]
            overlaps = bool(shared)
            if overlaps and len(bound.values) == len(node.listdatums):
                location = expression_location(node.listdatums[bound.values.index(shared[0])])
        else:
            least = min(bound.modulus, held.modulus)
            if max(bound.modulus, held.modulus) % least:
                raise _factor_error(bound, held, other.name)
            overlaps = bound.remainder % least == held.remainder % least
        if overlaps:
            message = f'partition "{name}" would overlap partition "{other.name}"'
            raise context.binder().locate(SqlError.of("invalid_object_definition", message), location)


def _factor_error(bound: PartitionBound, held: PartitionBound, name: str) -> SqlError:
    message = "every hash partition modulus must be a factor of the next larger modulus"
    if bound.modulus > held.modulus:
        how = f"is not divisible by {held.modulus}, the modulus of existing partition"
    else:
        how = f"is not a factor of {held.modulus}, the modulus of existing partition"
    detail = f'The new modulus {bound.modulus} {how} "{name}".'
    return SqlError.of("invalid_object_definition", message, detail=detail)
