"""The tables of the group-by and join benchmark of H2O.ai (db-benchmark), by the rules of its published generator.

`x` has ROWS rows and groups: id1, id2 and id4, id5 of K = 100 values, id3 and id6 of ROWS / K, as texts and numbers; v1
from 1 to 5, v2 from 1 to 15, v3 from 0 to 100 with six decimals. `x2` joins `small` (ROWS / 10⁶ keys), `medium` (ROWS /
10³) and `big` (ROWS): of the keys of each, nine tenths occur on both sides and a tenth on either alone; id4 to id6 are
the texts of id1 to id3. Rows depend on ROWS alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GROUPS = 100
TABLES = ("x", "x2", "small", "medium", "big")
SEED = 108
BLOCK = 1 << 22
"""Rows that are generated together from one random stream: a file."""
_THREADS = 16
Ints = npt.NDArray[np.int32]


def write(folder: Path, rows: int) -> None:
    """Writes FOLDER/TABLE/N.parquet."""
    keys = {size: _JoinKeys(max(rows // size, 10), size) for size in (10**6, 10**3, 1)}
    makers: dict[str, tuple[int, Callable[[np.random.Generator, int, int], pa.Table]]] = {
        "x": (rows, lambda draws, first, count: _grouped(draws, count, rows)),
        "x2": (rows, lambda draws, first, count: _left(draws, first, count, keys)),
        "small": (len(keys[10**6].right), lambda draws, first, count: _right(draws, first, count, keys, (10**6,))),
        "medium": (
            len(keys[10**3].right),
            lambda draws, first, count: _right(draws, first, count, keys, (10**6, 10**3)),
        ),
        "big": (len(keys[1].right), lambda draws, first, count: _right(draws, first, count, keys, (10**6, 10**3, 1))),
    }
    with ThreadPoolExecutor(_THREADS) as pool:
        jobs = []
        for place, (name, (count, make)) in enumerate(makers.items()):
            (folder / name).mkdir(parents=True, exist_ok=True)
            for block in range(-(-count // BLOCK)):
                jobs.append(pool.submit(_write_block, folder / name, make, (place, block), count))
        for job in jobs:
            job.result()


def _write_block(
    folder: Path, make: Callable[[np.random.Generator, int, int], pa.Table], number: tuple[int, int], rows: int
) -> None:
    first = number[1] * BLOCK
    draws = np.random.Generator(np.random.SFC64([SEED, *number]))
    pq.write_table(
        make(draws, first, min(BLOCK, rows - first)), folder / f"{number[1]:04d}.parquet", compression="zstd"
    )


def _grouped(draws: np.random.Generator, count: int, rows: int) -> pa.Table:
    many = max(rows // GROUPS, 1)

    def pick(most: int) -> Ints:
        return draws.integers(1, most + 1, count, dtype=np.int32)

    return pa.table(
        {
            "id1": _texts(pick(GROUPS), 3),
            "id2": _texts(pick(GROUPS), 3),
            "id3": _texts(pick(many), 10),
            "id4": pick(GROUPS),
            "id5": pick(GROUPS),
            "id6": pick(many),
            "v1": pick(5),
            "v2": pick(15),
            "v3": np.round(draws.random(count) * 100, 6),
        }
    )


class _JoinKeys:
    """The keys of one size: those of the left side, and of the right one."""

    def __init__(self, count: int, size: int) -> None:
        both, alone = count - count // 10, count // 10
        keys = np.random.Generator(np.random.SFC64([SEED, 9, size])).permutation(both + 2 * alone).astype(np.int32) + 1
        self.left, self.right = keys[: both + alone], np.concatenate([keys[:both], keys[both + alone :]])


def _left(draws: np.random.Generator, first: int, count: int, keys: dict[int, _JoinKeys]) -> pa.Table:
    columns = {}
    for number, (size, each) in enumerate(keys.items(), 1):
        # The largest keys are distinct; of the others every one occurs.
        at = np.arange(first, first + count) if size == 1 else draws.integers(0, len(each.left), count)
        columns[f"id{number}"] = each.left[at]
    return _with_texts(columns, "v1", draws, count)


def _right(
    draws: np.random.Generator, first: int, count: int, keys: dict[int, _JoinKeys], sizes: tuple[int, ...]
) -> pa.Table:
    columns = {}
    for number, size in enumerate(sizes, 1):
        right = keys[size].right
        at = np.arange(first, first + count) if size == sizes[-1] else draws.integers(0, len(right), count)
        columns[f"id{number}"] = right[at]
    return _with_texts(columns, "v2", draws, count)


def _with_texts(columns: dict[str, Ints], value: str, draws: np.random.Generator, count: int) -> pa.Table:
    texts = {f"id{int(name[2:]) + 3}": _texts(column, 0) for name, column in columns.items()}
    return pa.table({**columns, **texts, value: np.round(draws.random(count) * 100, 6)})


def _texts(numbers: Ints, width: int) -> pa.Array:
    digits = pa.array(numbers).cast(pa.string())
    return pc.binary_join_element_wise("id", pc.utf8_lpad(digits, width, "0") if width else digits, "")
