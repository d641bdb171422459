"""Emits lookups as CUDA C++: for all rows of a thread together, or row by row where keys repeat."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.kernel_source import c_type
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Filter, Lookup, Pipeline
from gpudb.engine.gpu.fused.numpy_backend.hashing import bitmap_size

BITMAP_BYTES = 180 * 1024
"""Bytes of a block's shared memory that lookups' bitmaps may use."""
_ROLLED = "#pragma unroll 1"
"""Each of a thread's rows has the loop over its matches; unrolling would compile it several times for each."""
Parameters = list[tuple[str, str, tuple[str, ...]]]
"""Parameters: type, name, and the key of the argument that `launch` passes."""


def runs_row_by_row(step: Filter | Lookup) -> bool:
    """Whether a step runs row by row, since a row can have several matches, or its match has to fulfil a condition."""
    return isinstance(step, Lookup) and (not step.unique or step.condition is not None)


def lookup_parameters(step: Lookup) -> Parameters:
    """Returns the parameters for a lookup's arrays, in the order of `lookup_tables.build_lookup_table`."""
    n = step.number
    found: Parameters = []
    positions = iter(range(len(step.payloads) + 2))

    def array(kind: str, label: str) -> None:
        found.append((f"const {kind}* __restrict__", label, ("array", str(n), str(next(positions)))))

    if step.hashed:
        array("i64", f"h{n}")
        found.append(("const i64", f"mask{n}", ("mask", str(n))))
    if not step.unique:
        array("u32", f"s{n}")
    elif step.presence:
        array("u8", f"z{n}")
    for column, width in enumerate(step.payloads):
        array({0: "double", 1: "u8", 2: "u16", 4: "u32", 8: "u64"}[width], f"a{n}_{column}")
    return found


class LookupWriter:
    """Emits the lookups of a pipeline whose threads have `v` rows each.

    `joint_steps` are those that run for all rows of a thread; if `leaves_few`, they leave few rows, which are processed
    one by one. `shared_bitmaps` are the first lookups whose bitmaps fit into every block's shared memory;
    `bitmap_bytes` is their size there. Few rows' matches stay in registers if `keeps_matches`, or are probed again.
    """

    def __init__(self, pipeline: Pipeline, out: Emitter, v: int, *, together: bool, keep_matches: bool) -> None:
        self._out, self._v = out, v
        self.keeps_matches = keep_matches
        steps = pipeline.steps
        first = next((position for position, step in enumerate(steps) if runs_row_by_row(step)), len(steps))
        together = together or any(encoding.is_text for encoding in pipeline.columns)
        few = (
            None
            if together or pipeline.few_rows_after is None or pipeline.few_rows_after > first
            else pipeline.few_rows_after
        )
        self.leaves_few = few is not None
        first = first if few is None else few
        self.joint_steps = list(steps[:first])
        self.shared_bitmaps: list[Lookup] = []
        self.bitmap_bytes = 0
        for step in self.joint_steps:
            if isinstance(step, Lookup) and step.presence:
                size = bitmap_size(prod(step.sizes) + 1)
                if self.bitmap_bytes + size <= BITMAP_BYTES:
                    self.shared_bitmaps.append(step)
                    self.bitmap_bytes += size

    def copy_bitmaps(self, first: int) -> None:
        """Emits the copies of bitmaps into shared memory, from byte `first` on."""
        for step in self.shared_bitmaps:
            n, size = step.number, bitmap_size(prod(step.sizes) + 1)
            position = self._out.parameter(first, "int")
            self._out.emit(f"const u32 near{n} = hidden({position});")
            words = self._out.parameter(size // 4, "int")
            self._out.emit(f"copy_words((u32*)((u8*)shared + near{n}), (const u32*)z{n}, {words});")
            first += size

    def _combined_key(self, step: Lookup) -> tuple[str, str, str]:
        """Emits the keys combined to one integer, its type, and the condition that each is in range ("" for always)."""
        out = self._out
        terms, inside = "", []
        kind = "u32" if prod(step.sizes) < 2**32 else "u64"
        for key, low, size in zip(step.keys, step.lows, step.sizes, strict=True):
            narrow = _is_narrow(key, low, size)
            held = "u32" if narrow else "u64"
            text, valid = out.distance(key, low, held)
            distance = out.variable(held, text)
            count = out.parameter(size, held)
            inside.append(f"({distance} < {count})")
            if valid is not None:
                inside.append(valid)
            terms = f"({kind}){distance}" if not terms else f"({terms}) * ({kind}){count} + ({kind}){distance}"
        return terms, kind, " & ".join(inside)

    def _direct_index(self, step: Lookup) -> str:
        """Emits a row's index in a direct table; the last entry, which never matches, for keys out of range."""
        out = self._out
        nobody = out.parameter(prod(step.sizes), "u32")
        if len(step.keys) > 1:
            index, _, inside = self._combined_key(step)
            return f"{inside} ? {index} : {nobody}"
        (key,), (low,), (size,) = step.keys, step.lows, step.sizes
        narrow = _is_narrow(key, low, size)
        distance, valid = out.distance(key, low, "u32" if narrow else "u64")
        position = f"min({distance}, {nobody})" if narrow else f"(u32)min({distance}, (u64){nobody})"
        return position if valid is None else f"{valid} ? {position} : {nobody}"

    def probe_all_rows(self, step: Lookup, *, first: bool) -> None:
        """Emits a lookup for all rows of the thread: first all loads, then their evaluation.

        Before the `first` step all rows exist, except at the table's end.
        """
        out, n, v = self._out, step.number, self._v
        biased = not step.hashed and not step.presence
        near = step in self.shared_bitmaps
        out.emit(f"i64 p{n}[{v}];" if step.hashed else f"u32 p{n}[{v}];")
        if not step.hashed:
            out.emit(f"{'u64' if biased and step.payloads[0] == 8 else 'u32'} r{n}[{v}];")
        out.emit("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            if step.hashed:
                index, _, inside = self._combined_key(step)
                out.emit(f"p{n}[v] = {inside} & (bool)(alive >> v & 1u) ? probe(h{n}, mask{n}, (i64)({index})) : -1;")
            else:
                out.emit(f"p{n}[v] = {self._direct_index(step)};")
                read = f"__ldg(a{n}_0 + p{n}[v])" if biased else f"__ldg((const u32*)z{n} + (p{n}[v] >> 5))"
                if near:
                    read = f"shared_word(shared, near{n}, p{n}[v])"
                out.emit(f"r{n}[v] = {read};" if first else f"r{n}[v] = 0; if (alive & 1u << v) r{n}[v] = {read};")
        out.emit(f"u32 hit{n} = 0;")
        out.emit("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            if step.hashed:
                out.emit(f"hit{n} = pushed(hit{n}, p{n}[v] >= 0);")
                if step.kind == "left":
                    out.emit(f"p{n}[v] = max(p{n}[v], 0ll);")
            elif biased:
                wide = step.payloads[0] == 8
                out.emit(f"hit{n} = pushed(hit{n}, {f'r{n}[v] != 0' if wide else f'min(r{n}[v], 1u)'});")
            else:
                out.emit(f"hit{n} = pushed(hit{n}, r{n}[v] >> (p{n}[v] & 31));")
        out.emit(f"hit{n} >>= {32 - v};")
        if step.kind != "left":
            out.emit(f"alive &= {'~' if step.kind == 'anti' else ''}hit{n};")
        hit = f"(hit{n} >> v & 1u)" if step.kind == "left" else None
        out.matches[n] = step, f"p{n}[v]", hit, f"r{n}[v]" if biased else None

    def find_again(self, step: Lookup, at: str) -> None:
        """Emits the match, found before, of the thread's row number `at`.

        The row is probed again, which saves registers for the indexes of all rows, unless these are kept.
        """
        out, n = self._out, step.number
        position, first = f"place{n}", None
        if self.keeps_matches:
            out.emit(f"const {'i64' if step.hashed else 'u32'} {position} = picked(p{n}, {at});")
            if not step.hashed and not step.presence:
                first = out.variable("u64", f"a{n}_0[{position}]")
        elif step.hashed:
            index, *_ = self._combined_key(step)
            out.emit(f"const i64 {position} = max(probe(h{n}, mask{n}, (i64)({index})), 0ll);")
        else:
            out.emit(f"const u32 {position} = {self._direct_index(step)};")
            if not step.presence:
                first = out.variable("u64", f"a{n}_0[{position}]")
        out.matches[n] = step, position, f"(hit{n} >> {at} & 1u)" if step.kind == "left" else None, first

    def probe_row(self, step: Lookup, rest: Callable[[], None]) -> None:
        """Emits a lookup for one row; `rest` emits the processing of each match."""
        out, n = self._out, step.number
        position, found = f"y{n}", f"e{n}"
        if step.hashed:
            index, _, inside = self._combined_key(step)
            out.emit(f"const i64 {position} = {inside} ? probe(h{n}, mask{n}, (i64)({index})) : -1;")
            out.emit(f"const bool {found} = {position} >= 0;")
        elif step.unique:
            out.emit(f"const u32 {position} = {self._direct_index(step)};")
        else:
            index, _, inside = self._combined_key(step)
            out.emit(f"const bool {found} = {inside};")
            out.emit(f"const u32 {position} = {found} ? (u32)({index}) : 0u;")
        if not step.unique:
            self._each_match(step, position, found, rest)
            return
        first = None
        if step.presence:
            out.emit(f"const bool {found} = z{n}[{position} >> 3] >> ({position} & 7) & 1;")
        elif not step.hashed:
            first = f"first{n}"
            out.emit(f"const u64 {first} = a{n}_0[{position}];")
            out.emit(f"const bool {found} = {first} != 0;")
        if step.condition is not None and step.kind == "left":
            where = f"max({position}, 0ll)" if step.hashed else position
            out.emit(f"bool hit{n} = {found};")
            out.matches[n] = step, where, None, first
            with out.block(f"if (hit{n})"):
                true = out.condition(step.condition)
                out.emit(f"hit{n} = {true};")
            out.matches[n] = step, where, f"hit{n}", first
            rest()
            return
        if step.condition is not None:
            out.matches[n] = step, f"max({position}, 0ll)" if step.hashed else position, None, first
            self._conditional_match(step, f"if ({found})", "", rest)
            return
        hit = None
        if step.kind == "left":
            hit = found
            if step.hashed:
                position = f"max({position}, 0ll)"
        else:
            out.emit(f"if ({found if step.kind == 'anti' else '!' + found}) continue;")
        out.matches[n] = step, position, hit, first
        rest()

    def _each_match(self, step: Lookup, position: str, here: str, rest: Callable[[], None]) -> None:
        out, n = self._out, step.number
        out.emit(f"const u32 begin{n} = {here} ? s{n}[{position}] : 0u, end{n} = {here} ? s{n}[{position} + 1] : 0u;")
        last, hit = f"end{n}", None
        if step.kind == "left" and step.condition is not None:
            self._each_match_or_none(step, rest)
            return
        if step.kind == "left":
            hit, last = f"hit{n}", f"last{n}"
            out.emit(f"const bool {hit} = begin{n} < end{n};")
            out.emit(f"const u32 last{n} = {hit} ? end{n} : begin{n} + 1;")
        out.matches[n] = step, f"g{n}", hit, None
        each = f"for (u32 g{n} = begin{n}; g{n} < {last}; ++g{n})"
        if step.condition is not None:
            self._conditional_match(step, each, " break;", rest)
            return
        out.emit(_ROLLED)
        with out.block(each):
            rest()

    def _each_match_or_none(self, step: Lookup, rest: Callable[[], None]) -> None:
        """Emits a left lookup's matches for which its condition is true; without one the row with NULLs."""
        out, n = self._out, step.number
        assert step.condition is not None
        hit, met = f"hit{n}", f"met{n}"
        out.emit(f"bool {met} = false;")
        out.emit(_ROLLED)
        # One iteration more than matches.
        with out.block(f"for (u32 g{n} = begin{n}; g{n} <= end{n}; ++g{n})"):
            out.emit(f"const bool {hit} = g{n} < end{n};")
            out.emit(f"if (!{hit} && {met}) break;")
            out.emit(f"const u32 at{n}_partner = {hit} ? g{n} : 0u;")
            out.matches[n] = step, f"at{n}_partner", None, None
            with out.block(f"if ({hit})"):
                true = out.condition(step.condition)
                out.emit(f"if (!({true})) continue;")
                out.emit(f"{met} = true;")
            out.matches[n] = step, f"at{n}_partner", hit, None
            rest()

    def _conditional_match(self, step: Lookup, each: str, leave: str, rest: Callable[[], None]) -> None:
        """Emits a semi or anti lookup with a condition on its matches."""
        out, met = self._out, f"met{step.number}"
        assert step.condition is not None
        out.emit(f"bool {met} = false;")
        if leave:
            out.emit(_ROLLED)
        with out.block(each):
            true = out.condition(step.condition)
            with out.block(f"if ({true})"):
                out.emit(f"{met} = true;{leave}")
        out.emit(f"if ({met if step.kind == 'anti' else '!' + met}) continue;")
        rest()


def _is_narrow(key: Expr, low: int, size: int) -> bool:
    """Whether a key's distance from the build side's least key fits 32 bits.

    Modulo 2³² no distance equals another only if the table's keys have 32 bits as well, and do not span all of them.
    """
    return c_type(key.bounds) == "int" and low >= -(2**31) and low + size <= 2**31 and size < 2**32
