"""Portals: prepared statements with parameter values, and their rows once they run."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from gpudb.errors import SqlError
from gpudb.server.wire.messages import Bind, FunctionCall, ProtocolViolation
from gpudb.server.wire.results import ResultRows, check_format, expand_formats
from gpudb.session.results import Prepared
from gpudb.types import SqlType, widen
from gpudb.values.binary import decode_utf8, parse_binary
from gpudb.values.text import parse_text


@dataclass(slots=True)
class Portal:
    """One portal; `formats` are those of its result, `done` says whether it has run."""

    prepared: Prepared
    parameters: tuple[object, ...]
    formats: tuple[int, ...]
    rows: ResultRows | None = None
    done: bool = False


def read_values(message: Bind, prepared: Prepared, zone: str) -> tuple[object, ...]:
    """Returns the values of a statement's parameters. 08P01 for wrong counts, 22xxx for wrong values."""
    expected, supplied = len(prepared.parameters), len(message.values)
    if supplied != expected:
        text = f"bind message supplies {supplied} parameters, but prepared statement"
        raise ProtocolViolation(f'{text} "{message.statement}" requires {expected}')
    return tuple(parse_parameters(message, prepared, zone))


class Portals:
    """The portals of one client by name; '' is the unnamed one, which a new one replaces."""

    def __init__(self) -> None:
        self._portals: dict[str, Portal] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._portals

    def bind(self, message: Bind, prepared: Prepared, zone: str) -> None:
        """Creates a portal. 42P03 if its name is taken, 08P01 for wrong counts, 22xxx for wrong values."""
        values = read_values(message, prepared, zone)
        if message.portal and message.portal in self._portals:
            raise SqlError.of("duplicate_cursor", f'cursor "{message.portal}" already exists')
        self.drop(message.portal)
        formats = expand_formats(message.result_formats, len(prepared.columns or ()))
        self._portals[message.portal] = Portal(prepared, values, formats)

    def find(self, name: str) -> Portal:
        """Returns the portal with a name; 34000."""
        portal = self._portals.get(name)
        if portal is None:
            raise SqlError.of("invalid_cursor_name", f'portal "{name}" does not exist')
        return portal

    def drop(self, name: str) -> None:
        """Closes a portal, if there is one with that name."""
        portal = self._portals.pop(name, None)
        if portal is not None and portal.rows is not None:
            portal.rows.close()

    def clear(self) -> None:
        """Closes all portals."""
        portals, self._portals = self._portals, {}
        for portal in portals.values():
            if portal.rows is not None:
                portal.rows.close()


_NUMBERS = {"int2": "!h", "int4": "!i", "int8": "!q", "float8": "!d"}
_TEXTS = frozenset({"text", "varchar"})


def _find_reader(kind: SqlType, format_code: int) -> Callable[[bytes], object] | None:
    """Returns what reads the values of a plain type in a format; None for any other, which takes longer."""
    if kind.name in _TEXTS and kind.modifier == -1 and kind.domain is None and format_code in (0, 1):
        return _read_text
    if kind.name in _NUMBERS and kind.domain is None and format_code == 1:
        unpack = struct.Struct(_NUMBERS[kind.name]).unpack
        return lambda value: unpack(value)[0]
    return None


def _read_text(value: bytes) -> str:
    if b"\0" in value:
        raise struct.error
    return value.decode()


def parse_parameters(message: Bind | FunctionCall, prepared: Prepared, zone: str) -> tuple[object, ...]:
    """Parses the parameters' values from text or binary form; `zone` is the session's TimeZone."""
    if not message.values:
        return ()
    codes = message.formats
    formats = codes if len(codes) > 1 else (codes or (0,)) * len(message.values)
    if formats not in prepared.readers:
        found = [_find_reader(kind, format_code) for kind, format_code in zip(prepared.parameters, formats)]
        prepared.readers[formats] = () if None in found else tuple(filter(None, found))
    if plain := prepared.readers[formats]:
        with contextlib.suppress(struct.error, UnicodeDecodeError):  # what follows says what is wrong
            return tuple([None if value is None else read(value) for read, value in zip(plain, message.values)])
    values: list[object] = []
    for value, format_code, type_ in zip(message.values, formats, prepared.parameters):
        check_format(format_code)
        if value is None:
            values.append(None)
        elif format_code:
            values.append(parse_binary(widen(type_), value))
        else:
            values.append(parse_text(widen(type_), decode_utf8(value), zone))
    return tuple(values)
