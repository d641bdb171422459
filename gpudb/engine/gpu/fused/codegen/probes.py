"""Emits lookups as CUDA C++: for all rows of a thread together, or row by row where keys repeat."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.kernel_source import c_type
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Filter, Lookup, Pipeline
from gpudb.engine.gpu.fused.numpy_backend.hashing import bitmap_bytes

BITMAPS = 180 * 1024
"""Bytes of a block's shared memory that lookups' bitmaps may use."""
_ROLLED = "#pragma unroll 1"
"""Each of a thread's rows has the loop over its matches; unrolling would compile it several times for each."""
Taken = list[tuple[str, str, tuple[str, ...]]]
"""Parameters: type, name, and the key of the argument that `launch` passes."""


def alone(step: Filter | Lookup) -> bool:
    """Whether a step runs row by row, since a row can have several matches, or its match has to fulfil a condition."""
    return isinstance(step, Lookup) and (not step.unique or step.condition is not None)


def parameters(step: Lookup) -> Taken:
    """Returns the parameters for a lookup's arrays, in the order of `lookup_tables.build`."""
    n = step.number
    found: Taken = []
    places = iter(range(len(step.payloads) + 2))

    def array(kind: str, label: str) -> None:
        found.append((f"const {kind}* __restrict__", label, ("array", str(n), str(next(places)))))

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


class Probes:
    """Emits the lookups of a pipeline whose threads have `v` rows each.

    `together` are the steps that run for all rows of a thread; with `few`, they leave few rows, which are processed one
    by one. `near` are the first lookups whose bitmaps fit into every block's shared memory; `bytes` is their size
    there. Few rows' matches are `kept` in registers, or probed again.
    """

    def __init__(self, pipeline: Pipeline, out: Emitter, v: int, *, together: bool, kept: bool) -> None:
        self._out, self._v = out, v
        self.kept = kept
        steps = pipeline.steps
        first = next((place for place, step in enumerate(steps) if alone(step)), len(steps))
        together = together or any(form.text for form in pipeline.columns)
        few = None if together or pipeline.few is None or pipeline.few > first else pipeline.few
        self.few = few is not None
        first = first if few is None else few
        self.together = list(steps[:first])
        self.near: list[Lookup] = []
        self.bytes = 0
        for step in self.together:
            if isinstance(step, Lookup) and step.presence:
                size = bitmap_bytes(prod(step.sizes) + 1)
                if self.bytes + size <= BITMAPS:
                    self.near.append(step)
                    self.bytes += size

    def copy(self, first: int) -> None:
        """Emits the copies of bitmaps into shared memory, from byte `first` on."""
        for step in self.near:
            n, size = step.number, bitmap_bytes(prod(step.sizes) + 1)
            place = self._out.given(first, "int")
            self._out.line(f"const u32 near{n} = hidden({place});")
            words = self._out.given(size // 4, "int")
            self._out.line(f"copy_words((u32*)((u8*)shared + near{n}), (const u32*)z{n}, {words});")
            first += size

    def _index(self, step: Lookup) -> tuple[str, str, str]:
        """Emits the keys combined to one integer, its type, and the condition that each is in range ("" for always)."""
        out = self._out
        terms, inside = "", []
        kind = "u32" if prod(step.sizes) < 2**32 else "u64"
        for key, low, size in zip(step.keys, step.lows, step.sizes, strict=True):
            narrow = _is_narrow(key, low, size)
            held = "u32" if narrow else "u64"
            text, valid = out.distance(key, low, held)
            distance = out.kept(held, text)
            count = out.given(size, held)
            inside.append(f"({distance} < {count})")
            if valid is not None:
                inside.append(valid)
            terms = f"({kind}){distance}" if not terms else f"({terms}) * ({kind}){count} + ({kind}){distance}"
        return terms, kind, " & ".join(inside)

    def _place(self, step: Lookup) -> str:
        """Emits a row's index in a direct table; the last entry, which never matches, for keys out of range."""
        out = self._out
        nobody = out.given(prod(step.sizes), "u32")
        if len(step.keys) > 1:
            index, _, inside = self._index(step)
            return f"{inside} ? {index} : {nobody}"
        (key,), (low,), (size,) = step.keys, step.lows, step.sizes
        narrow = _is_narrow(key, low, size)
        distance, valid = out.distance(key, low, "u32" if narrow else "u64")
        place = f"min({distance}, {nobody})" if narrow else f"(u32)min({distance}, (u64){nobody})"
        return place if valid is None else f"{valid} ? {place} : {nobody}"

    def all_rows(self, step: Lookup, *, first: bool) -> None:
        """Emits a lookup for all rows of the thread: first all loads, then their evaluation.

        Before the `first` step all rows exist, except at the table's end.
        """
        out, n, v = self._out, step.number, self._v
        biased = not step.hashed and not step.presence
        near = step in self.near
        out.line(f"i64 p{n}[{v}];" if step.hashed else f"u32 p{n}[{v}];")
        if not step.hashed:
            out.line(f"{'u64' if biased and step.payloads[0] == 8 else 'u32'} r{n}[{v}];")
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            if step.hashed:
                index, _, inside = self._index(step)
                out.line(f"p{n}[v] = {inside} & (bool)(alive >> v & 1u) ? probe(h{n}, mask{n}, (i64)({index})) : -1;")
            else:
                out.line(f"p{n}[v] = {self._place(step)};")
                read = f"__ldg(a{n}_0 + p{n}[v])" if biased else f"__ldg((const u32*)z{n} + (p{n}[v] >> 5))"
                if near:
                    read = f"shared_word(shared, near{n}, p{n}[v])"
                out.line(f"r{n}[v] = {read};" if first else f"r{n}[v] = 0; if (alive & 1u << v) r{n}[v] = {read};")
        out.line(f"u32 hit{n} = 0;")
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            if step.hashed:
                out.line(f"hit{n} = pushed(hit{n}, p{n}[v] >= 0);")
                if step.kind == "left":
                    out.line(f"p{n}[v] = max(p{n}[v], 0ll);")
            elif biased:
                wide = step.payloads[0] == 8
                out.line(f"hit{n} = pushed(hit{n}, {f'r{n}[v] != 0' if wide else f'min(r{n}[v], 1u)'});")
            else:
                out.line(f"hit{n} = pushed(hit{n}, r{n}[v] >> (p{n}[v] & 31));")
        out.line(f"hit{n} >>= {32 - v};")
        if step.kind != "left":
            out.line(f"alive &= {'~' if step.kind == 'anti' else ''}hit{n};")
        hit = f"(hit{n} >> v & 1u)" if step.kind == "left" else None
        out.partners[n] = step, f"p{n}[v]", hit, f"r{n}[v]" if biased else None

    def again(self, step: Lookup, at: str) -> None:
        """Emits the match, found before, of the thread's row number `at`.

        The row is probed again, which saves registers for the indexes of all rows, unless these are kept.
        """
        out, n = self._out, step.number
        place, first = f"place{n}", None
        if self.kept:
            out.line(f"const {'i64' if step.hashed else 'u32'} {place} = picked(p{n}, {at});")
            if not step.hashed and not step.presence:
                first = out.kept("u64", f"a{n}_0[{place}]")
        elif step.hashed:
            index, *_ = self._index(step)
            out.line(f"const i64 {place} = max(probe(h{n}, mask{n}, (i64)({index})), 0ll);")
        else:
            out.line(f"const u32 {place} = {self._place(step)};")
            if not step.presence:
                first = out.kept("u64", f"a{n}_0[{place}]")
        out.partners[n] = step, place, f"(hit{n} >> {at} & 1u)" if step.kind == "left" else None, first

    def one_row(self, step: Lookup, rest: Callable[[], None]) -> None:
        """Emits a lookup for one row; `rest` emits the processing of each match."""
        out, n = self._out, step.number
        place, found = f"y{n}", f"e{n}"
        if step.hashed:
            index, _, inside = self._index(step)
            out.line(f"const i64 {place} = {inside} ? probe(h{n}, mask{n}, (i64)({index})) : -1;")
            out.line(f"const bool {found} = {place} >= 0;")
        elif step.unique:
            out.line(f"const u32 {place} = {self._place(step)};")
        else:
            index, _, inside = self._index(step)
            out.line(f"const bool {found} = {inside};")
            out.line(f"const u32 {place} = {found} ? (u32)({index}) : 0u;")
        if not step.unique:
            self._partners(step, place, found, rest)
            return
        first = None
        if step.presence:
            out.line(f"const bool {found} = z{n}[{place} >> 3] >> ({place} & 7) & 1;")
        elif not step.hashed:
            first = f"first{n}"
            out.line(f"const u64 {first} = a{n}_0[{place}];")
            out.line(f"const bool {found} = {first} != 0;")
        if step.condition is not None and step.kind == "left":
            where = f"max({place}, 0ll)" if step.hashed else place
            out.line(f"bool hit{n} = {found};")
            out.partners[n] = step, where, None, first
            with out.block(f"if (hit{n})"):
                true = out.true(step.condition)
                out.line(f"hit{n} = {true};")
            out.partners[n] = step, where, f"hit{n}", first
            rest()
            return
        if step.condition is not None:
            out.partners[n] = step, f"max({place}, 0ll)" if step.hashed else place, None, first
            self._asked(step, f"if ({found})", "", rest)
            return
        hit = None
        if step.kind == "left":
            hit = found
            if step.hashed:
                place = f"max({place}, 0ll)"
        else:
            out.line(f"if ({found if step.kind == 'anti' else '!' + found}) continue;")
        out.partners[n] = step, place, hit, first
        rest()

    def _partners(self, step: Lookup, place: str, here: str, rest: Callable[[], None]) -> None:
        out, n = self._out, step.number
        out.line(f"const u32 begin{n} = {here} ? s{n}[{place}] : 0u, end{n} = {here} ? s{n}[{place} + 1] : 0u;")
        last, hit = f"end{n}", None
        if step.kind == "left" and step.condition is not None:
            self._partners_or_none(step, rest)
            return
        if step.kind == "left":
            hit, last = f"hit{n}", f"last{n}"
            out.line(f"const bool {hit} = begin{n} < end{n};")
            out.line(f"const u32 last{n} = {hit} ? end{n} : begin{n} + 1;")
        out.partners[n] = step, f"g{n}", hit, None
        each = f"for (u32 g{n} = begin{n}; g{n} < {last}; ++g{n})"
        if step.condition is not None:
            self._asked(step, each, " break;", rest)
            return
        out.line(_ROLLED)
        with out.block(each):
            rest()

    def _partners_or_none(self, step: Lookup, rest: Callable[[], None]) -> None:
        """Emits a left lookup's matches for which its condition is true; without one the row with NULLs."""
        out, n = self._out, step.number
        assert step.condition is not None
        hit, met = f"hit{n}", f"met{n}"
        out.line(f"bool {met} = false;")
        out.line(_ROLLED)
        # One iteration more than matches.
        with out.block(f"for (u32 g{n} = begin{n}; g{n} <= end{n}; ++g{n})"):
            out.line(f"const bool {hit} = g{n} < end{n};")
            out.line(f"if (!{hit} && {met}) break;")
            out.line(f"const u32 at{n}_partner = {hit} ? g{n} : 0u;")
            out.partners[n] = step, f"at{n}_partner", None, None
            with out.block(f"if ({hit})"):
                true = out.true(step.condition)
                out.line(f"if (!({true})) continue;")
                out.line(f"{met} = true;")
            out.partners[n] = step, f"at{n}_partner", hit, None
            rest()

    def _asked(self, step: Lookup, each: str, leave: str, rest: Callable[[], None]) -> None:
        """Emits a semi or anti lookup with a condition on its matches."""
        out, met = self._out, f"met{step.number}"
        assert step.condition is not None
        out.line(f"bool {met} = false;")
        if leave:
            out.line(_ROLLED)
        with out.block(each):
            true = out.true(step.condition)
            with out.block(f"if ({true})"):
                out.line(f"{met} = true;{leave}")
        out.line(f"if ({met if step.kind == 'anti' else '!' + met}) continue;")
        rest()


def _is_narrow(key: Expr, low: int, size: int) -> bool:
    """Whether a key's distance from the build side's least key fits 32 bits.

    Modulo 2³² no distance equals another only if the table's keys have 32 bits as well, and do not span all of them.
    """
    return c_type(key.bounds) == "int" and low >= -(2**31) and low + size <= 2**31 and size < 2**32
