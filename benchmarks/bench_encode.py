"""asv: encoding of Arrow batches in PostgreSQL's text and binary formats, by type."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

ROWS = 100_000


class Encode:
    """Rows per call: ROWS."""

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
        """Text format of DataRow and COPY."""
        from gpudb.values.text_columns import format_text_column

        format_text_column(self.type, self.column)

    def time_binary(self, name: str) -> None:
        """The same in binary format."""
        from gpudb.values.binary_columns import encode_binary_column

        encode_binary_column(self.type, self.column)


class Groups:
    """A result of some groups with a year, two short texts and a large sum, as DataRow messages."""

    params = (7, 100, 280, 800, 8000)
    param_names = ("rows",)

    def setup(self, rows: int) -> None:
        """The batch that a worker returns."""
        import numpy as np
        import pyarrow as pa

        from gpudb.types import SqlType

        numbers = np.arange(rows)
        self.types = tuple(map(SqlType, ("int4", "varchar", "varchar", "int8")))
        made = [
            numbers % 7 + 1992,
            [f"UNITED ST{n % 10}" for n in range(rows)],
            [f"MFGR#{n % 40}" for n in range(rows)],
        ]
        arrays = [
            pa.array(values, kind.arrow) for values, kind in zip([*made, numbers * 10**8], self.types, strict=True)
        ]
        self.batch = pa.RecordBatch.from_arrays(arrays, names=list("abcd"))

    def time_rows(self, rows: int) -> None:
        """Encodes all rows for the simple protocol."""
        from gpudb.server.wire.encode import encode_rows

        list(encode_rows(self.batch, self.types, (0,) * len(self.types)))
