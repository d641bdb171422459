"""Settings of the storage: where tables, their catalog and temporary files lie, and which snapshots are kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpudb.config.fields import Bytes, Matching, Within


@dataclass(frozen=True)
class StorageSettings:
    """What `storage.store.Store` reads."""

    catalog: Annotated[str, Matching(r"^postgres(ql)?://")] | None = None
    """URL of a database of PostgreSQL (`postgresql://user@host/database`) that has the catalog, so that any number of
    servers, its coordinators, may have `data_dir` open at once. The default is a file in `data_dir`, and one server."""
    catalog_lease: Annotated[float, Within(ge=1, le=300)] = 6.0
    """With a `catalog`: a coordinator that PostgreSQL has not heard of for so many seconds counts as gone: its open
    transactions fail, and another one leads."""
    read_only: bool = False
    """Refuses every write (25006), and neither compacts nor removes anything: for servers that only read."""
    tables_url: str | None = None
    """Prefix of an object storage (`s3://bucket/prefix`, `gs://…`, `az://…`) where the tables' files lie. A new
    `data_dir` takes it and remembers it; it keeps the catalog, and copies of the files that were read or written."""
    spill_dir: Path | None = None
    """Directory of this server alone for temporary files of operations that exceed memory, such as a local disk's when
    `data_dir` is on the network. The default is in `data_dir`."""
    snapshot_retention: Annotated[float, Within(ge=0)] = 3600.0
    """Default of `gpudb.snapshot_retention`, in seconds: how long `FOR SYSTEM_TIME AS OF` finds what a later commit has
    replaced. 0 keeps nothing."""
    snapshot_limit: Annotated[int, Within(ge=1, le=10_000)] = 100
    """Maximum number of kept snapshots of a table; older ones are discarded before their time."""
    load_processes: Annotated[int, Within(ge=0, le=1024)] | None = None
    """Processes that read and write the rows of COPY FROM and `load_data`, for all loads together. The default is one
    for each processor, 32 at most, and one for each 512 MiB of memory at most; with 0, or with one processor, the
    server does it itself."""
    load_processes_after: Bytes = 8 << 20
    """Bytes of a load that the server reads itself before its processes read the rest, so that small loads do not wait
    for them."""
