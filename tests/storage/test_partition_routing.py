"""Routing of batches finds for every row the partition that its key alone finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gpudb.catalog.partitions import Datum, PartitionBound, PartitionKey, PartitionTree
from gpudb.storage.partitions.routing import Level
from gpudb.types import INT4


def test_keys_of_many_columns_with_many_values_are_told_apart() -> None:
    """The combinations of five columns' 65536 values are more than 64 bits can count."""
    columns = 5
    low, middle, high = Datum(infinite=-1), Datum("30000"), Datum(infinite=1)
    bounds = [
        PartitionBound(1, lower=(low,) * columns, upper=(middle,) * columns),
        PartitionBound(1, lower=(middle,) * columns, upper=(high,) * columns),
    ]
    children = tuple(PartitionTree(number + 2, f"p{number}", bound) for number, bound in enumerate(bounds))
    fields = tuple(range(1, columns + 1))
    key = PartitionKey("r", tuple("abcde"))
    level = Level(PartitionTree(1, "p", None, key, fields, children), dict.fromkeys(fields, INT4))
    values = np.arange(1 << 16, dtype=np.int32)
    first = np.concatenate([values, values])
    others = np.concatenate([values, np.zeros_like(values)])
    found = level.find_all([pa.array(first), *[pa.array(others)] * (columns - 1)])
    expected = [level.find([one, other, other, other, other]) for one, other in zip(first, others, strict=True)]
    assert found.tolist() == expected
    assert set(expected) == {0, 1}
