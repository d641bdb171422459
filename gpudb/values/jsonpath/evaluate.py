"""Evaluator of jsonpaths over JSON values (jsonpath_exec.c): lax and strict, filters, methods, arithmetic, comparisons.

JSON values are Python's, numbers Decimals; .datetime() returns a `Moment`. A predicate is True, False or None: unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_DOWN, Decimal
from itertools import islice
from typing import Any

from gpudb.errors import GpudbError, SqlError
from gpudb.values.jsonpath import arithmetic, datetimes
from gpudb.values.jsonpath.grammar import ANY_LEVEL, COMPARISONS, Item, Path
from gpudb.values.zones import Zone

Results = Iterator[Any]
Matcher = Callable[[str, str, str], bool]
_PREDICATES = COMPARISONS | {"&&", "||", "!", "exists", "is unknown", "starts with", "like_regex"}
_NAMES = {bool: "boolean", str: "string", dict: "object", list: "array", Decimal: "number", type(None): "null"}


class Evaluation:
    """One evaluation of a path over `root`. `matches` implements like_regex; `zone` is the session's for a _tz
    function.
    """

    def __init__(self, path: Path, root: Any, variables: Any, matches: Matcher, zone: Zone | None) -> None:
        self._path = path
        self._root = self._current = root
        self._variables = variables
        self._matches = matches
        self._zone = zone
        self._lax = self._lenient = path.lax
        self._sizes: list[int] = []
        self._methods = 0

    def run(self) -> list[Any]:
        """Returns all results; raises the errors of class 22 that PostgreSQL raises unless it is silent."""
        return list(self.results())

    def results(self) -> Results:
        """Yields the results one by one; such an error is raised after the results before it."""
        return self._evaluate(self._path.item, self._root)

    def has_result(self) -> bool:
        """Whether there is a result: in lax mode evaluation stops at the first one."""
        return self._has_result(self._path.item, self._root)

    def _has_result(self, item: Item, value: Any) -> bool:
        if not self._lax:
            return bool(list(self._evaluate(item, value)))
        if item.kind in {"+1", "-1"} and item.next is None:
            return any(isinstance(operand, Decimal) for operand in self._evaluate_operand(item.args[0], value))
        return bool(list(islice(self._evaluate(item, value), 1)))

    # ------------------------------------------------------------------------------------------ steps

    def _evaluate(self, item: Item, value: Any, unwrap: bool | None = None) -> Results:
        """Yields the results of an item and its successors for a value; `unwrap` None means by the mode."""
        unwrap = self._lax if unwrap is None else unwrap
        kind = item.kind
        if kind in _PREDICATES:
            return self._continue(item, self._test(item, value))
        match kind:
            case "$":
                return self._continue(item, self._root)
            case "@":
                return self._continue(item, self._current)
            case "null" | "bool" | "number" | "string":
                return self._continue(item, item.value)
            case "variable":
                return self._continue(item, self._get_variable(str(item.value)))
            case "last":
                return self._continue(item, Decimal(self._sizes[-1] - 1))
            case "key":
                return self._evaluate_key(item, value, unwrap)
            case "[*]":
                return self._evaluate_elements(item, value)
            case ".*":
                return self._evaluate_members(item, value, unwrap)
            case "index":
                return self._evaluate_subscripts(item, value)
            case "**":
                return self._evaluate_levels(item, value)
            case "+" | "-" | "*" | "/" | "%":
                return self._continue(item, self._compute(item, value))
            case "+1" | "-1":
                return self._evaluate_signed(item, value)
            case "type":
                return self._continue(item, get_type_name(value))
            case "size":
                return self._evaluate_size(item, value)
        if unwrap and isinstance(value, list):
            return self._evaluate_each(item, value)
        match kind:
            case "?":
                return self._continue(item, value) if self._passes_filter(item, value) else iter(())
            case "abs" | "floor" | "ceiling":
                if not isinstance(value, Decimal):
                    message = f"jsonpath item method .{kind}() can only be applied to a numeric value"
                    raise arithmetic.non_numeric_item_error(message)
                return self._continue(item, arithmetic.UNARY[kind](value))
            case "double":
                return self._continue(item, arithmetic.to_double(value))
            case "datetime":
                return self._continue(item, self._parse_datetime(item, value))
            case _:
                return self._evaluate_keyvalue(item, value)

    def _continue(self, item: Item, value: Any) -> Results:
        return iter((value,)) if item.next is None else self._evaluate(item.next, value)

    def _evaluate_each(self, item: Item, values: list[Any], unwrap: bool = False) -> Results:
        for element in values:
            yield from self._evaluate(item, element, unwrap)

    def _continue_each(self, item: Item, values: Any) -> Results:
        """Applies the following steps to every value."""
        for element in values:
            yield from self._continue(item, element)

    def _evaluate_key(self, item: Item, value: Any, unwrap: bool) -> Results:
        if isinstance(value, dict):
            if item.value in value:
                return self._continue(item, value[item.value])
            if self._lenient:
                return iter(())
            message = f'JSON object does not contain key "{item.value}"'
            raise SqlError.of("sql_json_member_not_found", message)
        if unwrap and isinstance(value, list):
            return self._evaluate_each(item, value)
        if self._lenient:
            return iter(())
        message = "jsonpath member accessor can only be applied to an object"
        raise SqlError.of("sql_json_member_not_found", message)

    def _evaluate_elements(self, item: Item, value: Any) -> Results:
        if isinstance(value, list):
            return self._continue_each(item, value)
        if self._lax:
            return self._continue(item, value)
        if self._lenient:
            return iter(())
        message = "jsonpath wildcard array accessor can only be applied to an array"
        raise SqlError.of("sql_json_array_not_found", message)

    def _evaluate_members(self, item: Item, value: Any, unwrap: bool) -> Results:
        if isinstance(value, dict):
            return self._continue_each(item, value.values())
        if unwrap and isinstance(value, list):
            return self._evaluate_each(item, value)
        if self._lenient:
            return iter(())
        message = "jsonpath wildcard member accessor can only be applied to an object"
        raise SqlError.of("sql_json_object_not_found", message)

    def _evaluate_subscripts(self, item: Item, value: Any) -> Results:
        if not isinstance(value, list) and not self._lax:
            if self._lenient:
                return
            message = "jsonpath array accessor can only be applied to an array"
            raise SqlError.of("sql_json_array_not_found", message)
        values = value if isinstance(value, list) else [value]
        self._sizes.append(len(values))
        try:
            for first, last in zip(item.args[::2], item.args[1::2], strict=True):
                low = self._evaluate_index(first, value)
                high = low if last is None else self._evaluate_index(last, value)
                if not self._lenient and (low < 0 or low > high or high >= len(values)):
                    raise _subscript_error("jsonpath array subscript is out of bounds")
                for element in values[max(low, 0) : min(high, len(values) - 1) + 1]:
                    yield from self._continue(item, element)
        finally:
            self._sizes.pop()

    def _evaluate_index(self, item: Item | None, value: Any) -> int:
        assert item is not None
        results = list(self._evaluate(item, value))
        if len(results) != 1 or not isinstance(results[0], Decimal):
            raise _subscript_error("jsonpath array subscript is not a single numeric value")
        index = int(results[0].to_integral_value(ROUND_DOWN))
        if not -(2**31) <= index < 2**31:
            raise _subscript_error("jsonpath array subscript is out of integer range")
        return index

    def _evaluate_levels(self, item: Item, value: Any) -> Results:
        assert isinstance(item.value, tuple)
        first, last = item.value
        with self._use_lenient_mode():
            if first == 0:
                yield from self._continue(item, value)
            for descendant in _descendants(value, 1, first, last):
                yield from self._continue(item, descendant)

    def _evaluate_size(self, item: Item, value: Any) -> Results:
        if not isinstance(value, list) and not self._lax:
            if self._lenient:
                return iter(())
            message = "jsonpath item method .size() can only be applied to an array"
            raise SqlError.of("sql_json_array_not_found", message)
        return self._continue(item, Decimal(len(value) if isinstance(value, list) else 1))

    def _evaluate_keyvalue(self, item: Item, value: Any) -> Results:
        """Evaluates keyvalue()."""
        if not isinstance(value, dict):
            message = "jsonpath item method .keyvalue() can only be applied to an object"
            raise SqlError.of("sql_json_object_not_found", message)
        number = Decimal(0) if value is self._root else self._next_id()
        for key, member in value.items():
            yield from self._continue(item, {"id": number, "key": key, "value": member})

    def _next_id(self) -> Decimal:
        """Returns an id for an object other than the root: unique in the evaluation, as PostgreSQL's offset is."""
        self._methods += 1
        return Decimal(self._methods)

    def _parse_datetime(self, item: Item, value: Any) -> datetimes.DatetimeValue:
        if not isinstance(value, str):
            message = "jsonpath item method .datetime() can only be applied to a string"
            raise SqlError.of("invalid_argument_for_sql_json_datetime_function", message)
        if item.args:
            raise SqlError.of("feature_not_supported", "a template of jsonpath's .datetime() is not supported")
        return datetimes.parse_datetime(value)

    def _get_variable(self, name: str) -> Any:
        if self._variables is None:
            return None
        if name not in self._variables:
            raise SqlError.of("undefined_object", f'could not find jsonpath variable "{name}"')
        return self._variables[name]

    # ------------------------------------------------------------------------------------------ arithmetic

    def _evaluate_operand(self, item: Item | None, value: Any, unwrap: bool = True) -> list[Any]:
        """Returns an operand's values, with arrays unwrapped in lax mode."""
        assert item is not None
        results = self._evaluate(item, value)
        if not (unwrap and self._lax):
            return list(results)
        return [part for result in results for part in (result if isinstance(result, list) else [result])]

    def _compute(self, item: Item, value: Any) -> Decimal:
        operands = []
        for side, arg in zip(("left", "right"), item.args, strict=True):
            operands.append((side, self._evaluate_operand(arg, value)))
        for side, results in operands:
            if len(results) != 1 or not isinstance(results[0], Decimal):
                message = f"{side} operand of jsonpath operator {item.kind} is not a single numeric value"
                raise SqlError.of("singleton_sql_json_item_required", message)
        return arithmetic.BINARY[item.kind](operands[0][1][0], operands[1][1][0])

    def _evaluate_signed(self, item: Item, value: Any) -> Results:
        for operand in self._evaluate_operand(item.args[0], value):
            if not isinstance(operand, Decimal):
                message = f"operand of unary jsonpath operator {item.kind[0]} is not a numeric value"
                raise SqlError.of("sql_json_number_not_found", message)
            yield from self._continue(item, arithmetic.UNARY[item.kind](operand))

    # ------------------------------------------------------------------------------------------ predicates

    def _passes_filter(self, item: Item, value: Any) -> bool:
        outer, self._current = self._current, value
        try:
            return self._test(_get_first_argument(item), value) is True
        finally:
            self._current = outer

    def _test(self, item: Item, value: Any) -> bool | None:
        match item.kind:
            case "&&":
                left = self._test(_get_first_argument(item), value)
                if left is False:
                    return False
                right = self._test(_get_second_argument(item), value)
                return left if right is True else right
            case "||":
                left = self._test(_get_first_argument(item), value)
                if left is True:
                    return True
                right = self._test(_get_second_argument(item), value)
                return left if right is False else right
            case "!":
                result = self._test(_get_first_argument(item), value)
                return None if result is None else not result
            case "is unknown":
                return self._test(_get_first_argument(item), value) is None
            case "exists":
                return self._exists(_get_first_argument(item), value)
            case "starts with":
                return self._compare_operands(item, value, False, _starts_with)
            case "like_regex":
                assert isinstance(item.value, tuple)
                pattern, flags = item.value
                return self._compare_operands(
                    item, value, False, lambda a, _: self._matches(a, pattern, flags) if isinstance(a, str) else None
                )
        return self._compare_operands(item, value, True, lambda a, b: self._compare(item.kind, a, b))

    def _exists(self, item: Item, value: Any) -> bool | None:
        try:
            return self._has_result(item, value)
        except GpudbError as error:
            if is_suppressible(error):
                return None
            raise

    def _evaluate_operand_quietly(self, item: Item | None, value: Any, unwrap: bool) -> list[Any] | None:
        """Returns an operand's values, or None if evaluating them fails."""
        try:
            return self._evaluate_operand(item, value, unwrap)
        except GpudbError as error:
            if is_suppressible(error):
                return None
            raise

    def _compare_operands(
        self, item: Item, value: Any, unwrap: bool, test: Callable[[Any, Any], bool | None]
    ) -> bool | None:
        """Whether any pair of the operands' values satisfies the comparison; unknown is handled as in PostgreSQL."""
        left = self._evaluate_operand_quietly(item.args[0], value, True)
        if left is None:
            return None
        right: list[Any] | None = [None]
        if len(item.args) > 1:
            right = self._evaluate_operand_quietly(item.args[1], value, unwrap)
        if right is None:
            return None
        unknown = is_satisfied = False
        for a in left:
            for b in right:
                result = test(a, b)
                if result is None:
                    if not self._lax:
                        return None
                    unknown = True
                elif result:
                    if self._lax:
                        return True
                    is_satisfied = True
        return True if is_satisfied else None if unknown else False

    def _compare(self, kind: str, a: Any, b: Any) -> bool | None:
        if type(a) is not type(b):
            return kind == "!=" if a is None or b is None else None
        if isinstance(a, dict | list):
            return None
        if isinstance(a, datetimes.DatetimeValue):
            order = datetimes.compare(a, b, self._zone)
            if order is None:
                return None
        elif a is None:
            order = 0
        else:
            order = (a > b) - (a < b)
        return {
            "==": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0
        }[kind]  # fmt: skip

    @contextmanager
    def _use_lenient_mode(self) -> Iterator[None]:
        outer, self._lenient = self._lenient, True
        try:
            yield
        finally:
            self._lenient = outer


def _get_first_argument(item: Item) -> Item:
    assert item.args[0] is not None
    return item.args[0]


def _get_second_argument(item: Item) -> Item:
    assert item.args[1] is not None
    return item.args[1]


def get_type_name(value: Any) -> str:
    """Returns the result of .type()."""
    return value.kind if isinstance(value, datetimes.DatetimeValue) else _NAMES[type(value)]


def _starts_with(text: Any, start: Any) -> bool | None:
    return text.startswith(start) if isinstance(text, str) and isinstance(start, str) else None


def _subscript_error(message: str) -> SqlError:
    return SqlError.of("invalid_sql_json_subscript", message)


def is_suppressible(error: GpudbError) -> bool:
    """Whether a predicate, or a silent function, treats an error as unknown: errors of the data."""
    return error.sqlstate in _SUPPRESSIBLE or error.sqlstate.startswith("2203")


_SUPPRESSIBLE = frozenset({"22012", "22003", "22008"})


def _descendants(value: Any, level: int, first: int, last: int) -> Iterator[Any]:
    """Yields the values nested at the requested levels; with `last to last` only leaves."""
    if level > last or not isinstance(value, dict | list):
        return
    for element in value.values() if isinstance(value, dict) else value:
        is_leaf = not isinstance(element, dict | list)
        if level >= first or (first == last == ANY_LEVEL and is_leaf):
            yield element
        if level < last:
            yield from _descendants(element, level + 1, first, last)
