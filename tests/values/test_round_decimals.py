"""Decimals are rounded half away from zero, those too that Arrow divides wrongly."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest

from gpudb.values.arrow_columns import round_decimals

EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
WRONG_IN_ARROW = Decimal("9223372036752775501.0000000000000000")


@pytest.mark.parametrize("scale", range(16))
def test_a_value_that_arrow_divides_wrongly(scale: int) -> None:
    found = round_decimals(pa.array([WRONG_IN_ARROW, None], pa.decimal128(38, 16)), scale)
    assert found.to_pylist() == [WRONG_IN_ARROW, None]
    assert found.type.scale == scale


@pytest.mark.parametrize("seed", range(20))
def test_random_values(seed: int) -> None:
    draw = random.Random(seed)
    scale = draw.randint(1, 37)
    fewer = draw.randint(0, scale - 1)
    values = [Decimal(draw.randrange(10 ** draw.randint(1, 37)) * draw.choice((1, -1))) for _ in range(50)]
    values = [value.scaleb(-scale, EXACT) for value in values]
    found = round_decimals(pa.array(values, pa.decimal128(38, scale)), fewer)
    assert found.to_pylist() == [value.quantize(Decimal(1).scaleb(-fewer), context=EXACT) for value in values]
