"""The tables of the ASOF joins: trades and as many quotes of a month, in no order.

Symbols are 1000, accounts ROWS / 50. The price of a quote follows from its time, so that it does not matter which of
several quotes of one time is taken. Rows depend on ROWS alone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TABLES = ("trades", "quotes")
SYMBOLS, ROWS_PER_ACCOUNT = 1000, 50
SEED = 24
BLOCK = 1 << 22
"""Rows that are generated together from one random stream: a file."""
_THREADS = 16
_START, _MONTH = 1_767_225_600_000_000, 30 * 86_400_000_000
"""Microseconds: 1 January 2026, and thirty days."""
_PRICES = 10_007


def write(folder: Path, rows: int) -> None:
    """Writes FOLDER/TABLE/N.parquet."""
    with ThreadPoolExecutor(_THREADS) as pool:
        jobs = []
        for place, table in enumerate(TABLES):
            (folder / table).mkdir(parents=True, exist_ok=True)
            for block in range(-(-rows // BLOCK)):
                jobs.append(pool.submit(_write_block, folder / table, place, block, rows))
        for job in jobs:
            job.result()


def _write_block(folder: Path, place: int, block: int, rows: int) -> None:
    first = block * BLOCK
    count = min(BLOCK, rows - first)
    draws = np.random.Generator(np.random.SFC64([SEED, place, block]))
    times = _START + draws.integers(0, _MONTH, count)
    keys = {
        "symbol": draws.integers(0, SYMBOLS, count, dtype=np.int32),
        "account": draws.integers(0, max(rows // ROWS_PER_ACCOUNT, 1), count, dtype=np.int32),
        "t": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
    }
    if TABLES[place] == "trades":
        made = pa.table({"id": np.arange(first, first + count), **keys})
    else:
        made = pa.table({**keys, "price": (times % _PRICES).astype(np.int32)})
    pq.write_table(made, folder / f"{block:04d}.parquet", compression="zstd")
