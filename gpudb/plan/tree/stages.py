"""Stages: the parts of a plan between exchanges, as workers receive them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpudb.plan.tree.nodes import Node
from gpudb.sql import bound


@dataclass(frozen=True, slots=True)
class DynamicFilter:
    """Narrows a scan by received keys.

    Rows of scan number `scan` of the stage are not needed unless their `column` has a value of column `key` of the rows
    received of `stage`. `grouped`: they are grouped before they are joined.
    """

    stage: int
    key: int
    scan: int
    column: int
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a plan without exchanges, and the destination of its rows.

    `output` is the exchange's kind; `result` rows go to the client, `stay` rows to later stages of the same worker.
    `hash` rows are partitioned by the hash of `keys`, or with `hash_name` by bucket. `range` rows are partitioned by
    `keys` in the order `order`, between the key values that stage `sample` returns; equal rows stay on one worker with
    `keep_peers`. `single_worker` stages run on the first worker only. `rows` is the estimated number of rows. `coded`
    are the positions of its texts that a single worker hands to later stages as codes.
    """

    number: int
    root: Node
    output: Literal["hash", "broadcast", "gather", "range", "stay", "result"]
    keys: tuple[bound.Expr, ...]
    inputs: tuple[int, ...]
    single_worker: bool
    rows: int = 1
    order: tuple[bound.SortKey, ...] = ()
    sample: int | None = None
    dynamic_filters: tuple[DynamicFilter, ...] = ()
    hash_name: str = ""
    keep_peers: bool = False
    coded: tuple[int, ...] = ()
