"""Portals: prepared statements with parameter values, and their rows once they run."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.errors import SqlError
from gpudb.server.wire.messages import Bind, ProtocolViolation
from gpudb.server.wire.results import ResultRows, check_format, expand_formats
from gpudb.session.results import Prepared
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


class Portals:
    """The portals of one client by name; '' is the unnamed one, which a new one replaces."""

    def __init__(self) -> None:
        self._portals: dict[str, Portal] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._portals

    def bind(self, message: Bind, prepared: Prepared, zone: str) -> None:
        """Creates a portal. 42P03 if its name is taken, 08P01 for wrong counts, 22xxx for wrong values."""
        expected, supplied = len(prepared.parameters), len(message.values)
        if supplied != expected:
            text = f"bind message supplies {supplied} parameters, but prepared statement"
            raise ProtocolViolation(f'{text} "{message.statement}" requires {expected}')
        if message.portal and message.portal in self._portals:
            raise SqlError.of("duplicate_cursor", f'cursor "{message.portal}" already exists')
        self.drop(message.portal)
        formats = expand_formats(message.result_formats, len(prepared.columns or ()))
        self._portals[message.portal] = Portal(prepared, parse_parameters(message, prepared, zone), formats)

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


def parse_parameters(message: Bind, prepared: Prepared, zone: str) -> tuple[object, ...]:
    """Parses the parameters' values from text or binary form; `zone` is the session's TimeZone."""
    if not message.values:
        return ()
    codes = message.formats
    formats = codes if len(codes) > 1 else (codes or (0,)) * len(message.values)
    values: list[object] = []
    for value, format_code, type_ in zip(message.values, formats, prepared.parameters):
        check_format(format_code)
        if value is None:
            values.append(None)
        elif format_code:
            values.append(parse_binary(type_, value))
        else:
            values.append(parse_text(type_, decode_utf8(value), zone))
    return tuple(values)
