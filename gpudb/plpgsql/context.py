"""Where an error happened: the lines of CONTEXT, one for each call of a routine, from Python's own frames.

Compiled bodies are Python code whose lines stand for statements, so a running body keeps no account of its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from weakref import finalize

from gpudb.errors import GpudbError


@dataclass(frozen=True, slots=True)
class Places:
    """What the lines of a compiled body stand for: `signature` names the routine, `lines` its places by Python line."""

    signature: str
    lines: tuple[str, ...]

    def show(self, line: int) -> str:
        """Returns the line of CONTEXT for a line of Python."""
        place = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return f"PL/pgSQL function {self.signature}{place and ' ' + place}"


class _Registry:
    """Codes whose frames have a line of CONTEXT."""

    def __init__(self) -> None:
        # By identity: the same body has equal code in several sessions, of which one may end
        self.bodies: dict[int, Places] = {}
        self.describers: dict[CodeType, Callable[[FrameType], str | None]] = {}


_CODES = _Registry()


def register_body(owner: object, code: CodeType, places: Places) -> None:
    """Registers the code of a compiled body for as long as its `owner` lives."""
    _CODES.bodies[id(code)] = places
    finalize(owner, _CODES.bodies.pop, id(code), None)


def register_frame(code: CodeType, describe: Callable[[FrameType], str | None]) -> None:
    """Registers a Python function whose frames `describe` describes: a statement or a routine that runs."""
    _CODES.describers[code] = describe


def add_context(error: GpudbError, traceback: TracebackType | None) -> None:
    """Adds the lines of all calls around an error, once."""
    if error.has_calls:
        return
    error.has_calls = True
    error.position = None  # it is one in the text of a body
    frames: list[tuple[FrameType, int]] = []
    outer = traceback.tb_frame.f_back if traceback is not None else sys._getframe(1)
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    lines = [error.where] if error.where else []
    lines += [shown for frame, line in reversed(frames) if (shown := _describe(frame, line))]
    lines += _outer_lines(outer)
    error.where = "\n".join(lines) or None


def current_context() -> str:
    """Returns the lines of CONTEXT of the place that calls, for PG_CONTEXT."""
    return "\n".join(_outer_lines(sys._getframe(1)))


def _outer_lines(frame: FrameType | None) -> list[str]:
    return list(_iter_outer(frame))


def _iter_outer(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        if shown := _describe(frame, frame.f_lineno):
            yield shown
        frame = frame.f_back


def _describe(frame: FrameType, line: int) -> str | None:
    code = frame.f_code
    places = _CODES.bodies.get(id(code))
    if places is not None:
        return places.show(line)
    describe = _CODES.describers.get(code)
    return describe(frame) if describe is not None else None
