"""asv: Arrow batches to PostgreSQL's text and binary forms, a type at a time."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

ROWS = 100_000


class Encode:
    """Rows a call: ROWS."""

    params = ("int8", "float8", "numeric", "text", "timestamp", "date", "bool")
    param_names = ("type",)

    def setup(self, name: str) -> None:
        """A column of ROWS values, every tenth NULL."""
        import numpy as np
        import pyarrow as pa

        from gpudb.types import SqlType, numeric

        rng = np.random.default_rng(1)
        numbers = rng.integers(0, 10**9, ROWS)
        self.type: Any = numeric(12, 2) if name == "numeric" else SqlType(name)
        make: dict[str, Callable[[int], object]] = {
            "float8": lambda n: n / 7,
            "numeric": lambda n: Decimal(n) / 100,
            "text": lambda n: f"name {n}",
            "bool": lambda n: n % 2 == 0,
            "date": lambda n: n % 20_000,
        }
        made = make.get(name, lambda n: n)
        values = [None if n % 10 == 0 else made(n) for n in numbers.tolist()]
        self.column = pa.array(values, self.type.arrow)

    def time_text(self, name: str) -> None:
        """What DataRow and COPY carry as text."""
        from gpudb.values.columns import text_column

        text_column(self.type, self.column)

    def time_binary(self, name: str) -> None:
        """The same as binary."""
        from gpudb.values.columns_binary import binary_column

        binary_column(self.type, self.column)
