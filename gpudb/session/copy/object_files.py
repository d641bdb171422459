"""Objects as the files of COPY: read as they come, written once they are whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.execution.foreign_data.object_stores import find_store
from gpudb.storage.object_stores.addresses import Address, has_pattern, read_address
from gpudb.storage.object_stores.errors import convert_store_errors

_PIECE_BYTES = 8 << 20


class Input(Protocol):
    """A file or an object that is read from its start."""

    def read(self, size: int, /) -> bytes:
        """Returns the next bytes."""


class _Pieces:
    """An object; each read is a request."""

    def __init__(self, source: Input) -> None:
        self._source = source

    def read(self, size: int, /) -> bytes:
        """Returns the next bytes, more than are asked for."""
        return self._source.read(max(size, _PIECE_BYTES))


@contextmanager
def open_object_input(context: Context, name: str) -> Iterator[tuple[Input, int]]:
    """Opens the object of an address for the current role; yields it and its bytes. See `convert_store_errors`."""
    address = _read_one(name)
    store = find_store(context, address, context.session.user)
    (found,) = store.find(address)
    with convert_store_errors(str(address)), store.open_file(address) as file:
        yield _Pieces(file), found.size


@contextmanager
def stage_object(context: Context, name: str) -> Iterator[Path]:
    """Yields the path of a file, or of a folder, to be written, which is then uploaded to an address.

    A file's object appears whole. Those of a folder appear one after another; if one fails, all are removed again.
    58P02 for a folder at an address with objects below it.
    """
    address = _read_one(name.rstrip("/"))
    store = find_store(context, address, context.session.user)
    spill = context.session.database.store.spill
    spill.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=spill, prefix="copy-"))
    try:
        staged = folder / "rows"
        yield staged
        if staged.is_file():
            store.upload(staged, address)
            return
        if store.list_below(address):
            raise SqlError.of("duplicate_file", f'"{address}" exists and is no empty directory')
        files = sorted(each for each in staged.rglob("*") if each.is_file())
        sent: list[Address] = []
        try:
            for each in files:
                context.cancel.check()
                target = Address(address.scheme, f"{address.path}/{each.relative_to(staged).as_posix()}")
                sent.append(target)
                store.upload(each, target)
        except BaseException:
            store.remove(sent)
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_one(name: str) -> Address:
    address = read_address(name)
    if has_pattern(address.path):
        raise SqlError.of("feature_not_supported", f'COPY takes the address of one object, not the pattern "{name}"')
    if "/" not in address.path.strip("/"):
        raise SqlError.of("invalid_parameter_value", f'"{name}" is not the address of an object')
    return address
