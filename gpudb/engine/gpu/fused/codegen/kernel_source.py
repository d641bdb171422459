"""Builds a kernel's source: blocks, variable names, parameters for constants, and a prologue before the row loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.ir.pipeline import Bounds, Expr, Lookup

Code = tuple[str, str | None]
"""C++ expressions of a value and of its validity (None: always valid)."""
Constant = tuple[str, int | float]
"""Type and value of a constant that is a kernel parameter."""


def c_type(bounds: Bounds) -> str:
    """Returns the C++ type of an integer within bounds, or of a float."""
    if bounds is None:
        return "double"
    size = max(-bounds[0] - 1, bounds[1])
    return "int" if size < 2**31 else "i64" if size < 2**63 else "i128"


def c_literal(value: int | float, kind: str) -> str:
    """Returns a C++ literal of a type."""
    if isinstance(value, float):
        if value != value or value in {float("inf"), float("-inf")}:
            bits = {"inf": "0x7ff0000000000000", "-inf": "0xfff0000000000000", "nan": "0x7ff8000000000000"}[str(value)]
            return f"__longlong_as_double({bits}LL)"
        return f"{value!r}" if "e" in repr(value) or "." in repr(value) else f"{value!r}.0"
    if kind == "double":
        return f"{float(value)!r}"
    if kind == "int" and value > -(2**31):
        return str(value)
    if abs(value) < 2**63:
        return f"{value}LL"
    high, low = abs(value) >> 64, abs(value) & (2**64 - 1)
    return f"({'-' if value < 0 else ''}(i128)((unsigned __int128){high}ULL << 64 | {low}ULL))"


class StatementWriter:
    """Emits statements, for rows of columns in packed `encodings`; constants that should not specialize the kernel are
    parameters.
    """

    def __init__(self, encodings: tuple[Encoding, ...]) -> None:
        self.lines: list[str] = []
        self.prologue: list[str] = []
        self.constants: list[Constant] = []
        self.encodings = encodings
        self._depth = 1
        self._memo: list[dict[Expr, Code]] = [{}]
        self._name_count = 0
        # By lookup: its step, the index of the row's match, its validity, and the first payload if it is already
        # loaded.
        self.matches: dict[int, tuple[Lookup, str, str | None, str | None]] = {}

    def emit(self, text: str) -> None:
        """Emits a line."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """Emits a block, whose variables are local."""
        self.emit(f"{head} {{" if head else "{")
        self._depth += 1
        self._memo.append({})
        yield
        self._memo.pop()
        self._depth -= 1
        self.emit("}")

    def new_name(self, prefix: str = "t") -> str:
        """Returns an unused variable name."""
        self._name_count += 1
        return f"{prefix}{self._name_count}"

    def parameter(self, value: int | float, kind: str) -> str:
        """Adds a parameter for a constant and returns its name; 128 bits are passed as two halves."""
        if kind == "i128":
            assert isinstance(value, int)
            high, low = self.parameter(value >> 64, "i64"), self.parameter(value & (2**64 - 1), "u64")
            return f"((i128)((unsigned __int128)(u64){high} << 64 | {low}))"
        self.constants.append((kind, value))
        return f"c{len(self.constants) - 1}"

    def variable(self, kind: str, text: str) -> str:
        """Emits a new variable for a value and returns its name."""
        made = self.new_name()
        self.emit(f"const {kind} {made} = {text};")
        return made

    def precompute(self, kind: str, text: str) -> str:
        """Emits a new variable that is computed once, before the row loop."""
        made = self.new_name("once")
        self.prologue.append(f"const {kind} {made} = {f'hidden({text})' if kind == 'u32' else text};")
        return made

    def fail(self, condition: str, code: int) -> None:
        """Emits an error of the row where a condition is true."""
        self.emit(f"if ({condition}) error = max(error, {code});")
