"""Buckets are Iceberg's: pyiceberg's own transform returns the same number for every value of every type."""

from __future__ import annotations

import random
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    UUIDType,
)

from gpudb.catalog.distribution import BUCKETS, NULLS
from gpudb.storage.iceberg.buckets import compute_buckets, split_by_bucket
from gpudb.types import INT4, SqlType

_random = random.Random(7)
_INTS = [None, 0, 1, -1, 34, 2**31 - 1, -(2**31), *(_random.randrange(-(2**31), 2**31) for _ in range(200))]
_LONGS = [*_INTS, 2**62, -(2**63)]
_TEXTS = ["", "a", "ab", "abc", "abcd", "iceberg", "ßüµ", None, *("é€bc"[: n % 5] * (n % 9) for n in range(200))]
_CENTS = [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -256, 10**17, -(10**17), 10**25]
_PLAIN: tuple[tuple[str, IcebergType, pa.DataType, list[Any]], ...] = (
    ("int2", IntegerType(), pa.int32(), _INTS),
    ("int4", IntegerType(), pa.int32(), _INTS),
    ("int8", LongType(), pa.int64(), _LONGS),
    ("text", StringType(), pa.string(), _TEXTS),
    ("date", DateType(), pa.date32(), _INTS),
    ("timestamp", TimestampType(), pa.timestamp("us"), _LONGS),
)


@pytest.mark.parametrize("case", _PLAIN, ids=lambda case: case[0])
def test_values(case: tuple[str, IcebergType, pa.DataType, list[Any]]) -> None:
    name, kind, arrow, values = case
    bucket: Any = BucketTransform(BUCKETS).transform(kind)
    wanted = [NULLS if value is None else bucket(value) for value in values]
    stored = pa.array(values, pa.int64() if name == "timestamp" else pa.int32() if name == "date" else arrow).view(
        arrow
    )
    assert compute_buckets(stored, SqlType(name)).tolist() == wanted
    assert compute_buckets(stored.slice(5), SqlType(name)).tolist() == wanted[5:]


def test_decimals_and_uuids() -> None:
    numbers = [None, *(Decimal(cents).scaleb(-2) for cents in _CENTS)]
    bucket: Any = BucketTransform(BUCKETS).transform(DecimalType(38, 2))
    wanted = [NULLS if value is None else bucket(value) for value in numbers]
    kind = SqlType("numeric", ((38 << 16) | 2) + 4)
    assert compute_buckets(pa.array(numbers, pa.decimal128(38, 2)), kind).tolist() == wanted
    ids = [uuid.UUID(int=_random.getrandbits(128)) for _ in range(50)]
    bucket = BucketTransform(BUCKETS).transform(UUIDType())
    stored = pa.array([each.bytes for each in ids], pa.uuid())
    assert compute_buckets(stored, SqlType("uuid")).tolist() == [bucket(each) for each in ids]


def test_a_batch_is_parted_by_bucket() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"a": [5, None, 7, 5], "b": [0, 1, 2, 3]}, schema=pa.schema({"a": "i4", "b": "i4"})
    )
    parts = split_by_bucket(batch, 0, INT4)
    assert sorted(row for _, part in parts for row in part["b"].to_pylist()) == [0, 1, 2, 3]
    assert next(part["b"].to_pylist() for number, part in parts if number == NULLS) == [1]
    assert [0, 3] in [part["b"].to_pylist() for _, part in parts]
