"""Steps of loading without gpudb's tables: reading of files' bytes to a GPU, and decoding by libcudf.

All columns at once and one by one, with few and many of KvikIO's threads; and in the batches that workers read, some
concurrently, whose work the GPU does in one order, or by stream; each with the file's footer as workers have it, or
with the indexes of all its pages as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def decoding_steps(paths: Sequence[Path], columns: Sequence[str], threads: int) -> dict[str, Callable[[], None]]:
    """The steps by name."""
    import cupy
    import kvikio
    import kvikio.defaults
    import pylibcudf as plc
    from rmm.pylibrmm.stream import CudaStreamFlags, Stream

    from gpudb.catalog.tables import DataFile
    from gpudb.engine.gpu.cache.host_columns import split_rows
    from gpudb.engine.gpu.cudf.files.footers import read_footer
    from gpudb.engine.gpu.fused.packed_cache import read_batches

    rows = [pq.read_metadata(path).num_rows for path in paths]
    batch_rows = 1 << 25

    def read_to_device(count: int) -> None:
        kvikio.defaults.set("num_threads", count)
        for path in paths:
            size = path.stat().st_size
            room = cupy.empty(size, "u1")
            with kvikio.CuFile(path, "r") as file:
                file.pread(room, size).get()

    def decode(count: int, names: Sequence[Sequence[str]]) -> None:
        kvikio.defaults.set("num_threads", count)
        for path, length in zip(paths, rows, strict=True):
            for some in names:
                for first in range(0, length, batch_rows):
                    source = plc.io.SourceInfo([str(path)])
                    wanted = plc.io.parquet.ParquetReaderOptions.builder(source).column_names(list(some)).build()
                    wanted.set_skip_rows(first)
                    wanted.set_num_rows(min(batch_rows, length - first))
                    plc.io.parquet.read_parquet(wanted)
        cupy.cuda.runtime.deviceSynchronize()

    def read_with_indexes(path: str) -> list[Any]:
        found: list[Any] = plc.io.parquet_metadata.read_parquet_footers(plc.io.SourceInfo([path]))
        return found

    def read_plain_footer(path: str) -> list[Any]:
        return read_footer(path, Path(path).stat().st_mtime_ns)

    def decode_concurrently(streams: Sequence[Any], of: Callable[[str], list[Any]] = read_plain_footer) -> None:
        kvikio.defaults.set("num_threads", threads)
        step = read_batches.MAX_BYTES // (8 * len(columns))
        pieces = [
            (path, *piece)
            for path, length in zip(paths, rows, strict=True)
            for piece in split_rows(DataFile(str(path), length, path.stat().st_size), 0, length, step)
        ]
        heads = {path: of(str(path)) for path in paths}

        def read(place: int) -> None:
            path, first, count = pieces[place]
            source = plc.io.SourceInfo([str(path)])
            options = plc.io.parquet.ParquetReaderOptions.builder(source).column_names([*columns]).build()
            options.set_skip_rows(first)
            options.set_num_rows(count)
            stream = streams[place % len(streams)]
            plc.io.parquet.read_parquet(options, stream, parquet_metadatas=heads[path])

        with ThreadPoolExecutor(read_batches.CONCURRENT_READS) as pool:
            list(pool.map(read, range(len(pieces))))
        cupy.cuda.runtime.deviceSynchronize()

    apart = [Stream(flags=CudaStreamFlags.NON_BLOCKING) for _ in range(read_batches.CONCURRENT_READS)]
    each = [[name] for name in columns]
    decode(threads, [columns[:1]])  # the first read of a process initializes KvikIO
    return {
        f"to the GPU, {threads} threads": lambda: read_to_device(threads),
        "to the GPU, 4 threads": lambda: read_to_device(4),
        f"decoded, all columns, {threads} threads": lambda: decode(threads, [columns]),
        "decoded, all columns, 4 threads": lambda: decode(4, [columns]),
        f"decoded, one by one, {threads} threads": lambda: decode(threads, each),
        "decoded, one by one, 4 threads": lambda: decode(4, each),
        "decoded, pieces side by side": lambda: decode_concurrently([None]),
        "decoded, pieces side by side, with pages' indexes": lambda: decode_concurrently([None], read_with_indexes),
        "decoded, pieces side by side, on streams of their own": lambda: decode_concurrently(apart),
    }
