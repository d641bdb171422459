"""Names of operators in EXPLAIN, and the text of their expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.stage_nodes import Defer, Fetch, Final, Partial
from gpudb.sql import bound
from gpudb.values import format_text


def list_nodes(node: nodes.Node) -> list[nodes.Node]:
    """Returns a node and its inputs, down to the start of its stage."""
    found = [node]
    for each in node.inputs:
        found += list_nodes(each)
    return found


def describe_operator(node: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Returns a node's name, without where it runs, and its details."""
    match node:
        case nodes.Scan():
            details = [("Table", node.table.name), ("Columns", ", ".join(node.names) or "none")]
            if node.table.past_of:
                details.append(("Snapshot", str(-node.table.oid)))
            if node.table.distribution is not None:
                details.append(("Distribution", _describe_distribution(node)))
            if node.filter is not None:
                details.append(("Filter", render_expression(node.filter, node.names)))
            return "Scan", tuple(details)
        case Fused():
            return "Fused", _describe_fused(node.root)
        case Defer():
            return "Defer", (("Columns", ", ".join(node.names[place] for place in node.strings)),)
        case Fetch():
            return "Fetch", (("Columns", ", ".join(node.names[place] for place, _ in node.columns)),)
        case nodes.Filter():
            return "Filter", (("Condition", render_expression(node.condition, node.input.names)),)
        case nodes.Project():
            return "Project", (("Expressions", _render_list(node.exprs, node.input)),)
        case nodes.Join():
            return _describe_join(node)
        case nodes.AsofJoin():
            return "AsofJoin", _describe_asof_join(node)
        case nodes.Aggregate():
            return "Aggregate", _describe_groups(node)
        case Partial(aggregate=aggregate):
            return "Aggregate (Partial)", _describe_groups(aggregate)
        case Final(aggregate=aggregate, whole=whole):
            items = _describe_groups(aggregate)
            # Without keys there is only one group.
            if whole and aggregate.keys:
                items += (("Groups", "whole: none is put together here"),)
            return "Aggregate (Final)", items
        case nodes.Sort():
            counts = (("Limit", node.limit), ("Offset", node.offset))
            limits = tuple((name, render_expression(count, ())) for name, count in counts if count is not None)
            name = "Limit" if not node.keys else "TopN" if node.limit is not None else "Sort"
            return name, ((("Sort Key", _render_sort_keys(node.keys, node)),) if node.keys else ()) + limits
        case nodes.DistinctOn():
            return "DistinctOn", (
                ("Keys", _render_list(node.keys, node.input)),
                ("Sort Key", _render_sort_keys(node.order, node)),
            )
        case nodes.ProjectSet():
            return "ProjectSet", (("Calls", _render_list(node.calls, node.input)),)
        case nodes.Window():
            calls = ", ".join(call.function.name for call in node.calls)
            parted = _render_list(node.calls[0].partition_by, node.input)
            orders = "; ".join(
                dict.fromkeys(_render_sort_keys(call.order_by, node.input) for call in node.calls if call.order_by)
            )
            items = (("Calls", calls), ("Partition By", parted), ("Order By", orders))
            return "Window", tuple(each for each in items if each[1])
        case nodes.SetOperation():
            return f"{node.op.title()}{' All' if node.all else ''}", ()
        case _:
            return type(node).__name__, ()


def _render_list(exprs: Sequence[Any], over: nodes.Node) -> str:
    return ", ".join(render_expression(expr, over.names) for expr in exprs)


def _render_sort_keys(keys: Sequence[bound.SortKey], over: nodes.Node) -> str:
    return ", ".join(render_expression(key.expr, over.names) + (" DESC" if key.descending else "") for key in keys)


def _describe_distribution(node: nodes.Scan) -> str:
    """Describes which of a table's rows a worker reads."""
    if node.part is not None:
        return "all rows" if node.part == nodes.WHOLE else f"those of worker {node.part[0]} alone"
    by = node.table.hashed_by
    if by is None or node.table.distribution is None:
        return "rows spread over the workers"
    return f"hash of {by.name}" + ("" if node.table.bucketed else ", but for files of several buckets")


def _describe_join(node: nodes.Join) -> tuple[str, tuple[tuple[str, str], ...]]:
    pairs = [
        f"{render_expression(a, node.left.names)} = {render_expression(b, node.right.names)}" for a, b in node.keys
    ]
    details = [("Kind", node.kind.title() + (" (NOT IN)" if node.null_aware else ""))]
    details += [("Hash Cond", " AND ".join(pairs))] if pairs else []
    if node.condition is not None:
        details.append(("Join Filter", render_expression(node.condition, node.left.names + node.right.names)))
    return "HashJoin" if pairs else "NestedLoop", tuple(details)


def _describe_asof_join(node: nodes.AsofJoin) -> tuple[tuple[str, str], ...]:
    one, other = (render_expression(each, over.names) for each, over in zip(node.times, node.inputs, strict=True))
    _, (kind, *details) = _describe_join(nodes.Join(node.kind, node.left, node.right, node.keys, node.condition))
    return kind, ("Match", f"{one} {node.operator} {other}"), *details


def _describe_fused(root: nodes.Node) -> tuple[tuple[str, str], ...]:
    """Describes the operators of a kernel, from its scan on."""
    parts: list[tuple[str, str]] = []
    for node in reversed(list_nodes(root)):
        name, details = describe_operator(node)
        if not isinstance(node, BuildSideScan | nodes.Project):
            parts += [(label if isinstance(node, nodes.Scan) else f"{name} {label}", items) for label, items in details]
    return tuple(parts)


def _describe_groups(node: nodes.Aggregate) -> tuple[tuple[str, str], ...]:
    keys, calls = _render_list(node.keys, node.input), _render_list(node.calls, node.input)
    return ((("Group Key", keys),) if keys else ()) + ((("Aggregates", calls),) if calls else ())


_MOST_SHOWN = 64
"""Characters of a long constant."""


def render_expression(expr: Any, names: Sequence[str]) -> str:
    """Returns a short text of an expression, with columns by name."""
    match expr:
        case bound.Column(index=index):
            return (names[index] if index < len(names) else "") or f"column {index + 1}"
        case bound.Constant(value=None):
            return "NULL"
        case bound.Constant(value=bytes(value), type=kind):
            text = format_text(kind, value)
            return f"'{text}'" if len(text) <= _MOST_SHOWN else f"'{text[: _MOST_SHOWN - 3]}...'"
        case bound.Constant(value=value):
            return f"'{value}'"
        case bound.Parameter(number=number):
            return f"${number}"
        case bound.SetReturning(function=function, args=args):
            return f"{function.name}({', '.join(render_expression(each, names) for each in args)})"
        case bound.Call(function=function, args=args) | bound.Aggregate(function=function, args=args):
            return f"{function.name}({', '.join(render_expression(each, names) for each in args) or '*'})"
        case bound.TreeScore(ensemble=ensemble, args=args):
            return f"{ensemble.trees} trees({', '.join(render_expression(each, names) for each in args)})"
        case bound.Cast(arg=arg, type=kind):
            return f"{render_expression(arg, names)}::{kind}"
        case bound.BoolOp(op="NOT", args=(arg,)):
            return f"NOT {render_expression(arg, names)}"
        case bound.BoolOp(op=op, args=args):
            return "(" + f" {op} ".join(render_expression(each, names) for each in args) + ")"
        case bound.Test(arg=arg, what=what, negated=negated):
            return f"{render_expression(arg, names)} IS {'NOT ' if negated else ''}{what}"
        case bound.InList(arg=arg, items=items, negated=negated):
            listed = ", ".join(render_expression(each, names) for each in items)
            return f"{render_expression(arg, names)} {'NOT ' if negated else ''}IN ({listed})"
        case _:
            return type(expr).__name__.upper()
