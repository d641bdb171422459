"""The kernels that pack columns, run on the host: what they write is what their twins do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.engine.gpu.fused import nvrtc, texts, zones
from gpudb.engine.gpu.fused.generate import headers
from gpudb.engine.gpu.fused.packed import DAY, UNITS, PackedColumn, joined, pack, packed_texts
from gpudb.engine.gpu.fused.packing import TEXTS, VALUES, Launch, Packing, source, source_of
from gpudb.engine.gpu.fused.pieces import Bits, HostPieces, Piece
from gpudb.engine.gpu.fused.refusal import NotFused
from tests.engine.gpu.fused.hosted import COMPILER, XP, HostedFile

_ALONE = ("pack", "repack", "bits")
pytestmark = pytest.mark.timeout(300)
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Launch:
    if COMPILER is None:
        pytest.skip("needs g++")
    values = source() + "".join(f"OF({kind})\n" for kind in VALUES if kind != "i64")
    of_values = HostedFile(values, _ALONE, tmp_path_factory.mktemp("values"))
    of_texts = HostedFile(source("texts"), TEXTS, tmp_path_factory.mktemp("texts"))
    return lambda name, *given: (of_texts if source_of(name) == "texts" else of_values)(name, *given)


@pytest.fixture(scope="module")
def packing(launch: Launch) -> Packing:
    return Packing(XP, launch)


def _bits(valid: Array | None, first: int) -> Bits | None:
    """A mask as bits that begin within a byte, with others before and after."""
    if valid is None:
        return None
    whole = np.concatenate([np.ones(first, bool), valid, np.ones(11, bool)])
    return Bits(np.packbits(whole, bitorder="little"), first)


def _same(one: PackedColumn | NotFused, other: PackedColumn) -> None:
    assert isinstance(one, PackedColumn)
    assert (one.form, one.base, one.rows, one.low, one.high) == (
        *(other.form, other.base, other.rows),
        *(other.low, other.high),
    )
    assert len(one.data) == len(other.data)
    if other.form.real:
        ours, theirs = (
            each.values()[0][each.values()[1]] if each.form.nullable else each.values()[0] for each in (one, other)
        )
        assert np.array_equal(ours.view(np.int64), theirs.view(np.int64))
    else:
        assert np.array_equal(one.data, other.data)
    assert (one.valid is None) == (other.valid is None)
    assert one.valid is None or np.array_equal(one.valid, other.valid)
    assert (one.zones is None) == (other.zones is None)
    if one.zones is not None and other.zones is not None:
        for name in ("ends", "lows", "highs"):
            assert np.array_equal(getattr(one.zones, name), getattr(other.zones, name))


def _columns() -> dict[str, tuple[Array, Array | None]]:
    """Values of every kind that libcudf decodes, with and without NULLs, and at the ends of what is possible."""
    draws = np.random.default_rng(5)
    few = draws.random(900) > 0.3
    made: dict[str, tuple[Array, Array | None]] = {}
    for kind in (np.uint8, np.int8, np.int16, np.int32, np.int64):
        ends = np.iinfo(kind)
        values = draws.integers(ends.min, ends.max, 900, kind, endpoint=True)
        values[:2] = ends.min, ends.max
        made[f"{kind.__name__}"] = values, None
        made[f"{kind.__name__} with nulls"] = values, few
    for unit in UNITS:
        for far in (0, -3 * DAY, 7, DAY // 2 + 13):
            values = draws.integers(0, 5000, 700) * unit + far
            made[f"steps of {unit} from {far}"] = values, None
            # What is not there is no whole number of steps, and beyond the bounds.
            there = draws.random(700) > 0.2
            made[f"steps of {unit} from {far} with nulls"] = np.where(there, values, 2**62 + 1), there
    for top in (255, 256, 65_535, 65_536, 2**24 - 1, 2**24, 2**32 - 2, 2**32 - 1, 2**63 - 1):
        made[f"up to {top}"] = np.array([0, top, 1, top // 3], np.int64), None
    made["all of 64 bits"] = np.array([-(2**63), 2**63 - 1, 0], np.int64), None
    made["the least day"] = np.array([-(2**63), -(2**63) + 4000 * 1000], np.int64), None
    made["no value"] = np.full(130, 9, np.int64), np.zeros(130, bool)
    made["no row"] = np.zeros(0, np.int32), None
    made["one value"] = np.full(64, -7, np.int32), None
    made["float4"] = np.array([1.5, np.nan, -0.0, np.inf], np.float32), None
    made["float8 with nulls"] = draws.random(900), few
    return made


def test_packed_columns_are_their_twins_bit_by_bit(packing: Packing) -> None:
    columns = _columns()
    pieces = [Piece(values, _bits(valid, len(name) % 11)) for name, (values, valid) in columns.items()]
    for one, (values, valid) in zip(packing.packed(pieces), columns.values(), strict=True):
        _same(one, pack(values if values.dtype.kind == "f" else values.astype(np.int64), valid))


def test_numbers_of_128_bits_that_need_them_are_refused(packing: Packing) -> None:
    held = np.array([5, -6, 2**63 - 1, -(2**63), 77])
    halves = np.stack([held, held >> 63], axis=1)
    beyond = halves.copy()
    beyond[4] = -1, 0  # 2^64 - 1
    there = np.arange(5) < 4
    first, second, third = packing.packed([Piece(halves, None), Piece(beyond, None), Piece(beyond, _bits(there, 3))])
    _same(first, pack(held))
    assert isinstance(second, NotFused)
    _same(third, pack(held, there))


def test_parts_are_joined_as_their_twins(packing: Packing) -> None:
    draws = np.random.default_rng(6)
    columns = _columns()
    for kind, many in (("int", 60), ("float", 10)):
        names = [name for name, (values, _) in columns.items() if (values.dtype == np.float64) == (kind == "float")]
        names = [name for name in names if columns[name][0].dtype != np.float32]
        for _ in range(many):
            chosen = [columns[str(name)] for name in draws.choice(names, draws.integers(2, 5))]
            parts = [pack(values if kind == "float" else values.astype(np.int64), valid) for values, valid in chosen]
            _same(packing.joined(parts), joined(parts))


def test_zones_end_where_they_do_for_the_twin(packing: Packing) -> None:
    rows = zones.ROWS + 5
    values = np.arange(rows, dtype=np.int32) % 1000
    values[zones.ROWS - 1], values[zones.ROWS] = -4, 5000
    there = np.arange(rows) % 3 > 0
    (made,) = packing.packed([Piece(values, _bits(there, 5))])
    _same(made, pack(values.astype(np.int64), there))


def _texts(packing: Packing, held: list[str | None], kind: type[np.signedinteger[Any]], first: int) -> PackedColumn:
    """A part of texts, as they are decoded."""
    encoded = [(each or "").encode() for each in held]
    ends = np.cumsum([0, *map(len, encoded)]).astype(kind)[1:]
    there = np.array([each is not None for each in held], bool)
    valid = None if there.all() else _bits(there, first)
    return packing.texts(np.frombuffer(b"".join(encoded), np.uint8), np.ascontiguousarray(ends), valid)


def test_texts_are_joined_as_their_twins(packing: Packing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "GROUP", 32)
    draws = np.random.default_rng(7)
    for number in range(60):
        some = ["", "a", "bc" * 20, *(["ä", "日本"] if number % 3 else []), *([None] if number % 2 else [])]
        held = [[some[place] for place in draws.integers(0, len(some), draws.integers(0, 200))] for _ in range(3)]
        kinds = np.int32, np.int64, np.int32
        parts = [_texts(packing, part, kind, 3) for part, kind in zip(held, kinds, strict=True)]
        if number % 4 == 0:
            parts[:2] = [packing.joined(parts[:2])]
        if number % 4 == 1:
            del parts[1:], held[1:]
        whole = packing.joined(parts)
        wanted = [each for part in held for each in part]
        encoded = [(each or "").encode() for each in wanted]
        there = np.array([each is not None for each in wanted], bool)
        ends = np.cumsum([0, *map(len, encoded)])[1:]
        twin = packed_texts(texts.texts_of(ends, np.frombuffer(b"".join(encoded), np.uint8)), len(wanted), there)
        assert (whole.form, whole.rows) == (twin.form, twin.rows)
        assert (whole.valid is None) == (twin.valid is None)
        assert whole.valid is None or np.array_equal(whole.valid, twin.valid)
        assert whole.texts is not None
        assert twin.texts is not None
        for name in ("ends", "starts", "data", "size", "ascii"):
            assert np.array_equal(getattr(whole.texts, name), getattr(twin.texts, name)), name


def test_texts_too_long_are_refused(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "GROUP", 32)
    packing = Packing(XP, lambda name, *given: None if name == "text_bytes" else launch(name, *given))
    part = packing.texts(np.zeros(5, np.uint8), np.array([5, 2**32]), None)
    assert part.texts is not None
    long = replace(part, texts=replace(part.texts, size=2**32))
    with pytest.raises(NotFused, match="4 GiB"):
        packing.joined([long, _texts(packing, ["a"] * 40, np.int32, 0)])


def test_texts_are_coded_as_by_their_twin(packing: Packing) -> None:
    draws = np.random.default_rng(8)
    for keys in (0, 1, 40):
        codes = draws.integers(0, 400, keys)
        valid = draws.random(300) > 0.3 if keys else np.zeros(300, bool)
        places = np.where(valid, draws.integers(0, max(keys, 1), 300), keys).astype(np.int32)
        made = packing.coded(Piece(places, _bits(valid, 1)), codes)
        _same(made, HostPieces().coded(Piece(places.astype(np.int64), valid), codes))


@pytest.mark.parametrize("kind", [*VALUES, "texts"])
def test_the_kernels_compile(kind: str, tmp_path: Path) -> None:
    made = nvrtc.compiled(source(kind), headers(), "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled == 0
