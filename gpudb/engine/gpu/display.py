"""Plans of the cluster as EXPLAIN tells them: a node an operator, an exchange where a stage ends, with its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudb.engine.gpu.coordinator import Measured
from gpudb.engine.gpu.fused.match import scan_of
from gpudb.engine.gpu.resident import files_of
from gpudb.engine.protocol import PlanNode, WorkerShare
from gpudb.plan import nodes
from gpudb.plan.fused import Built, Fused
from gpudb.plan.optimize.estimate import estimate
from gpudb.plan.optimize.profile import width
from gpudb.plan.physical import Defer, Fetch, Final, Partial, Receive
from gpudb.plan.stages import Stage
from gpudb.plan.traversal import walk_nodes
from gpudb.sql import bound


def displayed(
    stages: Sequence[Stage],
    prefix: str,
    hosted: Mapping[int, tuple[str, ...]],
    measured: Mapping[int, Measured] | None = None,
    parameters: Sequence[object] = (),
    chunks: int = 1,
) -> PlanNode:
    """The whole plan; `prefix` begins the operators' names (`Gpu`, or `Cpu` for a stage of which something ran on the
    host), `measured` is what each stage did.

    `hosted` is what each stage has the host's functions compute; `parameters` are the statement's;
    each worker's rows are cut into so many `chunks`.
    """
    shown = _Display(stages, prefix, hosted, measured or {}, parameters).stage(stages[-1])
    if chunks == 1:
        return shown
    return replace(shown, details=(*shown.details, ("Chunks", f"{chunks} of each worker's rows")))


class _Display:
    def __init__(
        self,
        stages: Sequence[Stage],
        prefix: str,
        hosted: Mapping[int, tuple[str, ...]],
        measured: Mapping[int, Measured],
        parameters: Sequence[object],
    ) -> None:
        self._parameters = parameters
        self._stages = stages
        self._prefix = prefix
        self._hosted = hosted
        self._measured = measured
        self._told: set[int] = set()
        # Of the scans of stages that narrow some, by their ids, the places among their stage's.
        self._places: dict[int, int] = {}

    def stage(self, stage: Stage) -> PlanNode:
        where = "one worker" if stage.alone else "all workers"
        details = [("Stage", f"{stage.number} on {where}")]
        if stage.keys:
            by = " by their buckets" if stage.by else ""
            details.append(("Keys", ", ".join(text(key, stage.root.names) for key in stage.keys) + by))
        if hosted := self._hosted.get(stage.number):
            details.append(("On Host", ", ".join(hosted)))
        done = self._measured.get(stage.number)
        if stage.narrows:
            scans = (node for node in walk_nodes(stage.root) if isinstance(node, nodes.Scan))
            self._places.update((id(scan), place) for place, scan in enumerate(scans))
        below = () if stage.number in self._told else (self._node(stage.root, done),)
        self._told.add(stage.number)
        shares: tuple[WorkerShare, ...] = ()
        if done is not None:
            figures = zip(done.workers, done.rows, done.bytes, done.milliseconds, strict=True)
            shares = tuple(WorkerShare(*each) for each in figures)
            if off := dict.fromkeys(each for reasons in done.host for each in reasons):
                details.append(("Off the GPU", "; ".join(off)))
            if stage.output in _MOVING:
                details.append(("Bytes Moved", str(_moved(stage, done))))
            if any(done.spilled):
                details.append(("Bytes Spilled", str(sum(done.spilled))))
            if not done.workers:
                details.append(("Not Run", "its rows are in the kernel's tables already"))
        return PlanNode(
            self._exchange(stage),
            tuple(details),
            stage.rows,
            None if done is None or not done.workers else sum(done.rows),
            None if done is None or not done.workers else max(done.milliseconds),
            below,
            width(stage.root.types),
            stage.root.names,
            shares,
        )

    def _exchange(self, stage: Stage) -> str:
        names = {"hash": "Hash", "broadcast": "Broadcast", "gather": "Gather", "range": "Range", "stay": "Shared"}
        kind = names.get(stage.output)
        return f"{self._prefix}Exchange ({kind})" if kind else f"{self._prefix}Result"

    def _node(self, node: nodes.Node, done: Measured | None) -> PlanNode:
        if isinstance(node, Receive):
            return self.stage(self._stages[node.stage])
        below = tuple(self._node(each, done) for each in node.inputs)
        name, details = _operator(node)
        if isinstance(node, nodes.Scan):
            details += self._skipped(node)
            details += _narrowed(self._places.get(id(node)), done)
        if isinstance(node, Fused):
            details += self._skipped(scan_of(node.root))
        if isinstance(node, Fused) and done is not None:
            details += _launched(details, done)
        return PlanNode(
            self._where(node, done) + name,
            details,
            estimate(node),
            inputs=below,
            width=width(node.types),
            output=node.names,
        )

    def _where(self, node: nodes.Node, done: Measured | None) -> str:
        """Where an operator runs: `Cpu` where a step of its kind ran on the host.

        Of what libcudf or cudf-polars refused the stage is known, not the operator: each over scans and kernels may be
        the one.
        """
        if done is None or not self._prefix or isinstance(node, nodes.Scan | Fused):
            return self._prefix
        reasons = {each for told in done.host for each in told if each}
        hosted = any(isinstance(node, _HOSTED.get(each, nodes.Node)) for each in reasons)
        return "Cpu" if hosted else self._prefix

    def _skipped(self, scan: nodes.Scan) -> tuple[tuple[str, str], ...]:
        """How many of a table's files the filter leaves to be read, by their statistics."""
        if not scan.table.files:
            return ()
        read = files_of(scan, self._parameters)
        left_out = len(scan.table.files) - len(read)
        rows = scan.table.rows - sum(file.rows for file in read)
        told = f"{len(read)} of {len(scan.table.files)}"
        return (("Files", told + (f", {left_out} skipped with {rows} rows" if left_out else "")),)


_HOSTED: Mapping[str, tuple[type[nodes.Node], ...]] = {
    "window functions": (nodes.Window,),
    "aggregates": (nodes.Aggregate, Partial, Final),
    "recursion": (nodes.Recursive,),
    "set-returning functions": (nodes.ProjectSet,),
    "functions": (nodes.Project, nodes.Filter, nodes.Join),
    "exact quotients": (nodes.Project, nodes.Aggregate, Final),
}
"""Which operators have the steps that `Frames.fetched` is told of."""
_MOVING = frozenset({"hash", "broadcast", "gather", "range"})


def _narrowed(place: int | None, done: Measured | None) -> tuple[tuple[str, str], ...]:
    """By which keys of the other sides of joins a scan was narrowed, and what each worker left out for them."""
    if place is None or done is None:
        return ()
    told: list[str] = []
    mine = [each for each in done.narrowed if each.scan == place]
    for keys in dict.fromkeys(each.keys for each in mine):
        those = [each for each in mine if each.keys == keys]
        skipped, read = max(each.skipped for each in those), min(each.read for each in those)
        words = f"{skipped} of {skipped + read} files skipped with {sum(each.rows for each in those)} rows"
        words += ", the others' rows compared" if any(each.compared for each in those) else ""
        told.append(f"{keys}: {words}")
    return (("Join Keys", "; ".join(told)),) if told else ()


def _moved(stage: Stage, done: Measured) -> int:
    """The bytes that left their worker: all but its own part of rows that are spread, once more for each that gets
    all of them."""
    workers, total = len(done.workers), sum(done.bytes)
    match stage.output:
        case "broadcast":
            return total * (workers - 1)
        case "gather":
            return sum(size for worker, size in zip(done.workers, done.bytes, strict=True) if worker != 0)
        case _:
            return total * (workers - 1) // max(workers, 1)


def nodes_below(node: nodes.Node) -> list[nodes.Node]:
    """A node and all below it, down to where its stage begins."""
    found = [node]
    for each in node.inputs:
        found += nodes_below(each)
    return found


def _operator(node: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    match node:
        case nodes.Scan():
            details = [("Table", node.table.name), ("Columns", ", ".join(node.names) or "none")]
            if node.table.distribution is not None:
                details.append(("Distribution", _spread(node)))
            if node.filter is not None:
                details.append(("Filter", text(node.filter, node.names)))
            return "Scan", tuple(details)
        case Fused():
            return "Fused", _fused(node.root)
        case Defer():
            return "Defer", (("Columns", ", ".join(node.names[place] for place in node.strings)),)
        case Fetch():
            return "Fetch", (("Columns", ", ".join(node.names[place] for place, _ in node.columns)),)
        case nodes.Filter():
            return "Filter", (("Condition", text(node.condition, node.input.names)),)
        case nodes.Project():
            return "Project", (("Expressions", _listed(node.exprs, node.input)),)
        case nodes.Join():
            return _join(node)
        case nodes.Aggregate():
            return "Aggregate", _groups(node)
        case Partial(aggregate=aggregate):
            return "Aggregate (Partial)", _groups(aggregate)
        case Final(aggregate=aggregate):
            return "Aggregate (Final)", _groups(aggregate)
        case nodes.Sort():
            counts = (("Limit", node.limit), ("Offset", node.offset))
            limits = tuple((name, text(count, ())) for name, count in counts if count is not None)
            name = "Limit" if not node.keys else "TopN" if node.limit is not None else "Sort"
            return name, ((("Sort Key", _keys(node.keys, node)),) if node.keys else ()) + limits
        case nodes.DistinctOn():
            return "DistinctOn", (("Keys", _listed(node.keys, node.input)), ("Sort Key", _keys(node.order, node)))
        case nodes.ProjectSet():
            return "ProjectSet", (("Calls", _listed(node.calls, node.input)),)
        case nodes.Window():
            calls = ", ".join(call.function.name for call in node.calls)
            parted = _listed(node.calls[0].partition_by, node.input)
            orders = "; ".join(dict.fromkeys(_keys(call.order_by, node.input) for call in node.calls if call.order_by))
            told = (("Calls", calls), ("Partition By", parted), ("Order By", orders))
            return "Window", tuple(each for each in told if each[1])
        case nodes.SetOperation():
            return f"{node.op.title()}{' All' if node.all else ''}", ()
        case _:
            return type(node).__name__, ()


def _listed(exprs: Sequence[Any], over: nodes.Node) -> str:
    return ", ".join(text(expr, over.names) for expr in exprs)


def _keys(keys: Sequence[bound.SortKey], over: nodes.Node) -> str:
    return ", ".join(text(key.expr, over.names) + (" DESC" if key.descending else "") for key in keys)


def _spread(node: nodes.Scan) -> str:
    """Which of a table's rows a worker reads."""
    if node.part is not None:
        return "all rows" if node.part == nodes.WHOLE else f"those of worker {node.part[0]} alone"
    by = node.table.hashed_by
    if by is None or node.table.distribution is None:
        return "rows spread over the workers"
    return f"hash of {by.name}" + ("" if node.table.bucketed else ", but for files of several buckets")


def _join(node: nodes.Join) -> tuple[str, tuple[tuple[str, str], ...]]:
    pairs = [f"{text(a, node.left.names)} = {text(b, node.right.names)}" for a, b in node.keys]
    details = [("Kind", node.kind.title() + (" (NOT IN)" if node.null_aware else ""))]
    details += [("Hash Cond", " AND ".join(pairs))] if pairs else []
    if node.condition is not None:
        details.append(("Join Filter", text(node.condition, node.left.names + node.right.names)))
    return "HashJoin" if pairs else "NestedLoop", tuple(details)


def _fused(root: nodes.Node) -> tuple[tuple[str, str], ...]:
    """What one kernel does, from its scan on."""
    parts: list[tuple[str, str]] = []
    for node in reversed(nodes_below(root)):
        name, details = _operator(node)
        if not isinstance(node, Built | nodes.Project):
            parts += [(label if isinstance(node, nodes.Scan) else f"{name} {label}", told) for label, told in details]
    return tuple(parts)


def _launched(details: tuple[tuple[str, str], ...], done: Measured) -> tuple[tuple[str, str], ...]:
    """What workers ran of a fused part: of all of them the bytes, of the slowest the time."""
    mine = [each for each in done.launched if ("Table", each.table) in details]
    if not mine:
        return ()
    told = [
        ("Bytes Read", str(sum(each.bytes for each in mine))),
        ("Segments", str(sum(each.segments for each in mine))),
        ("Rows Skipped", str(sum(each.skipped for each in mine))),
        ("Kernel Time", f"{max(each.milliseconds for each in mine):.3f} ms"),
        ("Bound Before", "yes" if all(each.reused for each in mine) else "no"),
    ]
    registers = max(each.registers for each in mine)
    return (*told, ("Registers", str(registers))) if registers else tuple(told)


def _groups(node: nodes.Aggregate) -> tuple[tuple[str, str], ...]:
    keys, calls = _listed(node.keys, node.input), _listed(node.calls, node.input)
    return ((("Group Key", keys),) if keys else ()) + ((("Aggregates", calls),) if calls else ())


def text(expr: Any, names: Sequence[str]) -> str:
    """An expression in short, its columns by their names."""
    match expr:
        case bound.Column(index=index):
            return (names[index] if index < len(names) else "") or f"column {index + 1}"
        case bound.Constant(value=None):
            return "NULL"
        case bound.Constant(value=value):
            return f"'{value}'"
        case bound.Parameter(number=number):
            return f"${number}"
        case bound.SetReturning(function=function, args=args):
            return f"{function.name}({', '.join(text(each, names) for each in args)})"
        case bound.Call(function=function, args=args) | bound.Aggregate(function=function, args=args):
            return f"{function.name}({', '.join(text(each, names) for each in args) or '*'})"
        case bound.Cast(arg=arg, type=kind):
            return f"{text(arg, names)}::{kind}"
        case bound.BoolOp(op="NOT", args=(arg,)):
            return f"NOT {text(arg, names)}"
        case bound.BoolOp(op=op, args=args):
            return "(" + f" {op} ".join(text(each, names) for each in args) + ")"
        case bound.Test(arg=arg, what=what, negated=negated):
            return f"{text(arg, names)} IS {'NOT ' if negated else ''}{what}"
        case bound.InList(arg=arg, items=items, negated=negated):
            return (
                f"{text(arg, names)} {'NOT ' if negated else ''}IN ({', '.join(text(each, names) for each in items)})"
            )
        case _:
            return type(expr).__name__.upper()
