"""The kernels that pack columns, run on the host: the same output as their NumPy counterparts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.columns import text_columns, zones
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn, concatenate, pack, pack_texts
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk, HostChunkReader
from gpudb.engine.gpu.fused.packed_cache.packing import (
    TEXT_KERNELS,
    VALUE_TYPES,
    Packer,
    StartKernel,
    packing_source,
    source_of_kernel,
)
from gpudb.engine.gpu.fused.unsupported import NotFused
from tests.support.fused.decoded import bits_of, columns, same
from tests.support.fused.hosted import COMPILER, XP, HostedFile

_ALONE = ("pack", "repack", "bits")
pytestmark = pytest.mark.timeout(300)
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> StartKernel:
    if COMPILER is None:
        pytest.skip("needs g++")
    values = packing_source() + "".join(f"OF({kind})\n" for kind in VALUE_TYPES if kind != "i64")
    of_values = HostedFile(values, _ALONE, tmp_path_factory.mktemp("values"))
    of_texts = HostedFile(packing_source("texts"), TEXT_KERNELS, tmp_path_factory.mktemp("texts"))
    return lambda name, *given: (of_texts if source_of_kernel(name) == "texts" else of_values)(name, *given)


@pytest.fixture(scope="module")
def packing(launch: StartKernel) -> Packer:
    return Packer(XP, launch)


def test_packed_columns_are_their_twins_bit_by_bit(packing: Packer) -> None:
    given = columns()
    pieces = [ColumnChunk(values, bits_of(valid, len(name) % 11)) for name, (values, valid) in given.items()]
    for one, (values, valid) in zip(packing.pack(pieces), given.values(), strict=True):
        same(one, pack(values if values.dtype.kind == "f" else values.astype(np.int64), valid))


def test_numbers_of_128_bits_that_need_them_are_refused(packing: Packer) -> None:
    held = np.array([5, -6, 2**63 - 1, -(2**63), 77])
    halves = np.stack([held, held >> 63], axis=1)
    beyond = halves.copy()
    beyond[4] = -1, 0  # 2^64 - 1
    there = np.arange(5) < 4
    first, second, third = packing.pack(
        [ColumnChunk(halves, None), ColumnChunk(beyond, None), ColumnChunk(beyond, bits_of(there, 3))]
    )
    same(first, pack(held))
    assert isinstance(second, NotFused)
    same(third, pack(held, there))


def test_parts_are_joined_as_their_twins(packing: Packer) -> None:
    draws = np.random.default_rng(6)
    given = columns()
    for kind, many in (("int", 60), ("float", 10)):
        names = [name for name, (values, _) in given.items() if (values.dtype == np.float64) == (kind == "float")]
        names = [name for name in names if given[name][0].dtype != np.float32]
        for _ in range(many):
            chosen = [given[str(name)] for name in draws.choice(names, draws.integers(2, 5))]
            parts = [pack(values if kind == "float" else values.astype(np.int64), valid) for values, valid in chosen]
            same(packing.concatenate(parts), concatenate(parts))


def test_zones_end_where_they_do_for_the_twin(packing: Packer) -> None:
    rows = zones.ZONE_ROWS + 5
    values = np.arange(rows, dtype=np.int32) % 1000
    values[zones.ZONE_ROWS - 1], values[zones.ZONE_ROWS] = -4, 5000
    there = np.arange(rows) % 3 > 0
    (made,) = packing.pack([ColumnChunk(values, bits_of(there, 5))])
    same(made, pack(values.astype(np.int64), there))


def _texts(packing: Packer, held: list[str | None], kind: type[np.signedinteger[Any]], first: int) -> PackedColumn:
    """A batch of decoded texts."""
    encoded = [(each or "").encode() for each in held]
    ends = np.cumsum([0, *map(len, encoded)]).astype(kind)[1:]
    there = np.array([each is not None for each in held], bool)
    valid = None if there.all() else bits_of(there, first)
    return packing.raw_text_chunk(np.frombuffer(b"".join(encoded), np.uint8), np.ascontiguousarray(ends), valid)


def test_texts_are_joined_as_their_twins(packing: Packer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "GROUP_ROWS", 32)
    draws = np.random.default_rng(7)
    for number in range(60):
        some = ["", "a", "bc" * 20, *(["ä", "日本"] if number % 3 else []), *([None] if number % 2 else [])]
        held = [[some[place] for place in draws.integers(0, len(some), draws.integers(0, 200))] for _ in range(3)]
        kinds = np.int32, np.int64, np.int32
        parts = [_texts(packing, part, kind, 3) for part, kind in zip(held, kinds, strict=True)]
        if number % 4 == 0:
            parts[:2] = [packing.concatenate(parts[:2])]
        if number % 4 == 1:
            del parts[1:], held[1:]
        whole = packing.concatenate(parts)
        wanted = [each for part in held for each in part]
        encoded = [(each or "").encode() for each in wanted]
        there = np.array([each is not None for each in wanted], bool)
        ends = np.cumsum([0, *map(len, encoded)])[1:]
        twin = pack_texts(
            text_columns.raw_text_from_offsets(ends, np.frombuffer(b"".join(encoded), np.uint8)), len(wanted), there
        )
        assert (whole.encoding, whole.rows) == (twin.encoding, twin.rows)
        assert (whole.valid is None) == (twin.valid is None)
        assert whole.valid is None or np.array_equal(whole.valid, twin.valid)
        assert whole.texts is not None
        assert twin.texts is not None
        for name in ("ends", "starts", "data", "size", "ascii"):
            assert np.array_equal(getattr(whole.texts, name), getattr(twin.texts, name)), name


def test_texts_too_long_are_refused(launch: StartKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "GROUP_ROWS", 32)
    packing = Packer(XP, lambda name, *given: None if name == "text_bytes" else launch(name, *given))
    part = packing.raw_text_chunk(np.zeros(5, np.uint8), np.array([5, 2**32]), None)
    assert part.texts is not None
    long = replace(part, texts=replace(part.texts, size=2**32))
    with pytest.raises(NotFused, match="4 GiB"):
        packing.concatenate([long, _texts(packing, ["a"] * 40, np.int32, 0)])


def test_texts_are_coded_as_by_their_twin(packing: Packer) -> None:
    draws = np.random.default_rng(8)
    for keys in (0, 1, 40):
        codes = draws.integers(0, 400, keys)
        valid = draws.random(300) > 0.3 if keys else np.zeros(300, bool)
        places = np.where(valid, draws.integers(0, max(keys, 1), 300), keys).astype(np.int32)
        made = packing.pack_codes(ColumnChunk(places, bits_of(valid, 1)), codes)
        same(made, HostChunkReader().pack_codes(ColumnChunk(places.astype(np.int64), valid), codes))


@pytest.mark.parametrize("kind", [*VALUE_TYPES, "texts"])
def test_the_kernels_compile(kind: str, tmp_path: Path) -> None:
    made = nvrtc.compile_source(packing_source(kind), load_headers(), "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled == 0
