"""Bound expressions as Python expressions: arithmetic, comparisons, logic and text of single values.

A NULL is None. What is not known here is computed by the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpudb.catalog.model import FIRST_USER_OID
from gpudb.memory import append_item, join_texts
from gpudb.plpgsql import arithmetic
from gpudb.plpgsql.records import copy_array
from gpudb.sql.bound import (
    Array,
    BoolOp,
    Call,
    Case,
    Cast,
    Choice,
    Constant,
    DistinctFrom,
    Expr,
    InList,
    Parameter,
    Query,
    Select,
    SetReturning,
    Subscript,
    Test,
)
from gpudb.types import SqlType, widen
from gpudb.types.facts import INTEGER_LIMITS
from gpudb.values.numbers import fit_numeric

_INTEGER_CALL = re.compile(
    r"int(2|4|8|24|42|48|84|28|82)(pl|mi|mul|div|mod|eq|ne|lt|le|gt|ge|um|up|abs|larger|smaller)"
)
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_COMPARED = re.compile(r"(text|bool|numeric_|date_|float8|oid|uuid_|char|name)(eq|ne|lt|le|gt|ge)")
_FOUR = {"text_lt": "<", "text_le": "<=", "text_gt": ">", "text_ge": ">="}
_NUMERIC_CALLS = {
    "numeric_add": "add_numeric", "numeric_sub": "subtract_numeric", "numeric_mul": "multiply_numeric",
    "numeric_div": "divide_numeric", "numeric_uminus": "negate_numeric",
}  # fmt: skip
_SHOWN_TYPES = frozenset("int2 int4 int8 float8 numeric date uuid oid".split())
_READ_TYPES = frozenset("int2 int4 int8 float8 numeric bool".split())


class NotSimple(Exception):
    """The expression is not one that Python computes."""


@dataclass(frozen=True, slots=True)
class Code:
    """A Python expression: `nullable` is whether it may be None, `fails` whether it may raise."""

    source: str
    nullable: bool = True
    fails: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it may be written twice."""
        return self.source.isidentifier() or self.source.lstrip("-").isdigit()


_MAX_DEPTH = 60
"""Nested parentheses of an expression that Python's parser certainly takes."""


def is_too_deep(source: str) -> bool:
    """Whether an expression is nested too deeply for Python's parser, as a long chain of operators is."""
    depth = 0
    for each in source:
        if each in "([":
            depth += 1
            if depth > _MAX_DEPTH:
                return True
        elif each in ")]":
            depth -= 1
    return False


class Names:
    """The global names of compiled code, and new names for local ones."""

    def __init__(self) -> None:
        self.globals: dict[str, object] = {
            name: getattr(arithmetic, name) for name in dir(arithmetic) if not name.startswith("_")
        }
        self.globals |= {"Decimal": Decimal, "fit_numeric": fit_numeric, "copy_array": copy_array}
        self.globals |= {"join_texts": join_texts, "append_item": append_item}
        self._count = 0

    def temporary(self) -> str:
        """Returns a new local name."""
        self._count += 1
        return f"t{self._count}"

    def add(self, value: object) -> str:
        """Returns a global name for a value."""
        self._count += 1
        name = f"G{self._count}"
        self.globals[name] = value
        return name


def simple_target(query: Query) -> Expr | None:
    """Returns the expression of a query that is nothing else; None for any other query."""
    if not isinstance(query, Select) or query != Select(query.columns, query.targets) or len(query.targets) != 1:
        return None
    target: Expr = query.targets[0]
    return None if isinstance(target, SetReturning) else target


def _join(a: str, b: str) -> str:
    return f"join_texts({a}, {b})"


Caller = Callable[[Call, Sequence[Code]], Code]
"""Returns the call of a routine with these arguments as Python; raises NotSimple."""


class Emitter:
    """Writes bound expressions as Python."""

    def __init__(self, names: Names, parameters: Mapping[int, Code], call: Caller) -> None:
        self._names = names
        self._parameters = parameters
        self._call = call

    def emit(self, expr: Expr) -> Code:
        """Returns the Python of an expression; NotSimple if it has none."""
        emit = _EMITTERS.get(type(expr))
        if emit is None:
            raise NotSimple
        return emit(self, expr)

    def emit_condition(self, expr: Expr) -> str:
        """Returns Python that is true if a condition is true, and false or None otherwise."""
        if isinstance(expr, BoolOp) and expr.op in {"AND", "OR"}:
            parts = [self.emit(each) for each in expr.args]
            if expr.op == "OR" or not any(each.fails for each in parts[1:]):
                inside = [self.emit_condition(each) for each in expr.args]
                return "(" + f" {expr.op.lower()} ".join(inside) + ")"
        return self.emit(expr).source

    # ---- nodes

    def _constant(self, expr: Constant) -> Code:
        value = expr.value
        if value is None:
            return Code("None")
        if type(value) in {int, bool}:
            return Code(repr(value) if not isinstance(value, int) or value >= 0 else f"({value!r})", nullable=False)
        if isinstance(value, str) and expr.type.name in {"text", "varchar"}:
            return Code(self._names.add(value), nullable=False)
        if isinstance(value, Decimal | float):
            return Code(self._names.add(value), nullable=False)
        raise NotSimple

    def _parameter(self, expr: Parameter) -> Code:
        code = self._parameters[expr.number]
        if expr.type.element is None:
            return code
        return self.strict([code], lambda a: f"copy_array({a})")  # the variable may change its list in place

    def _array_to_read(self, expr: Expr) -> Code:
        """Returns Python of an array of which only items or the length are read."""
        return self._parameters[expr.number] if isinstance(expr, Parameter) else self.emit(expr)

    def _routine_or_function(self, expr: Call) -> Code:
        args = [self.emit(each) for each in expr.args]
        if expr.function.oid >= FIRST_USER_OID:
            return self._call(expr, args)
        name, result = expr.function.name, expr.type.name
        types = [each.type.name for each in expr.args]
        if (match := _INTEGER_CALL.fullmatch(name)) is not None or (
            name in {"abs", "mod"} and set(types) <= INTEGER_LIMITS.keys() and result in INTEGER_LIMITS
        ):
            return self._integer(match[2] if match else name, result, args)
        if name in _NUMERIC_CALLS:
            helper = _NUMERIC_CALLS[name]
            return self.strict(args, lambda *names: f"{helper}({', '.join(names)})", fails=True)
        if name in _FOUR:
            return self.strict(args, lambda a, b: f"({a} {_FOUR[name]} {b})")
        if (match := _COMPARED.fullmatch(name)) is not None and not {"bpchar", "date"} & set(types):
            sign = _COMPARISONS[match[2]]
            if match[1] == "float8":
                return self.strict(args, lambda a, b: f"(order_float({a}) {sign} order_float({b}))")
            return self.strict(args, lambda a, b: f"({a} {sign} {b})")
        match name:
            case "float8pl" | "float8mi":
                sign = "+" if name == "float8pl" else "-"
                return self.strict(args, lambda a, b: f"check_float({a} {sign} {b}, {a}, {b})", fails=True)
            case "float8mul":
                return self.strict(args, lambda a, b: f"multiply_float({a}, {b})", fails=True)
            case "float8div":
                return self.strict(args, lambda a, b: f"divide_float({a}, {b})", fails=True)
            case "float8um":
                return self.strict(args, lambda a: f"(-{a})")
            case "textcat":
                return self.strict(args, _join, fails=True)
            case "textanycat" if types[0] == "text":
                return self.strict([args[0], self._to_text(args[1], expr.args[1].type)], _join, fails=True)
            case "anytextcat" if types[1] == "text":
                return self.strict([self._to_text(args[0], expr.args[0].type), args[1]], _join, fails=True)
            case "length" | "char_length" | "character_length" if types == ["text"]:
                return self.strict(args, lambda a: f"len({a})")
            case "cardinality" if getattr(expr.args[0].type, "dims", 0) == 1:
                return self.strict([self._array_to_read(expr.args[0])], lambda a: f"len({a})")
            case "array_length" | "array_upper" if getattr(expr.args[0].type, "dims", 0) == 1 and _is_one(expr.args[1]):
                code = self.strict([self._array_to_read(expr.args[0])], lambda a: f"(len({a}) or None)")
                return Code(code.source, True, code.fails)
            case "array_append" if getattr(expr.args[0].type, "dims", 0) == 1:
                return Code(f"append_item({args[0].source}, {args[1].source})", nullable=False, fails=True)
        raise NotSimple

    def _integer(self, operation: str, result: str, args: list[Code]) -> Code:
        if operation in _COMPARISONS:
            return self.strict(args, lambda a, b: f"({a} {_COMPARISONS[operation]} {b})")
        match operation:
            case "pl" | "mi" | "mul":
                sign = {"pl": "+", "mi": "-", "mul": "*"}[operation]
                return self.strict(args, lambda a, b: self._in_range(f"{a} {sign} {b}", result), fails=True)
            case "div":
                return self.strict(args, lambda a, b: self._in_range(f"divide_integers({a}, {b})", result), fails=True)
            case "mod":
                return self.strict(args, lambda a, b: _remainder(a, b), fails=True)
            case "um":
                return self.strict(args, lambda a: self._in_range(f"-{a}", result), fails=True)
            case "abs":
                return self.strict(args, lambda a: self._in_range(f"abs({a})", result), fails=True)
            case "up":
                return args[0]
        raise NotSimple

    def _in_range(self, source: str, name: str) -> str:
        low, high = INTEGER_LIMITS[name]
        result = self._names.temporary()
        return f"({result} if {low} <= ({result} := {source}) <= {high} else raise_out_of_range({name!r}))"

    def strict(self, args: Sequence[Code], build: Callable[..., str], *, fails: bool = False) -> Code:
        """Returns Python that is None if an argument is, else what `build` makes of their names."""
        names, tests = [], []
        for each in args:
            if each.is_name:
                names.append(each.source)
                if each.nullable:
                    tests.append(f"{each.source} is None")
                continue
            name = self._names.temporary()
            names.append(name)
            tests.append(f"({name} := {each.source}) is None")
        body = build(*names)
        fails = fails or any(each.fails for each in args)
        if not tests:
            return Code(body, nullable=False, fails=fails)
        # All arguments are evaluated, although one is NULL: each may raise
        joined = " or ".join(tests) if len(tests) == 1 or not any(":=" in each for each in tests[1:]) else ""
        joined = joined or " | ".join(f"({each})" for each in tests)
        return Code(f"(None if {joined} else {body})", any(each.nullable for each in args), fails)

    # ---- conversions

    def _cast(self, expr: Cast) -> Code:
        return self.convert(self.emit(expr.arg), expr.arg.type, expr.type, explicit=expr.explicit)

    def convert(self, value: Code, source: SqlType, target: SqlType, *, explicit: bool = False) -> Code:
        """Returns Python that converts a value; NotSimple."""
        if target.domain is not None or source.user is not None or target.user is not None:
            raise NotSimple
        if source == target or (source.name == target.name and target.modifier in {-1, source.modifier}):
            return value
        before, after = source.name, target.name
        if before in INTEGER_LIMITS and after in INTEGER_LIMITS:
            if INTEGER_LIMITS[before][1] <= INTEGER_LIMITS[after][1]:
                return value
            return self.strict([value], lambda a: self._in_range(a, after), fails=True)
        if before in INTEGER_LIMITS and after == "float8":
            return self.strict([value], lambda a: f"float({a})")
        if after == "numeric" and before in {*INTEGER_LIMITS, "numeric"}:
            made = value if before == "numeric" else self.strict([value], lambda a: f"Decimal({a})")
            if target.modifier == -1:
                return made
            item = self._names.add(widen(target))
            return self.strict([made], lambda a: f"fit_numeric({item}, {a})", fails=True)
        if before in {"numeric", "float8"} and after in INTEGER_LIMITS:
            low, high = INTEGER_LIMITS[after]
            helper = "numeric_to_integer" if before == "numeric" else "float_to_integer"
            return self.strict([value], lambda a: f"{helper}({a}, {after!r}, {low}, {high})", fails=True)
        if before == "bool" and after == "int4":
            return self.strict([value], lambda a: f"int({a})")
        if before == "int4" and after == "bool":
            return self.strict([value], lambda a: f"({a} != 0)")
        if after == "text" or (after == "varchar" and target.modifier == -1):
            return self._to_text(value, source)
        if before in {"text", "varchar"} and after in _READ_TYPES:
            item = self._names.add(target)
            return self.strict([value], lambda a: f"read({item}, {a})", fails=True)
        if before in {"text", "varchar"} and after == "varchar" and not explicit:
            item = self._names.add(target)
            return self.strict([value], lambda a: f"read({item}, {a})", fails=True)
        raise NotSimple

    def _to_text(self, value: Code, source: SqlType) -> Code:
        if source.user is not None or source.domain is not None:
            raise NotSimple
        if source.name in {"text", "varchar", "name"}:
            return value
        if source.name in INTEGER_LIMITS:
            return self.strict([value], lambda a: f"str({a})")
        if source.name == "bool":
            return self.strict([value], lambda a: f"('true' if {a} else 'false')")
        if source.name in _SHOWN_TYPES:
            item = self._names.add(source)
            return self.strict([value], lambda a: f"show({item}, {a})")
        raise NotSimple

    # ---- logic

    def _logic(self, expr: BoolOp) -> Code:
        args = [self.emit(each) for each in expr.args]
        if expr.op == "NOT":
            return self.strict(args, lambda a: f"(not {a})")
        stop, helper = ("False", "both") if expr.op == "AND" else ("True", "either")
        result = args[0]
        for each in args[1:]:
            fails = result.fails or each.fails
            if not result.nullable and not each.nullable:
                result = Code(f"({result.source} {expr.op.lower()} {each.source})", False, fails)
                continue
            name = self._names.temporary()
            source = f"({stop} if ({name} := {result.source}) is {stop} else {helper}({name}, {each.source}))"
            result = Code(source, True, fails)
        return result

    def _test(self, expr: Test) -> Code:
        arg = self.emit(expr.arg)
        word = {"NULL": "None", "TRUE": "True", "FALSE": "False", "UNKNOWN": "None"}[expr.what]
        if expr.arg.type.fields:
            raise NotSimple
        return Code(f"({arg.source} is{' not' if expr.negated else ''} {word})", False, arg.fails)

    def _distinct(self, expr: DistinctFrom) -> Code:
        if expr.left.type.name not in {*INTEGER_LIMITS, "text", "bool", "numeric"}:
            raise NotSimple
        left, right = self.emit(expr.left), self.emit(expr.right)
        return Code(
            f"({left.source} {'==' if expr.negated else '!='} {right.source})", False, left.fails or right.fails
        )

    def _case(self, expr: Case) -> Code:
        result = self.emit(expr.default)
        for condition, value in reversed(expr.branches):
            test, chosen = self.emit_condition(condition), self.emit(value)
            source = f"({chosen.source} if {test} else {result.source})"
            result = Code(source, chosen.nullable or result.nullable, True)
        return result

    def _choice(self, expr: Choice) -> Code:
        args = [self.emit(each) for each in expr.args]
        if expr.op != "COALESCE":
            raise NotSimple
        result = args[-1]
        for each in reversed(args[:-1]):
            name = self._names.temporary()
            source = f"({name} if ({name} := {each.source}) is not None else {result.source})"
            result = Code(source, each.nullable and result.nullable, each.fails or result.fails)
        return result

    def _in_list(self, expr: InList) -> Code:
        if expr.arg.type.name not in {*INTEGER_LIMITS, "text", "bool", "numeric"}:
            raise NotSimple
        arg, items = self.emit(expr.arg), [self.emit(each) for each in expr.items]
        fails = arg.fails or any(each.fails for each in items)
        found = f"is_in({arg.source}, ({', '.join(each.source for each in items)},))"
        if not expr.negated:
            return Code(found, True, fails)
        return self.strict([Code(found, True, fails)], lambda a: f"(not {a})")

    # ---- arrays

    def _array(self, expr: Array) -> Code:
        items = [self.emit(each) for each in expr.items]
        return Code(f"[{', '.join(each.source for each in items)}]", False, any(each.fails for each in items))

    def _subscript(self, expr: Subscript) -> Code:
        if expr.slice or expr.inner or expr.low is not None or expr.high is None or expr.arg.type.element is None:
            raise NotSimple
        helper = "get_single_item" if expr.arg.type.dims == 1 else "get_item"
        return self.strict([self._array_to_read(expr.arg), self.emit(expr.high)], lambda a, b: f"{helper}({a}, {b})")


def _is_one(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value == 1


def _remainder(a: str, b: str) -> str:
    if b.isdigit() and int(b):
        return f"({a} % {b} if {a} >= 0 else -(-{a} % {b}))"
    return f"remainder_of_integers({a}, {b})"


_EMITTERS: dict[type, Callable[[Emitter, Any], Code]] = {
    Array: Emitter._array,
    BoolOp: Emitter._logic,
    Call: Emitter._routine_or_function,
    Case: Emitter._case,
    Cast: Emitter._cast,
    Choice: Emitter._choice,
    Constant: Emitter._constant,
    DistinctFrom: Emitter._distinct,
    InList: Emitter._in_list,
    Parameter: Emitter._parameter,
    Subscript: Emitter._subscript,
    Test: Emitter._test,
}
