"""Decodes dask-sql's relational plan to nodes: references become columns, symbols the expressions that they stand
for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudb.plan.dask.symbols import Symbols
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.functions import SINGLE
from gpudb.plan.tree.joins import build_equality, build_join, is_true
from gpudb.plan.tree.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Scan, SetOperation, Values, column
from gpudb.plan.tree.traversal import columns_read, remap_columns
from gpudb.sql import bound
from gpudb.sql.traverse import join_conjuncts, split_conjuncts
from gpudb.types import BOOL, INT4, TEXT, SqlType

_OPAQUE_FUNCTION = re.compile(r"[eb]\d+")
_JOIN_KINDS: dict[str, JoinKind] = {
    "INNER": "INNER",
    "LEFT": "LEFT",
    "FULL": "FULL",
    "LEFTSEMI": "SEMI",
    "LEFTANTI": "ANTI",
}


class Decoder:
    """Decodes one plan.

    `leaves` are the relations of its text, each with its columns that the planner knows; `symbols` are its expressions.
    """

    def __init__(self, symbols: Symbols, leaves: Mapping[str, tuple[Node, Sequence[int]]]) -> None:
        self._symbols = symbols
        self._leaves = leaves

    def decode_node(self, rel: Any) -> Node:
        """Decodes a relational operator and all operators below it."""
        kind = rel.get_current_node_type()
        match kind:
            case "TableScan":
                return self._decode_scan(rel)
            case "SubqueryAlias":
                return self.decode_node(rel.get_inputs()[0])
            case "Projection":
                below = self.decode_node(rel.get_inputs()[0])
                exprs = [self.decode_expr(each, below.types) for _, each in rel.projection().getNamedProjects()]
                return Project(below, tuple(exprs))
            case "Filter":
                below = self.decode_node(rel.get_inputs()[0])
                return Filter(below, self.decode_expr(rel.filter().getCondition(), below.types))
            case "Aggregate" | "Distinct":
                return self._decode_aggregate(rel)
            case "Join":
                return self._decode_join(rel)
            case "CrossJoin":
                left, right = (self.decode_node(each) for each in rel.get_inputs())
                return Join("INNER", left, right)
            case "EmptyRelation":
                return Values(((),), ())
            case "Union":
                first, *rest = [self.decode_node(each) for each in rel.get_inputs()]
                for each in rest:
                    first = SetOperation("UNION", True, first, each)
                return first
            case _:
                raise NotSupportedOnWorkers(f"the planner's {kind}")

    # ------------------------------------------------------------------------------------------ nodes

    def _decode_scan(self, rel: Any) -> Node:
        leaf, registered = self._leaves[rel.getTable().getTableName()]
        if not leaf.types:
            # The planner knows one column of each relation.
            leaf = Project(leaf, (bound.Constant(1, INT4),))
        types = tuple(leaf.types[index] for index in registered)
        scan = rel.table_scan()
        read = [int(name[1:]) for name in scan.getTableScanProjects()] if scan.containsProjections() else registered
        output = list(read)
        filters = [self.decode_expr(each, types) for each in scan.getFilters()]
        filters = [remap_columns(each, registered.__getitem__) for each in filters if not is_true(each)]
        own = split_conjuncts(leaf.filter) if isinstance(leaf, Scan) else ()
        condition = join_conjuncts((*own, *(part for each in filters for part in split_conjuncts(each))))
        if not isinstance(leaf, Scan):
            node = leaf if condition is None else Filter(leaf, condition)
            every = output == list(range(len(leaf.types)))
            return node if every else Project(node, tuple(column(i, leaf.types[i]) for i in output))
        every_read = output + sorted(columns_read(condition) - set(output))
        places = {index: place for place, index in enumerate(every_read)}
        over = remap_columns(condition, places.__getitem__) if condition is not None else None
        node = replace(leaf, columns=tuple(leaf.columns[index] for index in every_read), filter=over)
        if every_read == output:
            return node
        return Project(node, tuple(column(i, node.types[i]) for i in range(len(output))))

    def _decode_aggregate(self, rel: Any) -> Node:
        below = self.decode_node(rel.get_inputs()[0])
        part = rel.aggregate()
        if part.isDistinctNode():
            return Aggregate(below, tuple(column(i, kind) for i, kind in enumerate(below.types)))
        keys = tuple(self.decode_expr(each, below.types) for each in part.getGroupSets())
        calls: list[Any] = []
        for each in part.getNamedAggCalls():
            (argument,) = part.getArgs(each)
            calls.append(self.decode_expr(argument, below.types))
        if not all(isinstance(call, bound.Aggregate) for call in calls):
            # The planner added a constant where there is no aggregate at all.
            calls = [call if isinstance(call, bound.Aggregate) else _NO_AGGREGATE for call in calls]
        return Aggregate(below, keys, tuple(calls))

    def _decode_join(self, rel: Any) -> Node:
        left, right = (self.decode_node(each) for each in rel.get_inputs())
        name = rel.join().getJoinType()
        condition = rel.join().getCondition()
        types = left.types + right.types
        parts = split_conjuncts(self.decode_expr(condition, types)) if condition is not None else ()
        if name in {"RIGHT", "RIGHTSEMI", "RIGHTANTI"}:
            width = len(left.types)
            parts = tuple(
                remap_columns(each, lambda index: index + len(right.types) if index < width else index - width)
                for each in parts
            )
            node = _build_filtered_join(_JOIN_KINDS[name.replace("RIGHT", "LEFT")], right, left, parts)
            if name != "RIGHT":
                return node
            order = [*range(len(right.types), len(types)), *range(len(right.types))]
            return Project(node, tuple(column(index, node.types[index]) for index in order))
        if name not in _JOIN_KINDS:
            raise NotSupportedOnWorkers(f"the planner's {name} join")
        return _build_filtered_join(_JOIN_KINDS[name], left, right, parts)

    # ------------------------------------------------------------------------------------------ expressions

    def decode_expr(self, rex: Any, types: tuple[SqlType, ...]) -> Any:
        """Decodes an expression over an input of these types."""
        kind = str(rex.getRexType()).rpartition(".")[2]
        match kind:
            case "Reference":
                index = rex.getIndex()
                return column(index, types[index])
            case "Alias":
                return self.decode_expr(rex.getOperands()[0], types)
            case "Literal" if rex.getType() == "Utf8" and len(rex.getStringValue()) > 1:
                return self._symbols.expand(int(rex.getStringValue()[1:]), ())
            case "Literal":
                return _decode_literal(rex)
            case "Call":
                return self._decode_call(rex, types)
            case _:
                raise NotSupportedOnWorkers("a subquery that the planner cannot decorrelate")

    def _decode_call(self, rex: Any, types: tuple[SqlType, ...]) -> Any:
        name, operands = rex.getOperatorName().lower(), rex.getOperands()
        if _OPAQUE_FUNCTION.fullmatch(name):
            number = int(operands[0].getStringValue()[1:])
            return self._symbols.expand(number, tuple(self.decode_expr(each, types) for each in operands[1:]))
        parts = tuple(self.decode_expr(each, types) for each in operands)
        match name:
            case "and" | "or":
                return bound.BoolOp("AND" if name == "and" else "OR", parts)
            case "not":
                return bound.BoolOp("NOT", parts)
            case "=" | "!=":
                return build_equality(parts[0], parts[1], negated=name == "!=")
            case "is null" | "is not null":
                return bound.Test(parts[0], "NULL", negated=name == "is not null")
            case "is true" | "is not true":
                return bound.Test(parts[0], "TRUE", negated=name == "is not true")
            case "is false" | "is not false":
                return bound.Test(parts[0], "FALSE", negated=name == "is not false")
            case _:
                raise NotSupportedOnWorkers(f"the planner's {name}")


_NO_AGGREGATE = bound.Aggregate(SINGLE, (bound.Constant(None, TEXT),), TEXT, filter=bound.Constant(False, BOOL))


def _build_filtered_join(kind: JoinKind, left: Node, right: Node, parts: tuple[Any, ...]) -> Join:
    """Builds a join; conditions on one side alone become filters of that side where its rows may be removed."""
    width = len(left.types)
    lefts: list[Any] = []
    rights: list[Any] = []
    both: list[Any] = []
    for part in parts:
        places = columns_read(part)
        if places and min(places) >= width and kind != "FULL":
            rights.append(remap_columns(part, lambda index: index - width))
        elif places and max(places) < width and kind in {"INNER", "SEMI"}:
            lefts.append(part)
        else:
            both.append(part)
    return build_join(kind, _add_filter(left, lefts), _add_filter(right, rights), tuple(both))


def _add_filter(node: Node, parts: list[Any]) -> Node:
    condition = join_conjuncts(tuple(parts))
    return node if condition is None else Filter(node, condition)


def _decode_literal(rex: Any) -> Any:
    kind = rex.getType()
    if kind == "Boolean":
        return bound.Constant(rex.getBoolValue(), BOOL)
    if kind in {"Int64", "Int32", "Utf8"}:
        # The select list of EXISTS, or the column of a relation without columns.
        return bound.Constant(1, INT4)
    raise NotSupportedOnWorkers(f"the planner's literal of {kind}")
