"""Results of a kernel as a frame on the GPU equal those as a frame on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn, to_frame
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary

ROWS = 1000


def _lanes() -> list[ResultColumn]:
    rng = np.random.default_rng(3)
    small, valid = rng.integers(-100, 100, ROWS), rng.random(ROWS) < 0.7
    texts = Dictionary(pl.Series(["a", "", "xyz" * 40, "é"]))
    codes = rng.integers(0, 4, ROWS)
    kinds: list[pl.DataType] = [
        pl.Int8(),
        pl.Int16(),
        pl.Int32(),
        pl.Int64(),
        pl.Date(),
        pl.Datetime("us"),
        pl.Int128(),
    ]
    made = [ResultColumn(f"i{number}", kind, (small,)) for number, kind in enumerate(kinds)]
    made += [ResultColumn(f"n{number}", kind, (small,), valid) for number, kind in enumerate(kinds)]
    made += [ResultColumn("b", pl.Boolean(), (small > 0,)), ResultColumn("f", pl.Float64(), (rng.random(ROWS),), valid)]
    made += [
        ResultColumn("t", pl.String(), (codes,), None, texts),
        ResultColumn("u", pl.String(), (codes,), valid, texts),
    ]
    wide = rng.integers(0, 2**62, ROWS), rng.integers(-(2**62), 2**62, ROWS)
    made += [ResultColumn("w", pl.Int128(), wide), ResultColumn("v", pl.Int128(), (wide[1],), valid)]
    return made


def test_a_frame_has_every_lane() -> None:
    frame = to_frame(_lanes())
    assert frame.shape == (ROWS, len(_lanes()))
    wide = _lanes()[-2].parts
    assert frame["w"].to_list() == [int(low) + (int(high) << 32) for low, high in zip(*wide, strict=True)]


@pytest.mark.gpu
def test_frames_are_the_hosts() -> None:
    import cupy

    from gpudb.engine.gpu.cudf.backend import CudfBackend
    from gpudb.engine.gpu.cudf.kernel_results import ResultFrameBuilder

    def there(array: Any) -> Any:
        return None if array is None else cupy.asarray(array)

    frames = CudfBackend()
    lay = ResultFrameBuilder(frames)
    lanes = [replace(each, parts=tuple(map(there, each.parts)), valid=there(each.valid)) for each in _lanes()]
    held = lay(lanes)
    assert held is not None
    wanted = to_frame(_lanes())
    found = held.to_polars()
    for name in wanted.columns:
        assert found[name].to_list() == wanted[name].to_list(), name
    groups = frames.compute(held.lazy.group_by("u").agg(pl.col("i3").sum())).to_polars()
    assert dict(groups.rows()) == dict(wanted.group_by("u").agg(pl.col("i3").sum()).rows())
    # Keys of more than two words are converted on the host.
    assert lay([ResultColumn("x", pl.Int128(), (cupy.zeros(3, np.int64),) * 4)]) is None
