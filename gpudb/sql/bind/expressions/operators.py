"""Operators: overload resolution with converted arguments; IN, BETWEEN, LIKE, ANY and row comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import dimensions, resolve
from gpudb.functions.carried import is_wide_layout, use_layout
from gpudb.functions.numeric import exceeds_int128
from gpudb.functions.registry import MISSING, Function, get_result_type, has_wide_form
from gpudb.functions.text_search import CONFIGURED
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.records import check_comparable
from gpudb.sql.bind.expressions.text_search import add_configuration
from gpudb.sql.bind.types.coercion import coerce, resolve_untyped
from gpudb.sql.bind.types.conversions import check_comparison, check_equality, check_items
from gpudb.sql.bind.types.literals import narrow_integer
from gpudb.sql.bound import (
    AnyArray,
    Array,
    BoolOp,
    Call,
    Case,
    Cast,
    Choice,
    Column,
    Constant,
    DistinctFrom,
    Expr,
    InList,
    Let,
    Parameter,
    Row,
    Test,
)
from gpudb.sql.traverse import has_subquery, has_volatile, reads_columns
from gpudb.types import BOOL, TEXT, UNKNOWN, WIDE_NUMERIC, SqlType
from gpudb.types.facts import EQUAL_BY_FUNCTION, VECTORS


def build_call(binder: Binder, candidate: resolve.Candidate, args: Sequence[Expr]) -> Call:
    """Returns a call of a resolved function or operator, each argument converted to its declared type."""
    function = _get_function(candidate)
    if function.name in CONFIGURED and candidate.types[0].name != "regconfig":
        return add_configuration(function.name, candidate.types, args, partial(build_call, binder))
    if not any(isinstance(arg, Parameter) for arg in args):
        resolve.check_typed(candidate.types, [arg.type for arg in args])
    types, declared = _resolve_types(candidate, args, function.result)
    if any(each.name == "numeric" for each in types):
        args = [
            narrow_integer(arg) if isinstance(arg, Constant) and _takes_numeric(t) else arg
            for arg, t in zip(args, types, strict=True)
        ]
    if function.name == "pg_typeof" and isinstance(args[0], Constant):
        types = (args[0].type,)  # pg_typeof reports an untyped literal as unknown
    if function.name in dimensions.READS_SUBSCRIPTS and args[0].type.name in VECTORS:
        types = (args[0].type, *types[1:])  # its subscripts start at 0
    converted = tuple(
        arg if _is_undetermined(takes, arg) else coerce(binder, arg, wanted)
        for takes, arg, wanted in zip(candidate.types, args, types, strict=True)
    )
    if function.name == "array_fill":
        converted = tuple(map(_fold_array, converted))
    dimensions.check_dimensions(function.name, [arg.type for arg in converted])
    if converted:
        check_items(function.name, converted[0].type)
    if len(function.out_types) > 1:
        outs = [
            resolve.bind_polymorphic(candidate.types, [arg.type for arg in args], each)[1]
            for each in function.out_types
        ]
        fields = tuple((name, each.without_modifier) for name, each in zip(function.out_names, outs, strict=True))
        return Call(function, converted, SqlType("record", fields=fields))
    converted = _widen_compared(function, converted)
    result = get_result_type(function, [arg.type for arg in converted], get_constants(converted))
    if function.result.name != declared.name:
        result = dimensions.resolve_dimensions(
            function.name, declared, [arg.type for arg in converted], get_constants(converted)
        )
    return Call(function, converted, result.without_modifier)


def _widen_compared(function: Function, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Returns the arguments of a function of numerics whose result is none, so that it has room for them.

    A comparison brings both to one scale. In the wide layout one of them is wide, and the other becomes so.
    """
    places = [place for place, arg in enumerate(args) if arg.type.name == "numeric"]
    narrow = [args[place].type for place in places if not args[place].type.wide]
    if function.result.name == "numeric" or len(narrow) < len(places) or not narrow or not exceeds_int128(narrow):
        return args
    use_layout()
    if not is_wide_layout() or not has_wide_form(function):
        return args
    return tuple(Cast(arg, WIDE_NUMERIC) if place == places[0] else arg for place, arg in enumerate(args))


def _resolve_types(
    candidate: resolve.Candidate, args: Sequence[Expr], result: SqlType
) -> tuple[tuple[SqlType, ...], SqlType]:
    """Returns a call's argument and result types; an untyped argument takes the type that the others imply."""
    arg_types = [arg.type for arg in args]
    types, declared = resolve.bind_polymorphic(candidate.types, arg_types, result)
    known = [
        resolve_untyped(arg, wanted) if arg.type.name == "unknown" and takes.name in resolve.FAMILIES else arg.type
        for takes, arg, wanted in zip(candidate.types, args, types, strict=True)
    ]
    return (types, declared) if known == arg_types else resolve.bind_polymorphic(candidate.types, known, result)


def _is_undetermined(takes: SqlType, arg: Expr) -> bool:
    """Whether a call leaves the type of an untyped parameter undetermined."""
    return takes.name == "any" and isinstance(arg, Parameter) and arg.type.name == "unknown"


def _fold_array(arg: Expr) -> Expr:
    """Folds ARRAY[…] of constants to one constant."""
    if not isinstance(arg, Array) or not all(isinstance(item, Constant) for item in arg.items):
        return arg
    return Constant([item.value for item in arg.items if isinstance(item, Constant)], arg.type)


def _takes_numeric(item: SqlType) -> bool:
    return item.name == "numeric" and item.modifier == -1


def _get_function(candidate: resolve.Candidate) -> Function:
    return candidate.target if isinstance(candidate.target, Function) else candidate.target.function


def get_constants(args: Sequence[Expr]) -> tuple[object, ...]:
    """Returns the values of constant arguments, MISSING for others."""
    return tuple(arg.value if isinstance(arg, Constant) else MISSING for arg in args)


def apply_operator(binder: Binder, name: str, left: Expr | None, right: Expr) -> Expr:
    """Binds `left name right`, or `name right`."""
    if isinstance(left, Row) and isinstance(right, Row) and not left.whole and not right.whole:
        # ROW(…) compares item by item; a relation's row compares as one value
        return compare_rows(binder, name, left, right)
    candidate = resolve.resolve_operator(name, left.type.plain if left is not None else None, right.type.plain)
    result = build_call(binder, candidate, (right,) if left is None else (left, right))
    if left is not None:
        check_whole_rows(name, left.type, right.type)
    return result


def check_whole_rows(name: str, left: SqlType, right: SqlType) -> None:
    """Raises 42804 or 42883 for rows that cannot be compared as a whole."""
    if not left.fields or not right.fields:
        return
    check_comparable(left, right)
    if name in {"=", "<>"}:
        check_equality(item for _, item in left.fields)
    elif name in {"<", "<=", ">", ">="}:
        check_comparison(item for _, item in left.fields)


def compare(binder: Binder, name: str, left: Expr, right: Expr) -> tuple[Function, Expr, Expr]:
    """Returns a comparison's function and its converted sides."""
    candidate = resolve.resolve_operator(name, left.type.plain, right.type.plain)
    result = build_call(binder, candidate, (left, right))
    check_whole_rows(name, left.type, right.type)
    return result.function, result.args[0], result.args[1]


def compare_rows(binder: Binder, name: str, left: Row, right: Row) -> Expr:
    """Binds (a, b) op (c, d), column by column as SQL defines it."""
    if len(left.items) != len(right.items):
        raise SqlError.of("syntax_error", "unequal number of entries in row expressions")
    if not left.items:
        raise FeatureNotSupported("cannot compare rows of zero length")
    pairs = list(zip(left.items, right.items, strict=True))
    if name == "=":
        return conjunction([apply_operator(binder, "=", a, b) for a, b in pairs])
    if name == "<>":
        return disjunction([apply_operator(binder, "<>", a, b) for a, b in pairs])
    if name not in {"<", "<=", ">", ">="}:
        raise FeatureNotSupported(f"could not determine interpretation of row comparison operator {name}")
    strict = name[0]
    (first, second), rest = pairs[-1], pairs[:-1]
    result = apply_operator(binder, name, first, second)
    for a, b in reversed(rest):
        equal = apply_operator(binder, "=", a, b)
        result = disjunction([apply_operator(binder, strict, a, b), conjunction([equal, result])])
    return result


def conjunction(parts: Sequence[Expr]) -> Expr:
    """Returns the AND of one or more conditions."""
    return parts[0] if len(parts) == 1 else BoolOp("AND", tuple(parts))


def disjunction(parts: Sequence[Expr]) -> Expr:
    """Returns the OR of one or more conditions."""
    return parts[0] if len(parts) == 1 else BoolOp("OR", tuple(parts))


def bind_in_list(binder: Binder, left: Expr, items: Sequence[Expr], negated: bool) -> Expr:
    """Binds left [NOT] IN (items): one comparison if all share a type, else one for each item."""
    if isinstance(left, Row) and not left.whole:
        result = disjunction([_compare_row_item(binder, left, item) for item in items])
        return BoolOp("NOT", (result,)) if negated else result
    pairs = [compare(binder, "=", left, item) for item in _unify_items(binder, left, items)]
    functions = {function.oid for function, _, _ in pairs}
    lefts = [a for _, a, _ in pairs]
    if len(functions) == 1 and all(each == lefts[0] for each in lefts):
        if lefts[0].type.name in EQUAL_BY_FUNCTION:
            array = Array(tuple(b for _, _, b in pairs), lefts[0].type.plain.array)
            return bind_any_array(binder, "<>" if negated else "=", lefts[0], array, negated)
        return InList(lefts[0], tuple(b for _, _, b in pairs), negated)
    result = disjunction([Call(function, (a, b), BOOL) for function, a, b in pairs])
    return BoolOp("NOT", (result,)) if negated else result


def _unify_items(binder: Binder, left: Expr, items: Sequence[Expr]) -> Sequence[Expr]:
    """Returns the items as PostgreSQL compares them.

    It compares items without columns as an array, of the type that they share with the left side: 0.1 among reals is a
    real, by itself a double precision. Exact numbers stay as they are.
    """
    fixed = [item for item in items if not reads_columns(item)]
    try:
        shared = resolve.find_common_type([left.type, *(item.type for item in fixed)], "IN")
    except SqlError:  # no common type: each item is compared by itself
        return items
    if len(fixed) < 2 or shared.name == "numeric" or shared.name == "record" or shared.fields:
        return items
    return [item if reads_columns(item) else coerce(binder, item, shared.plain) for item in items]


def _compare_row_item(binder: Binder, left: Row, item: Expr) -> Expr:
    """Compares ROW(…) with an item of an IN list, which may be an untyped NULL."""
    if isinstance(item, Constant) and item.value is None and item.type == UNKNOWN:
        return Constant(None, BOOL)
    return apply_operator(binder, "=", left, item)


def bind_any_array(binder: Binder, name: str, left: Expr, array: Expr, every: bool) -> Expr:
    """Binds left op ANY (array), or ALL."""
    if array.type.name == "unknown":
        target = TEXT if left.type.name == "unknown" else left.type.plain
        array = coerce(binder, array, target.array)
    element = array.type.element
    if element is None:
        if array.type.name not in {"oidvector", "int2vector"}:
            raise SqlError.of("wrong_object_type", "op ANY/ALL (array) requires array on right side")
        element = SqlType("oid" if array.type.name == "oidvector" else "int2")
        candidate = resolve.resolve_operator(name, left.type.plain, element)
        converted = coerce(binder, left, candidate.types[0])
        return AnyArray(_get_function(candidate), converted, array, every)
    candidate = resolve.resolve_operator(name, left.type.plain, element.plain)
    if _get_function(candidate).result != BOOL:
        raise SqlError.of("wrong_object_type", "op ANY/ALL (array) requires operator to yield boolean")
    check_whole_rows(name, left.type, element)
    types, _ = resolve.bind_polymorphic(candidate.types, (left.type, element), BOOL)
    converted = coerce(binder, left, types[0])
    if types[1].name != "record" and array.type.plain != types[1].array.plain:
        array = coerce(binder, array, types[1].array)
    items = _get_items(array)
    by_function = types[0].name in EQUAL_BY_FUNCTION
    if items and not by_function and types[0].name == types[1].name and (name, every) in _MEMBERSHIPS:
        return InList(converted, items, every)
    if items and by_function and has_volatile(converted) and not has_subquery(array):
        rel = -binder.new_rel()
        once = Column(rel, 0, converted.type)
        return Let(rel, (converted,), AnyArray(_get_function(candidate), once, array, every), BOOL)
    return AnyArray(_get_function(candidate), converted, array, every)


_MEMBERSHIPS = {("=", False), ("<>", True)}
"""The operators, each with whether it is for all items, that IN and NOT IN stand for."""


def _get_items(array: Expr) -> tuple[Expr, ...]:
    """Returns the items of an array that is written out; () for any other."""
    if array.type.dims > 1:
        return ()
    if isinstance(array, Array):
        return array.items
    element = array.type.element
    if isinstance(array, Constant) and isinstance(array.value, list) and element is not None:
        return tuple(Constant(each, element) for each in array.value if not isinstance(each, list))
    return ()


_DATETIMES = ("date", "timestamp", "timestamptz")
"""Each is compared with a later one as the later one's type."""


def bind_distinct_from(binder: Binder, left: Expr, right: Expr, negated: bool) -> Expr:
    """Binds IS [NOT] DISTINCT FROM."""
    if isinstance(left, Row) and isinstance(right, Row) and not left.whole and not right.whole:
        if len(left.items) != len(right.items):
            raise SqlError.of("syntax_error", "unequal number of entries in row expressions")
        parts = [bind_distinct_from(binder, a, b, True) for a, b in zip(left.items, right.items, strict=True)]
        same = conjunction(parts)
        return same if negated else BoolOp("NOT", (same,))
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.value is None and other.type == UNKNOWN:
            if isinstance(one, Row):  # as a whole it is never NULL
                return Constant(not negated, BOOL)
            return Test(coerce(binder, one, TEXT) if one.type == UNKNOWN else one, "NULL", not negated)
    function, a, b = compare(binder, "=", left, right)
    if a.type.name in EQUAL_BY_FUNCTION:
        return _build_distinct_by_function(binder, function, a, b, negated)
    kinds = a.type.name, b.type.name
    if kinds[0] != kinds[1] and set(kinds) <= set(_DATETIMES):
        # DistinctFrom has no function to tell how two types compare
        later = SqlType(max(kinds, key=_DATETIMES.index))
        a, b = (each if each.type.name == later.name else coerce(binder, each, later) for each in (a, b))
    return DistinctFrom(a, b, negated)


def _build_distinct_by_function(binder: Binder, function: Function, left: Expr, right: Expr, negated: bool) -> Expr:
    """Builds IS [NOT] DISTINCT FROM of values that are equal by a function, not by their representation."""
    rel = -binder.new_rel()
    one, other = (Column(rel, place, each.type) for place, each in enumerate((left, right)))
    equal, unknown = Call(function, (one, other), BOOL), conjunction([Test(one, "NULL"), Test(other, "NULL")])
    same = Choice("COALESCE", (equal, unknown), BOOL)
    return Let(rel, (left, right), same if negated else BoolOp("NOT", (same,)), BOOL)


def bind_nullif(binder: Binder, left: Expr, right: Expr) -> Expr:
    """Binds NULLIF(left, right): NULL if they are equal, else left, in the type of the comparison."""
    function, a, b = compare(binder, "=", left, right)
    kept = left if left.type.name == a.type.name else a
    return Case(((Call(function, (a, b), BOOL), Constant(None, kept.type)),), kept, kept.type)


def get_expression_kind(node: Any) -> str:
    """Returns the name of an A_Expr's kind: AEXPR_OP, AEXPR_IN, …"""
    return str(pg.A_Expr_Kind.Name(node.kind))
