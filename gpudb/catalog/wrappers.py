"""The foreign-data wrappers that gpudb has: what their extensions bring, and the options that each takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gpudb.errors import SqlError

Level = Literal["wrapper", "server", "user mapping", "table", "column"]
"""What an option belongs to."""

_COPY = ("format", "header", "delimiter", "quote", "escape", "null", "default", "encoding")
_COSTS = ("use_remote_estimate", "fdw_startup_cost", "fdw_tuple_cost", "fetch_size", "updatable", "truncatable")
_TEST_DISTANCE = 4


@dataclass(frozen=True, slots=True)
class KnownWrapper:
    """A wrapper: `options` by what they belong to. Tables that are `stored` have rows of their own.

    `files` are the options of a table that name files of the server; only members of pg_read_server_files set them.
    `server` is a server that the wrapper's extension creates.
    """

    name: str
    comment: str
    version: str = "1.0"
    options: Mapping[Level, tuple[str, ...]] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    stored: bool = False
    server: str | None = None

    @property
    def handler(self) -> str:
        """The name of its handler function."""
        return f"{self.name}_handler"

    @property
    def validator(self) -> str:
        """The name of its validator function."""
        return f"{self.name}_validator"


_KNOWN = (
    KnownWrapper(
        "file_fdw",
        "foreign-data wrapper for flat file access",
        options={"table": ("filename", "program", *_COPY), "column": ("force_not_null", "force_null")},
        files=("filename", "program"),
    ),
    KnownWrapper(
        "arrow_fdw",
        "foreign-data wrapper for Arrow files",
        options={"table": ("file", "files", "dir", "suffix", "parallel_workers")},
        files=("file", "files", "dir"),
        server="arrow_fdw",
    ),
    KnownWrapper(
        "parquet_fdw",
        "foreign-data wrapper for Parquet files",
        version="0.2",
        options={"table": ("filename", "sorted", "files_in_order", "use_mmap", "use_threads")},
        files=("filename",),
    ),
    KnownWrapper(
        "postgres_fdw",
        "foreign-data wrapper for remote PostgreSQL servers",
        version="1.1",
        options={
            "server": ("host", "hostaddr", "port", "dbname", "connect_timeout", "sslmode", "application_name", *_COSTS),
            "user mapping": ("user", "password"),
            "table": ("schema_name", "table_name", "use_remote_estimate", "fetch_size", "updatable", "truncatable"),
            "column": ("column_name",),
        },
    ),
    KnownWrapper(
        "gpu_manager_fdw",
        "tables in the memory of GPUs, as BrytlytDB declares them",
        options={"table": ("max_size", "index")},
        stored=True,
    ),
    KnownWrapper(
        "lake_fdw",
        "files and lake tables in folders and object storages",
        options={
            "server": (
                "scope",
                "endpoint",
                "region",
                "anonymous",
                "account_name",
                "connect_timeout",
                "request_timeout",
                "attempts",
            ),
            "user mapping": (
                "access_key_id",
                "secret_access_key",
                "session_token",
                "access_token",
                "account_name",
                "account_key",
                "sas_token",
            ),
            "table": ("address", "format", "hive_partitioning", "union_by_name", *_COPY[1:6]),
        },
        files=("address",),
        server="lake",
    ),
)
KNOWN: Mapping[str, KnownWrapper] = {each.name: each for each in _KNOWN}
"""By name; also the names of their extensions."""
_BY_HANDLER = {each.handler: each for each in _KNOWN}
_BY_VALIDATOR = {each.validator: each for each in _KNOWN}


def find_by_handler(handler: str | None) -> KnownWrapper | None:
    """Returns the wrapper of a handler function."""
    return None if handler is None else _BY_HANDLER.get(handler)


def find_by_validator(validator: str | None) -> KnownWrapper | None:
    """Returns the wrapper of a validator function."""
    return None if validator is None else _BY_VALIDATOR.get(validator)


def check_names(wrapper: KnownWrapper, level: Level, names: Sequence[str]) -> None:
    """HV00D for an option that a wrapper does not take there, with PostgreSQL's hint."""
    valid = wrapper.options.get(level, ())
    for name in names:
        if name not in valid:
            near = _find_nearest(name, valid)
            hint = f'Perhaps you meant the option "{near}".' if near is not None else None
            hint = hint if valid else "There are no valid options in this context."
            raise SqlError.of("fdw_invalid_option_name", f'invalid option "{name}"', hint=hint)


def _find_nearest(name: str, valid: Sequence[str]) -> str | None:
    """Returns the option whose name is most similar, as PostgreSQL's getClosestMatch does."""
    distances = [(_distance(name, each), each) for each in valid]
    best = min(distances, key=lambda pair: pair[0], default=None)
    if best is None or best[0] > _TEST_DISTANCE or best[0] > len(name) // 2:
        return None
    return best[1]


def _distance(one: str, other: str) -> int:
    """Returns the number of insertions, deletions and substitutions from one text to another."""
    row = list(range(len(other) + 1))
    for number, mine in enumerate(one, 1):
        before, row[0] = row[0], number
        for place, theirs in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (mine != theirs))
    return row[-1]
