"""Relation.loader: every row once an epoch, ranks, checkpoints; as PyTorch's datasets where it is installed."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.api import Connection
from gpudb.api.training.permutation import ROUNDS, Permutation
from gpudb.api.training.permutation_kernel import kernel_arguments, permutation_source
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.errors import GpudbError
from tests.support.fused.hosted import COMPILER

N = 1000


@pytest.fixture
def rows(db: Connection) -> Any:
    """A relation of the numbers from 0, in order, and their halves."""
    db.execute(f"CREATE TABLE t AS SELECT i, i / 2.0::float8 AS h, i % 3 AS y FROM generate_series(0, {N - 1}) AS i")
    return db.table("t").order("i")


def _numbers(batches: Any) -> list[int]:
    return [int(number) for batch in batches for number in batch["i"]]


def test_batches_in_order_share_the_memory_of_the_rows(rows: Any) -> None:
    batches = list(rows.loader(300, library="numpy"))
    assert [len(batch["i"]) for batch in batches] == [300, 300, 300, 100]
    assert _numbers(batches) == list(range(N))
    assert batches[0]["h"].base is not None
    assert [len(batch["h"]) for batch in rows.loader(300, drop_last=True, library="numpy")] == [300, 300, 300]


def test_shuffled_batches_have_every_row_once_an_epoch(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.api.training.loader._GATHERED", 100)
    loader = rows.loader(64, shuffle=True, seed=3, library="numpy")
    first, second = list(loader), list(loader)
    assert loader.epoch == 2
    assert len(first) == len(loader) == 16
    assert _numbers(first) != _numbers(second)
    for epoch in (first, second):
        assert sorted(_numbers(epoch)) == list(range(N))
        assert all(np.array_equal(batch["h"] * 2, batch["i"]) for batch in epoch)
    assert _numbers(first) == _numbers(rows.loader(500, shuffle=True, seed=3, library="numpy"))
    assert _numbers(first) != _numbers(rows.loader(64, shuffle=True, seed=4, library="numpy"))
    loader.set_epoch(1)
    assert _numbers(loader) == _numbers(second)


def test_a_target_is_apart_from_a_block_of_the_others(rows: Any) -> None:
    x, y = next(iter(rows.loader(4, columns=["i", "h", "y"], target="y", library="numpy")))
    np.testing.assert_array_equal(x, np.float32([[0, 0], [1, 0.5], [2, 1], [3, 1.5]]))
    np.testing.assert_array_equal(y, np.int32([0, 1, 2, 0]))


@pytest.mark.parametrize("shuffle", [False, True])
def test_ranks_divide_the_rows(rows: Any, shuffle: bool) -> None:
    loaders = [rows.loader(50, shuffle=shuffle, rank=rank, world_size=3, library="numpy") for rank in range(3)]
    shares = [_numbers(loader) for loader in loaders]
    assert [len(share) for share in shares] == [334, 334, 334]
    counts = Counter(number for share in shares for number in share)
    assert len(counts) == N
    assert sorted(counts.values())[-3:] == [1, 2, 2]
    dropped = [
        rows.loader(50, shuffle=shuffle, rank=rank, world_size=3, drop_last=True, library="numpy") for rank in (0, 1, 2)
    ]
    shares = [_numbers(loader) for loader in dropped]
    assert [len(share) for share in shares] == [300, 300, 300]
    assert len({number for share in shares for number in share}) == 900


def test_a_restored_loader_goes_on(rows: Any) -> None:
    whole = rows.loader(64, shuffle=True, seed=9, rank=1, world_size=2, library="numpy")
    epochs = [_numbers(whole), _numbers(whole)]
    stopped = rows.loader(64, shuffle=True, seed=9, rank=1, world_size=2, library="numpy")
    list(stopped)
    before = []
    for number, batch in enumerate(stopped):
        before.append(batch)
        if number == 2:
            break
    state = pickle.loads(pickle.dumps(stopped.state_dict()))
    resumed = rows.loader(64, shuffle=True, seed=9, rank=1, world_size=2, library="numpy")
    resumed.load_state_dict(state)
    assert resumed.epoch == 1
    assert _numbers(before) + _numbers(resumed) == epochs[1]
    assert _numbers(resumed) == _numbers(whole)  # the epoch after
    assert _numbers(stopped) == _numbers(whole) or stopped.epoch == 3


def test_a_state_of_other_rows_is_refused(rows: Any) -> None:
    state = rows.loader(64, library="numpy").state_dict()
    for other in (rows.order("i DESC"), rows.limit(999), rows[["i"]]):
        with pytest.raises(GpudbError, match="the rows are others, or in another order") as caught:
            other.loader(64, library="numpy").load_state_dict(state)
        assert caught.value.sqlstate == "55000"
    with pytest.raises(GpudbError, match="batch_size differs"):
        rows.loader(65, library="numpy").load_state_dict(state)


def test_a_loader_moves_to_another_process_with_its_rows(rows: Any) -> None:
    loader = pickle.loads(pickle.dumps(rows.loader(64, shuffle=True, library="numpy")))
    assert sorted(_numbers(loader)) == list(range(N))


def test_no_rows(rows: Any) -> None:
    loader = rows.filter("i < 0").loader(10, shuffle=True, library="numpy")
    assert len(loader) == 0
    assert list(loader) == []


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"batch_size": 1, "rank": 2, "world_size": 2},
        {"batch_size": 1, "library": "pandas"},
        {"batch_size": 1, "target": "z"},
        {"batch_size": 1, "target": "i", "columns": ["i"]},
    ],
)
def test_errors(rows: Any, options: dict[str, Any]) -> None:
    with pytest.raises(GpudbError) as caught:
        list(rows.loader(**{"library": "numpy", **options}))
    assert caught.value.sqlstate == "22023"


# ---- the order


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 100, 4096, 100_001])
def test_a_permutation_has_every_row_once(rows: int) -> None:
    assert sorted(Permutation(rows, 1, 2).take(np.arange(rows))) == list(range(rows))


def test_permutations_are_uniform() -> None:
    """The chi-squared statistic of the first two rows of five, over 4,000 seeds: 19 on average, deviation 6."""
    counts = Counter(tuple(Permutation(5, seed, 0).take(np.arange(2))) for seed in range(4000))
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 19 + 5 * 6.2
    assert len(counts) == 20


def test_the_kernel_compiles(tmp_path: Path) -> None:
    made = nvrtc.compile_source(permutation_source(), {}, "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled == 0


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize(("rows", "first", "step"), [(1, 0, 1), (5, 3, 2), (1000, 7, 3), (100_001, 0, 1)])
def test_the_kernel_gives_the_same_order(tmp_path: Path, rows: int, first: int, step: int) -> None:
    """Compiled as C++ for the host: one thread takes all positions."""
    import ctypes
    import subprocess

    source = tmp_path / "permute.cpp"
    names = "struct { long long x; } blockIdx, threadIdx, blockDim = {1}, gridDim = {1};\n#define __global__\n"
    source.write_text(names + permutation_source())
    assert COMPILER is not None
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", tmp_path / "permute.so", source], check=True)
    order, count = Permutation(rows, 11, 4), min(rows, 2000) + 3
    keys, out = np.array(order.keys(), np.uint64), np.empty(count, np.int64)
    numbers = [int(value) for value in kernel_arguments(order, first, step, count)]
    assert numbers[-1] == ROUNDS
    kinds = [ctypes.c_longlong] * 4 + [ctypes.c_int] * 2
    function = ctypes.CDLL(str(tmp_path / "permute.so")).permute
    function(
        *(kind(value) for kind, value in zip(kinds, numbers)),
        ctypes.c_void_p(keys.ctypes.data),
        ctypes.c_void_p(out.ctypes.data),
    )
    np.testing.assert_array_equal(out, order.take((first + step * np.arange(count)) % rows))


# ---- PyTorch


def test_torch_datasets(rows: Any) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, IterableDataset

    loader = rows.loader(64, shuffle=True, seed=3, target="y")
    assert isinstance(loader, IterableDataset)
    batches = list(loader)
    assert batches[0][0].dtype == torch.float32
    assert sorted(int(number) for x, _ in batches for number in x[:, 0]) == list(range(N))
    wanted = [x[:, 0].tolist() for x, _ in batches]
    for workers, context in ((0, None), (2, "spawn")):
        loader.set_epoch(0)
        batches = DataLoader(loader, batch_size=None, num_workers=workers, multiprocessing_context=context)
        assert [x[:, 0].tolist() for x, _ in batches] == wanted


def test_jax_batches(rows: Any) -> None:
    pytest.importorskip("jax")
    batches = list(rows.loader(64, shuffle=True, seed=3, library="jax"))
    assert _numbers(batches) == _numbers(rows.loader(64, shuffle=True, seed=3, library="numpy"))


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_the_same_order_on_a_gpu(rows: Any, library: str) -> None:
    on_gpu = rows.loader(
        64, shuffle=True, seed=3, rank=1, world_size=3, library=library, device="cuda" if library == "torch" else None
    )
    on_cpu = rows.loader(64, shuffle=True, seed=3, rank=1, world_size=3, library="numpy")
    state = on_cpu.state_dict()
    assert _numbers(on_gpu) == _numbers(on_cpu)
    on_gpu.load_state_dict(state)
