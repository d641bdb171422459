"""EXPLAIN's tree of a cluster plan: a node for each operator, and an exchange with its figures for each stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudb.engine.figures import FileReads, KernelFigures, OperatorFigures
from gpudb.engine.gpu.cache.host_columns import pruned_files
from gpudb.engine.gpu.coordinator.coordinator import StageMeasurements
from gpudb.engine.gpu.explain.operators import describe_operator, render_expression
from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.engine.gpu.lower.nearest_rows import NearestScan, find_nearest_scan
from gpudb.engine.gpu.stage.profiling import number_nodes
from gpudb.engine.protocol import PlanNode, WorkerShare
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.cost.profile import row_width
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.stage_nodes import Final, Partial, Receive
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.vector_indexes.file_indexes import MIN_ROWS


def render_plan(
    stages: Sequence[Stage],
    prefix: str,
    hosted: Mapping[int, tuple[str, ...]],
    measured: Mapping[int, StageMeasurements] | None = None,
    parameters: Sequence[object] = (),
    chunks: int = 1,
    *,
    searched: bool = False,
) -> PlanNode:
    """Returns the whole plan.

    `prefix` begins the operators' names (`Gpu`, or `Cpu` for a stage with steps on the host). `hosted` has the host's
    functions of each stage, `measured` what each stage did; `parameters` are the statement's; each worker's partition
    has `chunks`. `searched` says that indexes of vectors are.
    """
    display = _Display(stages, prefix, hosted, measured or {}, parameters)
    if searched:
        display.find_indexes()
    shown = display.stage(stages[-1])
    if chunks == 1:
        return shown
    return replace(shown, details=(*shown.details, ("Chunks", f"{chunks} of each worker's rows")))


class _Display:
    def __init__(
        self,
        stages: Sequence[Stage],
        prefix: str,
        hosted: Mapping[int, tuple[str, ...]],
        measured: Mapping[int, StageMeasurements],
        parameters: Sequence[object],
    ) -> None:
        self._parameters = parameters
        self._stages = stages
        self._prefix = prefix
        self._hosted = hosted
        self._measured = measured
        self._shown: set[int] = set()
        self._indexes: dict[int, NearestScan] = {}
        self._numbers = {number: place for each in stages for number, place in number_nodes(each.root).items()}
        # The indices of scans among their stage's, by id, for stages that narrow scans.
        self._scan_numbers: dict[int, int] = {}

    def find_indexes(self) -> None:
        """Finds the scans that indexes of vectors answer."""
        for node in (each for stage in self._stages for each in walk_nodes(stage.root)):
            found = find_nearest_scan(node) if isinstance(node, nodes.Sort) else None
            if found is not None and found.scan.table.rows >= MIN_ROWS:
                self._indexes[id(found.scan)] = found

    def stage(self, stage: Stage) -> PlanNode:
        where = "one worker" if stage.single_worker else "all workers"
        details = [("Stage", f"{stage.number} on {where}")]
        if stage.keys:
            by = " by their buckets" if stage.hash_name else ""
            details.append(("Keys", ", ".join(render_expression(key, stage.root.names) for key in stage.keys) + by))
        if hosted := self._hosted.get(stage.number):
            details.append(("On Host", ", ".join(hosted)))
        done = self._measured.get(stage.number)
        if stage.dynamic_filters:
            scans = (node for node in walk_nodes(stage.root) if isinstance(node, nodes.Scan))
            self._scan_numbers.update((id(scan), place) for place, scan in enumerate(scans))
        below = () if stage.number in self._shown else (self._node(stage.root, done),)
        self._shown.add(stage.number)
        shares: tuple[WorkerShare, ...] = ()
        if done is not None:
            figures = zip(done.workers, done.rows, done.bytes, done.milliseconds, strict=True)
            shares = tuple(WorkerShare(*each) for each in figures)
            if off := dict.fromkeys(each for reasons in done.host for each in reasons):
                details.append(("Off the GPU", "; ".join(off)))
            if stage.output in _MOVING:
                details.append(("Bytes Moved", str(_moved_bytes(stage, done))))
            details += [("Files Read", each) for each in describe_reads(done.reads)]
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
            row_width(stage.root.types),
            stage.root.names,
            shares,
        )

    def _exchange(self, stage: Stage) -> str:
        names = {"hash": "Hash", "broadcast": "Broadcast", "gather": "Gather", "range": "Range", "stay": "Shared"}
        kind = names.get(stage.output)
        return f"{self._prefix}Exchange ({kind})" if kind else f"{self._prefix}Result"

    def _node(self, node: nodes.Node, done: StageMeasurements | None) -> PlanNode:
        if isinstance(node, Receive):
            return self.stage(self._stages[node.stage])
        below = tuple(self._node(each, done) for each in node.inputs)
        name, details = describe_operator(node)
        if id(node) in self._indexes:
            index = self._indexes[id(node)]
            name = f"Index Scan using {index.name} on {index.scan.table.name}"
            details += (("Method", index.definition.method),)
        if isinstance(node, nodes.Scan):
            details += self._describe_files(node)
            details += _describe_join_keys(self._scan_numbers.get(id(node)), done)
        if isinstance(node, Fused):
            details += self._describe_files(find_scan(node.root))
        if isinstance(node, Fused) and done is not None:
            details += _describe_kernels(details, done)
        place = self._numbers[id(node)]
        by_worker = [] if done is None else [(who, each) for who, each in done.observed if each.place == place]
        seen = [each for _, each in by_worker]
        spent: defaultdict[int, float] = defaultdict(float)
        for worker, each in by_worker:
            spent[worker] += each.milliseconds
        return PlanNode(
            self._find_prefix(node, done) + name,
            details + _describe_sizes(seen),
            estimate(node),
            sum(each.rows for each in seen) if seen else None,
            max(spent.values(), default=None),
            below,
            width=row_width(node.types),
            output=node.names,
        )

    def _find_prefix(self, node: nodes.Node, done: StageMeasurements | None) -> str:
        """Returns the prefix for where an operator runs: `Cpu` if a step of its kind ran on the host.

        If libcudf or cudf-polars refused a step, only its stage is known: then every operator of the stage, except
        scans and kernels, may be the one.
        """
        if done is None or not self._prefix or isinstance(node, nodes.Scan | Fused):
            return self._prefix
        reasons = {each for items in done.host for each in items if each}
        hosted = any(isinstance(node, _HOSTED.get(each, nodes.Node)) for each in reasons)
        return "Cpu" if hosted else self._prefix

    def _describe_files(self, scan: nodes.Scan) -> tuple[tuple[str, str], ...]:
        """Describes how many of a table's files remain after the filter is applied to their statistics."""
        if not scan.table.files:
            return ()
        read = pruned_files(scan, self._parameters)
        left_out = len(scan.table.files) - len(read)
        rows = scan.table.rows - sum(file.rows for file in read)
        items = f"{len(read)} of {len(scan.table.files)}"
        label = _PARTS.get(scan.table.format, "Files")
        return ((label, items + (f", {left_out} skipped with {rows} rows" if left_out else "")),)


_HOSTED: Mapping[str, tuple[type[nodes.Node], ...]] = {
    "window functions": (nodes.Window,),
    "aggregates": (nodes.Aggregate, Partial, Final),
    "set-returning functions": (nodes.ProjectSet,),
    "functions": (nodes.Project, nodes.Filter, nodes.Join),
    "exact quotients": (nodes.Project, nodes.Aggregate, Final),
    "few quotients": (nodes.Project, nodes.Aggregate, Final),
}
"""The operators that have the steps named in `Backend.compute_on_host`."""


def _describe_sizes(seen: Sequence[OperatorFigures]) -> tuple[tuple[str, str], ...]:
    """Describes the rows that a filter removed on all workers, and the largest hash table of a worker."""
    if not seen:
        return ()
    removed = sum(each.read - each.rows for each in seen if each.read)
    items = [("Rows Removed by Filter", str(removed))] if any(each.read for each in seen) else []
    largest = max(seen, key=lambda each: each.bytes)
    if largest.hashed:
        items += [("Hash Rows", str(largest.hashed)), ("Hash Bytes", str(largest.bytes))]
    return tuple(items)


_PARTS = {"parquet": "Row Groups", "arrow": "Record Batches", "csv": "Blocks", "json": "Blocks"}
"""What is read, or left out, of files as tables."""
_MOVING = frozenset({"hash", "broadcast", "gather", "range"})


def _describe_join_keys(place: int | None, done: StageMeasurements | None) -> tuple[tuple[str, str], ...]:
    """Describes the join keys by which a scan was narrowed, and what each worker skipped."""
    if place is None or done is None:
        return ()
    items: list[str] = []
    mine = [each for each in done.narrowed if each.scan == place]
    for keys in dict.fromkeys(each.keys for each in mine):
        those = [each for each in mine if each.keys == keys]
        skipped, read = max(each.skipped for each in those), min(each.read for each in those)
        words = f"{skipped} of {skipped + read} files skipped with {sum(each.rows for each in those)} rows"
        words += ", the others' rows compared" if any(each.compared for each in those) else ""
        items.append(f"{keys}: {words}")
    return (("Join Keys", "; ".join(items)),) if items else ()


def describe_reads(reads: Sequence[FileReads]) -> list[str]:
    """Describes the bytes that workers read of files, by their way: workers read at the same time."""
    found = []
    for way in dict.fromkeys(each.way for each in reads):
        mine = [each for each in reads if each.way == way]
        size, longest = sum(each.bytes for each in mine), max(each.milliseconds for each in mine)
        rate = f", {size / longest / 1e6:.2f} GB/s" if longest > 0 else ""
        found.append(f"{size} bytes by {way}{rate}")
    return found


def _moved_bytes(stage: Stage, done: StageMeasurements) -> int:
    """Returns the bytes that left their worker.

    Partitioned rows stay with their own worker in part; broadcast rows leave once for each other worker.
    """
    workers, total = len(done.workers), sum(done.bytes)
    match stage.output:
        case "broadcast":
            return total * (workers - 1)
        case "gather":
            return sum(size for worker, size in zip(done.workers, done.bytes, strict=True) if worker != 0)
        case _:
            return total * (workers - 1) // max(workers, 1)


def _describe_kernels(details: tuple[tuple[str, str], ...], done: StageMeasurements) -> tuple[tuple[str, str], ...]:
    """Describes a fused part's kernels: the bytes of all workers, the time of the slowest."""
    mine = [each for each in done.launched if ("Table", each.table) in details]
    if not mine:
        return ()
    declined = dict.fromkeys(each.declined for each in mine if each.declined)
    ran = [each for each in mine if not each.declined]
    registers = max((each.registers for each in ran), default=0)
    by = [f"the general engine: {reason}" for reason in declined]
    by += ["kernel" if registers else "the kernel's twin"] if ran else []
    items = [("Answered By", "; ".join(by))]
    if ran:
        items += [
            ("Bytes Read", str(sum(each.bytes for each in ran))),
            ("Segments", str(sum(each.segments for each in ran))),
            ("Rows Skipped", str(sum(each.skipped for each in ran))),
            *_describe_removed(details, ran),
            ("Kernel Time", f"{max(each.milliseconds for each in ran):.3f} ms"),
            ("Bound Before", "yes" if all(each.reused for each in ran) else "no"),
        ]
    return (*items, ("Registers", str(registers))) if registers else tuple(items)


def _describe_removed(
    details: tuple[tuple[str, str], ...], ran: Sequence[KernelFigures]
) -> tuple[tuple[str, str], ...]:
    """Describes the rows that a fused part removed, and the largest hash tables of a worker."""
    items: list[tuple[str, str]] = []
    left = sum(each.rows - each.passed for each in ran if each.passed is not None)
    joined = any("Join" in label for label, _ in details)
    if all(each.passed is not None for each in ran) and (left > 0 or any("Filter" in label for label, _ in details)):
        items.append(("Rows Removed by Filter" + (" or Join" if joined else ""), str(left)))
    if joined:
        items.append(("Hash Bytes", str(max(each.hashed for each in ran))))
    return tuple(items)
