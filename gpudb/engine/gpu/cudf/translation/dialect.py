"""Extends cudf-polars and its translator by what stages need.

128 bits     libcudf's only 128-bit integers are decimals: Polars' Int128 is DECIMAL128 of scale 0 there
bytes        are libcudf strings, whose encoding it does not inspect
dates        are 32-bit days: cudf-polars treats integers cast to dates as if they had 64 bits
floats       NaN equals itself and is greater than all, as in Polars and PostgreSQL; libcudf compares as IEEE does
months       adding a constant number of months is libcudf's `add_calendrical_months`
characters   beyond ASCII are replaced only in columns that have some: libcudf compares each with every replaced one
LIKE         a regular expression of LIKE's shape (`lower.functions.text`) is libcudf's `like`
slices       a mask is read as that of a column which begins where the mask does (see `masks`)
sorts        by several keys of fixed width, or by a float, are radix sorts (see `algorithms.radix_sort`)
distinct     unordered distinct rows lose their sortedness (see `sortedness`)
explode      values have their own type, not their list's (see `declared_types`)
scalars      are waited for without the interpreter's lock (see `scalars`)
gather       returns NULL at NULL indexes, even if all are NULL, and for nested types
int_range    numbers rows from a start
LIMIT        a row limit that Polars has pushed into a source is a slice after it

Everything is registered in cudf-polars' own tables, once per process.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa
import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame, DataType, datatype
from cudf_polars.dsl import expr, ir, translate
from polars import polars as rust  # type: ignore[attr-defined]

from gpudb.engine.gpu.cudf.algorithms import radix_sort
from gpudb.engine.gpu.cudf.columns.convert import relabel_as_text, to_device
from gpudb.engine.gpu.cudf.memory.streams import current_stream
from gpudb.engine.gpu.cudf.translation import declared_types, scalars, sortedness
from gpudb.engine.gpu.cudf.translation.masks import copy_with_mask, protect_mask

_NODES = rust._expr_nodes
_OPERATOR = _NODES.Operator
_BINARY = plc.binaryop.BinaryOperator
_BOOLEAN = pl.Boolean()


@cache
def install() -> None:
    """Installs all extensions.

    It assigns seven attributes of cudf-polars 26.10. Each is needless from the release on in which cudf-polars does so:

    ir.get_cuda_stream          a join's condition is built on the stream of its plan
    datatype._from_polars       Int128 and Binary have types of libcudf
    expr.Literal.do_evaluate    literals of those two types are evaluated
    Column.astype               integers of 32 bits are cast to dates
    Column.mask_nans            heeds the offset of a slice's mask
    expr.Gather.do_evaluate     takes NULL indexes, also if all are NULL, and nested values
    DataFrame.from_polars       takes Int128 and Binary
    """
    ir.get_cuda_stream = current_stream  # used where a join condition is built for libcudf, without a context
    known = datatype._from_polars

    def to_libcudf_type(kind: pl.DataType) -> Any:
        if isinstance(kind, pl.Int128):
            return plc.DataType(plc.TypeId.DECIMAL128, scale=0)
        return plc.DataType(plc.TypeId.STRING) if isinstance(kind, pl.Binary) else known(kind)

    datatype._from_polars = to_libcudf_type
    evaluated = expr.Literal.do_evaluate

    def literal(self: Any, frame: Any, **context: Any) -> Any:
        if isinstance(self.dtype.polars_type, pl.Int128) and isinstance(self.value, int):
            return evaluated(expr.Literal(self.dtype, Decimal(self.value)), frame, **context)
        if isinstance(self.value, bytes):
            text = relabel_as_text(pa.array([self.value], pa.large_binary()))
            return Column(plc.Column.from_arrow(text, stream=frame.stream), dtype=self.dtype)
        return evaluated(self, frame, **context)

    # A literal keeps its Python integer: Polars itself casts and hashes it.
    expr.Literal.do_evaluate = literal
    cast = Column.astype

    def converted(self: Any, dtype: Any, stream: Any, **options: Any) -> Any:
        if dtype.plc_type.id() == plc.TypeId.TIMESTAMP_DAYS and plc.traits.is_integral_not_bool(self.obj.type()):
            days = plc.unary.cast(self.obj, plc.DataType(plc.TypeId.INT32), stream=stream)
            return Column(plc.unary.bit_cast(days, dtype.plc_type, stream=stream), dtype=dtype, name=self.name)
        return cast(self, dtype, stream, **options)

    Column.astype = converted
    masked = Column.mask_nans
    Column.mask_nans = lambda self, stream: masked(copy_with_mask(self, stream), stream=stream)
    expr.Gather.do_evaluate = _gather
    # Frames inside a plan are converted as ours are.
    DataFrame.from_polars = classmethod(lambda cls, frame, stream: to_device(frame))
    sortedness.install()
    radix_sort.install()
    declared_types.install()
    scalars.install()
    _register_expressions()
    _register_sources()


# ---------------------------------------------------------------------------------------------- expressions


def _register_expressions() -> None:
    table = translate._translate_expr
    binary, function = table.dispatch(_NODES.BinaryExpr), table.dispatch(_NODES.Function)

    def operation(node: Any, translator: Any, dtype: Any, schema: Any) -> Any:
        wide = isinstance(dtype.polars_type, pl.Int128)
        if not wide and node.op not in _COMPARISONS:
            return binary(node, translator, dtype, schema)
        left, right = (translator.translate_expr(n=n, schema=schema) for n in (node.left, node.right))
        if wide:
            return expr.BinOp(dtype, _WIDE.get(node.op) or expr.BinOp._MAPPING[node.op], left, right)
        if _is_float(left) and _is_float(right):
            return _compare_floats(node.op, left, right)
        return expr.BinOp(dtype, expr.BinOp._MAPPING[node.op], left, right)

    def called(node: Any, translator: Any, dtype: Any, schema: Any) -> Any:
        name, *_ = node.function_data
        if name == _NODES.StringFunction.Contains:
            value, pattern = (translator.translate_expr(n=n, schema=schema) for n in node.input)
            shape = _to_like_pattern(pattern.value) if isinstance(pattern, expr.Literal) else None
            if shape is not None:
                return Like(dtype, shape, value)
        if name == _NODES.StringFunction.ReplaceMany:
            value, old, new = (translator.translate_expr(n=n, schema=schema) for n in node.input)
            if isinstance(old, expr.LiteralColumn) and not any(map(str.isascii, old.value.to_list())):
                return ReplaceCharacters(dtype, value, old, new)
        if name == _NODES.TemporalFunction.OffsetBy:
            value, by = (translator.translate_expr(n=n, schema=schema) for n in node.input)
            months = _MONTHS.fullmatch(str(by.value)) if isinstance(by, expr.Literal) else None
            if months is not None:
                return AddMonths(dtype, int(months[1]), value)
        if str(name) == "RangeFunction.IntRange" and node.function_data[1] == 1:
            return IntRange(dtype, *(translator.translate_expr(n=n, schema=schema) for n in node.input))
        return protect_mask(function(node, translator, dtype, schema))

    table.register(_NODES.BinaryExpr, operation)
    table.register(_NODES.Function, called)


_WIDE = {_OPERATOR.FloorDivide: _BINARY.DIV}
"""libcudf truncates quotients of decimals; `lower` divides magnitudes, for which floor and truncation agree."""
_COMPARISONS = {_OPERATOR.Eq, _OPERATOR.NotEq, _OPERATOR.Lt, _OPERATOR.LtEq, _OPERATOR.Gt, _OPERATOR.GtEq}


def _is_float(value: Any) -> bool:
    return bool(plc.traits.is_floating_point(value.dtype.plc_type))


def _compare_floats(op: Any, left: Any, right: Any) -> Any:
    """Compares two floats by IEEE rules, corrected for NaN; constants other than NaN need no correction."""
    kind = DataType(_BOOLEAN)

    def is_nan(value: Any) -> Any | None:
        if isinstance(value, expr.Literal):
            return expr.Literal(kind, value.value != value.value) if value.value is not None else None
        return protect_mask(expr.BooleanFunction(kind, expr.BooleanFunction.Name.IsNan, (), value))

    def either(a: Any, b: Any) -> Any:
        return expr.BinOp(kind, _BINARY.BITWISE_OR, a, b)

    def both(a: Any, b: Any) -> Any:
        return expr.BinOp(kind, _BINARY.BITWISE_AND, a, b)

    def negated(a: Any) -> Any:
        return expr.UnaryFunction(kind, "not", (), a)

    plain = expr.BinOp(kind, expr.BinOp._MAPPING[op], left, right)
    a, b = is_nan(left), is_nan(right)
    if a is None or b is None or (_is_false(a) and _is_false(b)):
        return plain
    match op:
        case _OPERATOR.Eq:
            return either(plain, both(a, b))
        case _OPERATOR.NotEq:
            return both(plain, negated(both(a, b)))
        case _OPERATOR.Lt:
            return either(plain, both(b, negated(a)))
        case _OPERATOR.Gt:
            return either(plain, both(a, negated(b)))
        case _OPERATOR.LtEq:
            return either(plain, b)
        case _:
            return either(plain, a)


def _is_false(value: Any) -> bool:
    return isinstance(value, expr.Literal) and value.value is False


class Like(expr.Expr):  # type: ignore[misc]
    """LIKE with a constant pattern, whose escape is the backslash."""

    _non_child = ("dtype", "pattern")

    def __init__(self, dtype: Any, pattern: str, value: Any) -> None:
        self.dtype = dtype
        self.pattern = pattern
        self.children = (value,)
        self.is_pointwise = True

    def do_evaluate(self, frame: Any, **context: Any) -> Any:
        """Called by cudf-polars."""
        value = self.children[0].evaluate(frame, **context)
        return Column(plc.strings.contains.like(value.obj, self.pattern, "\\", stream=frame.stream), dtype=self.dtype)


class ReplaceCharacters(expr.Expr):  # type: ignore[misc]
    """Texts with some characters beyond ASCII replaced by others."""

    _non_child = ("dtype",)

    def __init__(self, dtype: Any, value: Any, old: Any, new: Any) -> None:
        self.dtype = dtype
        self.children = (value, old, new)
        self.is_pointwise = True

    def do_evaluate(self, frame: Any, **context: Any) -> Any:
        """Called by cudf-polars."""
        value, old, new = (each.evaluate(frame, **context).obj for each in self.children)
        if not _is_ascii(value, frame.stream):
            value = plc.strings.replace.replace_multiple(value, old, new, stream=frame.stream)
        return Column(value, dtype=self.dtype)


def _is_ascii(texts: Any, stream: Any) -> bool:
    def add(counts: Any) -> Any:
        total = plc.reduce.reduce(counts, plc.aggregation.sum(), plc.DataType(plc.TypeId.INT64), stream=stream)
        return total.to_py(stream=stream)

    attributes = plc.strings.attributes
    return bool(add(attributes.count_bytes(texts, stream)) == add(attributes.count_characters(texts, stream)))


class IntRange(expr.Expr):  # type: ignore[misc]
    """The integers from a start up to an exclusive end."""

    _non_child = ("dtype",)

    def __init__(self, dtype: Any, start: Any, end: Any) -> None:
        self.dtype = dtype
        self.children = (start, end)
        self.is_pointwise = False

    def do_evaluate(self, frame: Any, **context: Any) -> Any:
        """Called by cudf-polars."""
        first, end = (
            each.evaluate(frame, **context).obj_scalar(stream=frame.stream).to_py(stream=frame.stream)
            for each in self.children
        )
        kind = self.dtype.plc_type
        start, step = (plc.Scalar.from_py(value, kind, stream=frame.stream) for value in (first, 1))
        return Column(plc.filling.sequence(max(end - first, 0), start, step, stream=frame.stream), dtype=self.dtype)


def _gather(self: Any, frame: Any, **context: Any) -> Any:
    """Returns the values at some indexes."""
    values, indexes = (each.evaluate(frame, **context) for each in self.children)
    if not indexes.size:
        return Column(plc.copying.empty_like(values.obj, stream=frame.stream), dtype=self.dtype)
    found = indexes.obj
    if found.null_count():
        beyond = plc.Scalar.from_py(values.size, found.type(), stream=frame.stream)
        found = plc.replace.replace_nulls(found, beyond, stream=frame.stream)
    nothing = plc.copying.OutOfBoundsPolicy.NULLIFY
    return Column(
        plc.copying.gather(plc.Table([values.obj]), found, nothing, stream=frame.stream).columns()[0], dtype=self.dtype
    )


_MONTHS = re.compile(r"(-?\d+)mo")


class AddMonths(expr.Expr):  # type: ignore[misc]
    """Adds months to a timestamp or date; clamps to the month's last day."""

    _non_child = ("dtype", "months")

    def __init__(self, dtype: Any, months: int, value: Any) -> None:
        self.dtype = dtype
        self.months = months
        self.children = (value,)
        self.is_pointwise = True

    def do_evaluate(self, frame: Any, **context: Any) -> Any:
        """Called by cudf-polars."""
        value = self.children[0].evaluate(frame, **context)
        months = plc.Scalar.from_py(self.months, plc.DataType(plc.TypeId.INT32), stream=frame.stream)
        moved = plc.datetime.add_calendrical_months(value.obj, months, stream=frame.stream)
        return Column(moved, dtype=self.dtype)


_PIECE = re.compile(r"\.\*|\\(.)|(.)", re.S)


def _to_like_pattern(pattern: object) -> str | None:
    """Returns the LIKE pattern that a regular expression was built from; None if it is another one."""
    if not isinstance(pattern, str) or not pattern.startswith("(?s)^") or not pattern.endswith("$"):
        return None
    made = []
    for piece in _PIECE.finditer(pattern[5:-1]):
        escaped, plain = piece.groups()
        if escaped is not None and escaped.isalnum():
            return None
        if escaped is not None:
            made.append("\\" + escaped if escaped in "%_\\" else escaped)
        elif plain is None:
            made.append("%")
        elif plain == ".":
            made.append("_")
        elif plain in "^$*+?{}[]|()\\":
            return None
        else:
            made.append("\\" + plain if plain in "%_" else plain)
    return "".join(made)


# ---------------------------------------------------------------------------------------------- sources


def _register_sources() -> None:
    table = translate._translate_ir
    kind = rust._ir_nodes.PythonScan
    known = table.dispatch(kind)

    def source(node: Any, translator: Any, schema: Any) -> Any:
        *options, limit = node.options
        if limit is None:
            return known(node, translator, schema)
        if options[3] is not None:
            raise NotImplementedError("a filter and a row limit on one source")
        return ir.Slice(schema, 0, limit, known(_UnlimitedScan((*options, None)), translator, schema))

    table.register(kind, source)


class _UnlimitedScan:
    """A scan node without its row limit."""

    def __init__(self, options: tuple[Any, ...]) -> None:
        self.options = options
