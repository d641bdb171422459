"""A block of a segment's rows that passes through a pipeline with NumPy: filters, lookups, expressions.

Integers are int64, or Python's where their bounds need more bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpudb.analytics.trees.evaluation import score_rows
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.ir.pipeline import (
    Arithmetic,
    BodyCall,
    BooleanTest,
    CaseWhen,
    Compare,
    DateField,
    Expr,
    Field,
    FloatSortKey,
    FloatToInteger,
    IsNull,
    LikeMatch,
    Limb,
    Literal,
    Logic,
    Lookup,
    Payload,
    Quotient,
    RangeCheck,
    SquareRoot,
    TableEntry,
    ToFloat,
    TreeScore,
    WholeFloat,
)
from gpudb.engine.gpu.fused.numpy_backend import bodies, calendar, like
from gpudb.engine.gpu.fused.numpy_backend.hashing import probe_hash_table

MIN, MAX = -(2**63), 2**63 - 1
_ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}
Array = np.ndarray[Any, Any]
Table = tuple[Array, Array | None]


class RowBlock:
    """Rows `first` to `last` of a segment's columns; `code` is the greatest error code that they have raised."""

    def __init__(
        self,
        columns: Sequence[PackedColumn],
        first: int,
        last: int,
        lookups: Sequence[Sequence[Array]],
        tables: Sequence[Table],
    ) -> None:
        self._columns = columns
        self._first, self._last = first, last
        self._lookups, self._tables = lookups, tables
        self.rows: Array = np.arange(last - first)
        self._payloads: dict[tuple[int, int], tuple[Array, Array | None]] = {}
        self._fields: dict[int, tuple[Array, Array | None]] = {}
        self.code = 0

    # -------------------------------------------------------------------------------------------- steps

    def is_true(self, condition: Expr) -> Array:
        values, valid = self.evaluate(condition)
        return values.astype(bool) if valid is None else values.astype(bool) & valid

    def keep(self, kept: Array) -> None:
        """Keeps the rows of a boolean mask, or those at indexes, in their order."""
        self.rows = self.rows[kept]
        self._payloads = {
            key: (values[kept], None if valid is None else valid[kept])
            for key, (values, valid) in self._payloads.items()
        }

    def probe(self, step: Lookup) -> None:
        arrays = list(self._lookups[step.number])
        index = np.zeros(len(self.rows), np.int64)
        matched = np.ones(len(self.rows), bool)
        for key, low, size in zip(step.keys, step.lows, step.sizes, strict=True):
            values, valid = self.evaluate(key)
            inside = (values >= low) & (values < low + size)
            matched &= inside if valid is None else inside & valid
            index = index * size + np.where(matched, values - low, 0).astype(np.int64)
        if step.hashed:
            position, found = probe_hash_table(arrays.pop(0), index)
            matched &= found
        else:
            position = index
        counts = None
        if not step.unique:
            starts = arrays.pop(0).astype(np.int64)
            begin = np.where(matched, starts[np.minimum(position, len(starts) - 2)], 0)
            counts = np.where(matched, starts[np.minimum(position, len(starts) - 2) + 1], 0) - begin
            matched &= counts > 0
            position = begin
        elif step.presence:
            bitmap = arrays.pop(0)
            position = np.where(matched, position, 0)
            matched &= (bitmap[position >> 3] >> (position & 7).astype(np.uint8)) & 1 == 1
        elif not step.hashed:
            position = np.where(matched, position, 0)
            matched &= arrays[0][position] > 0
        position = np.where(matched, position, 0)
        if step.condition is not None and step.kind == "left":
            self._left_join(step, arrays, position, matched, counts)
            return
        if step.condition is not None:
            matched = self._has_match(step, arrays, position, matched, counts)
        if step.kind in {"semi", "anti"}:
            self.keep(matched if step.kind == "semi" else ~matched)
            return
        self._join_matches(step, arrays, position, matched, counts)

    def _has_match(
        self, step: Lookup, arrays: Sequence[Array], position: Array, matched: Array, counts: Array | None
    ) -> Array:
        """Returns which rows have a match for which the step's condition is true."""
        assert step.condition is not None
        rows, payloads = self.rows, self._payloads
        kept = self._join_matches(step, arrays, position, matched, counts)
        met = np.zeros(len(rows), bool)
        met[kept[self.is_true(step.condition)]] = True
        self.rows, self._payloads = rows, payloads
        return met

    def _left_join(
        self, step: Lookup, arrays: Sequence[Array], position: Array, matched: Array, counts: Array | None
    ) -> None:
        """Joins rows with each match for which the step's condition is true, and keeps rows without one."""
        assert step.condition is not None
        rows, payloads = self.rows, self._payloads
        kept = self._join_matches(replace(step, kind="inner"), arrays, position, matched, counts)
        true = self.is_true(step.condition)
        met = np.zeros(len(rows), bool)
        met[kept[true]] = True
        self.keep(true)
        found = self.rows, self._payloads
        self.rows, self._payloads = rows, payloads
        self.keep(~met)
        alone = np.zeros(len(self.rows), bool)
        for number in range(len(arrays)):
            kind = np.int64 if step.payloads[number] else np.float64
            self._payloads[step.number, number] = np.zeros(len(alone), kind), alone
        self.rows = np.concatenate([found[0], self.rows])
        self._payloads = {key: _concatenate(found[1][key], other) for key, other in self._payloads.items()}

    def _join_matches(
        self, step: Lookup, arrays: Sequence[Array], position: Array, matched: Array, counts: Array | None
    ) -> Array:
        """Joins rows with each of their matches; returns the index of each result row's source row."""
        kept = np.arange(len(self.rows)) if step.kind == "left" else np.flatnonzero(matched)
        position, matched = position[kept], matched[kept]
        if counts is not None:
            times = np.maximum(counts[kept], 1)
            before = np.cumsum(times) - times
            within = np.arange(int(times.sum())) - np.repeat(before, times)
            kept, position, matched = (
                np.repeat(kept, times),
                np.repeat(position, times) + within,
                np.repeat(matched, times),
            )
        self.keep(kept)
        for number, array in enumerate(arrays):
            self._payloads[step.number, number] = self._payload(step, number, array, position, matched)
        return kept

    def _payload(
        self, step: Lookup, number: int, array: Array, position: Array, matched: Array
    ) -> tuple[Array, Array | None]:
        valid = matched if step.kind == "left" else None
        raw = array[position] if len(array) else np.zeros(len(position), array.dtype)
        if not step.payloads[number]:
            return raw, valid
        stored = raw.astype(np.uint64)
        null = step.null_payload(number)
        if null is not None:
            known = stored != null
            valid = known if valid is None else known & valid
        return (stored + np.uint64(step.payload_offset(number))).astype(np.int64), valid

    # -------------------------------------------------------------------------------------------- values

    def _raise_error(self, where: Array, code: int, valid: Array | None, active: Array | None) -> None:
        for mask in (valid, active):
            where = where if mask is None else where & mask
        if where.any():
            self.code = max(self.code, code)

    def _read_column(self, column: int) -> tuple[Array, Array | None]:
        if column not in self._fields:
            self._fields[column] = self._columns[column].decode(self._first, self._last)
        values, valid = self._fields[column]
        return values[self.rows], None if valid is None else valid[self.rows]

    def _match_texts(self, column: int, pattern: bytes, *, fold: bool) -> tuple[Array, Array | None]:
        texts = self._columns[column].texts
        assert texts is not None
        held = texts.to_list(self._first, self._last)
        return like.match_texts([held[row] for row in self.rows.tolist()], pattern, fold=fold), self._read_column(
            column
        )[1]

    def evaluate(self, expr: Expr, active: Array | None = None) -> tuple[Array, Array | None]:
        """Evaluates an expression; errors count where `active` (None: everywhere)."""
        count = len(self.rows)
        match expr:
            case Field(column=column):
                return self._read_column(column)
            case Payload(lookup=lookup, column=column):
                return self._payloads[lookup, column]
            case Literal(value=None):
                return np.zeros(count, np.float64 if expr.bounds is None else np.int64), np.zeros(count, bool)
            case Literal(value=value):
                return np.full(count, value, _dtype(expr)), None
            case Arithmetic():
                return self._arithmetic(expr, active)
            case Quotient(arg=arg, divisor=divisor, how=how):
                values, valid = self.evaluate(arg, active)
                if how == "floor":
                    return _to_dtype(values // divisor, expr), valid
                size = (np.abs(values) + (divisor // 2 if how == "round" else 0)) // divisor
                return _to_dtype(np.where(values < 0, -size, size), expr), valid
            case RangeCheck(arg=arg, code=code):
                values, valid = self.evaluate(arg, active)
                assert expr.bounds is not None
                wrong = (values < expr.bounds[0]) | (values > expr.bounds[1])
                self._raise_error(wrong.astype(bool), code, valid, active)
                return _to_dtype(np.where(wrong, 0, values), expr), valid
            case Compare(op=op, left=left, right=right):
                a, b = self.evaluate(left, active), self.evaluate(right, active)
                return _compare(op, a[0], b[0]), _and_valid(a[1], b[1])
            case Logic():
                return self._logic(expr, active)
            case IsNull(arg=arg, negated=negated):
                _, valid = self.evaluate(arg, active)
                null = np.zeros(count, bool) if valid is None else ~valid
                return ~null if negated else null, None
            case BooleanTest(arg=arg, expected=wanted, negated=negated):
                values, valid = self.evaluate(arg, active)
                same = values.astype(bool) == wanted
                same = same if valid is None else same & valid
                return ~same if negated else same, None
            case TableEntry(arg=arg, table=table, size=size):
                values, valid = self.evaluate(arg, active)
                entries, known = self._tables[table]
                position = values if valid is None else np.where(valid, values, size)
                position = np.clip(position, 0, size)
                return entries[position].astype(np.int64), None if known is None else known[position]
            case TreeScore():
                return self._score(expr, active), None
            case LikeMatch(arg=Field(column=column), table=table, length=length, fold=fold):
                return self._match_texts(column, self._tables[table][0][:length].tobytes(), fold=fold)
            case DateField(field=name, arg=arg, micros=micros):
                values, valid = self.evaluate(arg, active)
                return calendar.extract_field(name, values, micros=micros), valid
            case CaseWhen():
                return self._choose(expr, active)
            case BodyCall(function=function, args=args):
                values, known = bodies.call_body(
                    function, [self.evaluate(each, active) for each in args], count, active
                )
                return _to_dtype(values, expr), known if expr.nullable else None
            case ToFloat(arg=arg, divisor=divisor):
                values, valid = self.evaluate(arg, active)
                return values.astype(np.float64) / float(divisor), valid
            case SquareRoot(arg=arg, code=code):
                values, valid = self.evaluate(arg, active)
                self._raise_error(values < 0, code, valid, active)
                with np.errstate(invalid="ignore"):
                    return np.sqrt(values), valid
            case WholeFloat(arg=arg, how=how):
                values, valid = self.evaluate(arg, active)
                return _ROUNDINGS[how](values), valid
            case FloatToInteger(arg=arg, code=code):
                values, valid = self.evaluate(arg, active)
                assert expr.bounds is not None
                rounded = np.rint(values)
                low, high = float(expr.bounds[0]), float(expr.bounds[1] + 1)
                wrong = ~((rounded >= low) & (rounded < high))
                self._raise_error(wrong, code, valid, active)
                return _to_dtype(np.where(wrong, 0.0, rounded), expr), valid
            case FloatSortKey(arg=arg, signed=signed):
                values, valid = self.evaluate(arg, active)
                bits = (values if signed else values + 0.0).view(np.int64)
                bits = np.where(np.isnan(values), np.int64(0x7FF8000000000000), bits)
                return np.where(bits < 0, bits ^ np.int64(MAX), bits), valid
            case Limb(arg=arg, number=number, last=last):
                values, valid = self.evaluate(arg, active)
                part = values >> (32 * number)
                return (part if last else part & 0xFFFFFFFF).astype(np.int64), valid
        raise AssertionError(type(expr).__name__)

    def _score(self, expr: TreeScore, active: Array | None) -> Array:
        """Returns scores by an ensemble of trees, of rows that are `active` alone."""
        columns = [self.evaluate(each, active) for each in expr.args]
        parts = [
            values if valid is None else np.where(valid, values.astype(np.float64), np.nan) for values, valid in columns
        ]
        matrix = np.stack(parts, axis=1).astype(np.float64)
        tables = [entries for entries, _ in self._tables[expr.table : expr.table + 4]]
        made = np.zeros(len(matrix), _dtype(expr))
        rows = slice(None) if active is None else active
        made[rows] = score_rows(expr.shape, tables, matrix[rows], "value" if expr.bounds is None else "label")
        return made

    def _arithmetic(self, expr: Arithmetic, active: Array | None) -> tuple[Array, Array | None]:
        (a, one), (b, other) = self.evaluate(expr.left, active), self.evaluate(expr.right, active)
        valid = _and_valid(one, other)
        if expr.bounds is None:
            with np.errstate(all="ignore"):
                made = a + b if expr.op == "+" else a - b if expr.op == "-" else a * b if expr.op == "*" else a / b
            over = np.isinf(made) & np.isfinite(a)
            over &= b != 0 if expr.zero else np.isfinite(b)
            if expr.code:
                self._raise_error(over, expr.code, valid, active)
            if expr.under:
                under = (made == 0) & (a != 0) & (b != 0) & (np.isfinite(b) if expr.zero else True)
                self._raise_error(under, expr.under, valid, active)
            if expr.zero:
                self._raise_error((b == 0) & ~np.isnan(a), expr.zero, valid, active)
            return made, valid
        if expr.limits is not None or _is_wide(expr):
            a, b = a.astype(object), b.astype(object)
        made = a + b if expr.op == "+" else a - b if expr.op == "-" else a * b
        if expr.limits is not None:
            wrong = ((made < expr.limits[0]) | (made > expr.limits[1])).astype(bool)
            self._raise_error(wrong, expr.code, valid, active)
            made = np.where(wrong, 0, made)
        return _to_dtype(made, expr), valid

    def _logic(self, expr: Logic, active: Array | None) -> tuple[Array, Array | None]:
        if expr.op == "NOT":
            values, valid = self.evaluate(expr.args[0], active)
            return ~values.astype(bool), valid
        stops = expr.op == "OR"
        decided = np.zeros(len(self.rows), bool)
        unknown = np.zeros(len(self.rows), bool)
        for arg in expr.args:
            values, valid = self.evaluate(arg, ~decided if active is None else active & ~decided)
            known = np.ones(len(values), bool) if valid is None else valid
            unknown |= ~known
            decided |= (values.astype(bool) == stops) & known
        values = decided if stops else ~decided
        return values, decided | ~unknown if expr.nullable else None

    def _choose(self, expr: CaseWhen, active: Array | None) -> tuple[Array, Array | None]:
        count = len(self.rows)
        undecided = np.ones(count, bool) if active is None else active.copy()
        made: Array = np.zeros(count, _dtype(expr))
        known = np.zeros(count, bool)
        for condition, value in (*expr.branches, (None, expr.default)):
            chosen = undecided
            if condition is not None:
                values, valid = self.evaluate(condition, undecided)
                chosen = undecided & values.astype(bool) & (True if valid is None else valid)
            values, valid = self.evaluate(value, chosen)
            made = np.where(chosen, values.astype(made.dtype), made)
            known |= chosen & (True if valid is None else valid)
            undecided = undecided & ~chosen
        return made, known if expr.nullable else None


def _concatenate(one: tuple[Array, Array | None], other: tuple[Array, Array | None]) -> tuple[Array, Array | None]:
    """Concatenates the values and validity of two sets of rows."""
    parts = one, other
    valid = None
    if one[1] is not None or other[1] is not None:
        valid = np.concatenate([np.ones(len(values), bool) if known is None else known for values, known in parts])
    return np.concatenate([values for values, _ in parts]), valid


def _is_wide(expr: Expr) -> bool:
    return expr.bounds is not None and (expr.bounds[0] < MIN or expr.bounds[1] > MAX)


def _dtype(expr: Expr) -> Any:
    return np.float64 if expr.bounds is None else object if _is_wide(expr) else np.int64


def _to_dtype(values: Array, expr: Expr) -> Array:
    return values if values.dtype == _dtype(expr) else values.astype(_dtype(expr))


def _and_valid(one: Array | None, other: Array | None) -> Array | None:
    return other if one is None else one if other is None else one & other


def _compare(op: str, a: Array, b: Array) -> Array:
    less: Array
    same: Array
    if a.dtype == np.float64 or b.dtype == np.float64:
        # NaN equals NaN, and is greater than all.
        one, other = np.isnan(a), np.isnan(b)
        less = (a < b) | (~one & other)
        same = (a == b) | (one & other)
    else:
        less, same = (a < b).astype(bool), (a == b).astype(bool)
    found: dict[str, Array] = {"==": same, "!=": ~same, "<": less, ">=": ~less}
    return found[op] if op in found else _compare(">=" if op == "<=" else "<", b, a)
