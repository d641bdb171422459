"""Resolution of calls of functions and operators: PostgreSQL's rules (its manual, chapter 10) on its own tables.

Exact matches win; then candidates that the arguments reach by implicit casts, with the most exact types, then the
most preferred ones; an untyped literal takes the type that the other arguments suggest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions.library import Function, Operator, added_names, casts, functions_by_name, operators_by_name
from gpudb.types import TEXT, WIDE_NUMERIC, SqlType, exact_numeric
from gpudb.types.facts import INTEGER_DIGITS

# Polymorphic parameters of one type, or arrays or ranges of it; and those whose arguments are converted to a common
# type.
ONE_TYPE = ("anyelement", "anyarray", "anynonarray", "anyenum", "anyrange", "anymultirange")
COMPATIBLE = ("anycompatible", "anycompatiblearray", "anycompatiblenonarray")
FAMILIES = frozenset({*ONE_TYPE, *COMPATIBLE})
POLYMORPHIC = FAMILIES | {"any"}


def can_coerce(source: SqlType, target: SqlType, context: str = "i") -> bool:
    """Whether a value converts: context i (implicit), a (assignment, implicit too) or e (explicit, any)."""
    if source.name in {target.name, "unknown"}:
        return True
    if target.name == "anyrange":
        return source.subtype is not None
    if target.name == "anymultirange":
        return source.range_type is not None
    if target.name in POLYMORPHIC:
        if target.name == "anyenum":
            return source.category == "E"
        return _is_array(target) in {None, get_element_type(source) is not None}
    cast = casts().get((source.name, target.name))
    if cast is not None:
        return _is_allowed(cast[0], context)
    if (is_composite(source) and target.name == "record") or (source.name == "record" and is_composite(target)):
        return True
    element = get_element_type(source)
    if element is not None and target.element is not None:
        return can_coerce(element, target.element, context)
    if target.category == "S":
        return context != "i"
    return context == "e" and source.category == "S"


def is_composite(item: SqlType) -> bool:
    """Whether this is a named row type."""
    return item.user is not None and item.user.kind == "c" and item.element is None


# Element types of the system catalog's vectors: arrays that start at 0.
_VECTORS = {"int2vector": SqlType("int2"), "oidvector": SqlType("oid")}


def get_element_type(item: SqlType) -> SqlType | None:
    """Returns the element type of an array or a vector."""
    return item.element or _VECTORS.get(item.name)


def _is_array(parameter: SqlType) -> bool | None:
    """Whether a polymorphic parameter accepts only arrays (True), no arrays (False), or any value (None)."""
    if parameter.name in {"anynonarray", "anycompatiblenonarray"}:
        return False
    return True if parameter.name in {"anyarray", "anycompatiblearray"} else None


def _is_allowed(declared: str, context: str) -> bool:
    return declared == "i" or context == "e" or (declared == "a" and context == "a")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function or operator, with its parameter types for this number of arguments."""

    target: Function | Operator
    types: tuple[SqlType, ...]
    variadic: bool = False
    positions: tuple[int, ...] = ()


@cache
def resolve_function(
    name: str,
    types: tuple[SqlType, ...],
    kinds: str = "faw",
    variadic_call: bool = False,
    user_functions: tuple[Function, ...] = (),
    named: tuple[str, ...] = (),
    system_first: bool | None = True,
) -> Candidate:
    """Resolves `name(types)`, from types without modifiers; 42883 for none, 42725 for several.

    `user_functions` are user-defined functions in the order of their schemas on the search path, before PostgreSQL's
    unless `system_first`, or without those if it is None. The first hide others with equal parameters. `named`
    are the names of the last arguments, if they have any: the candidate's `positions` then map arguments to parameters.
    """
    built_in = () if system_first is None else functions_by_name().get(name, ())
    # A function that a database had before gpudb added one of its name keeps its meaning.
    is_first = system_first and name not in added_names()
    functions = (*built_in, *user_functions) if is_first else (*user_functions, *built_in)
    if named:
        candidates = [
            c
            for candidate_function in functions
            if (c := _match_named(candidate_function, types, kinds, named, variadic_call)) is not None
        ]
    else:
        candidates = list(_expand(functions, len(types), kinds, variadic_call))
        if user_functions and built_in:
            candidates = _hide(candidates, built_in if is_first else user_functions)
    chosen = _choose(candidates, types)
    if chosen is None:
        labels = [""] * (len(types) - len(named)) + [f"{candidate_function} => " for candidate_function in named]
        call = f"{name}({', '.join(label + str(item) for label, item in zip(labels, types, strict=True))})"
        raise UndefinedFunction(
            f"function {call} does not exist",
            hint="No function matches the given name and argument types. You might need to add explicit type casts.",
        )
    if chosen == "ambiguous":
        raise SqlError.of(
            "ambiguous_function",
            f"function {name}({', '.join(map(str, types))}) is not unique",
            hint="Could not choose a best candidate function. You might need to add explicit type casts.",
        )
    assert isinstance(chosen, Candidate)
    return chosen


@cache
def resolve_operator(name: str, left: SqlType | None, right: SqlType) -> Candidate:
    """Resolves `left name right`, from types without modifiers; 42883 for none, 42725 for several."""
    candidates = [
        Candidate(operator_, (operator_.left, operator_.right) if operator_.left else (operator_.right,))
        for operator_ in operators_by_name().get(name, ())
        if (operator_.left is None) == (left is None)
    ]
    types = (right,) if left is None else (left, right)
    chosen = _choose(candidates, types, binary=left is not None)
    call = f"{name} {right}" if left is None else f"{left} {name} {right}"
    if chosen is None:
        hint = "No operator matches the given name and argument types. You might need to add explicit type casts."
        if left is None:
            hint = "No operator matches the given name and argument type. You might need to add an explicit type cast."
        raise UndefinedFunction(f"operator does not exist: {call}", hint=hint)
    if chosen == "ambiguous":
        raise SqlError.of(
            "ambiguous_function",
            f"operator is not unique: {call}",
            hint="Could not choose a best candidate operator. You might need to add explicit type casts.",
        )
    assert isinstance(chosen, Candidate)
    return chosen


def _expand(functions: Iterable[Function], count: int, kinds: str, variadic_call: bool) -> Iterable[Candidate]:
    for function in functions:
        if function.kind not in kinds:
            continue
        size = len(function.args)
        if function.variadic is not None and not variadic_call and count >= size:
            item = function.variadic if function.variadic.name != "any" else SqlType("any")
            yield Candidate(function, function.args[:-1] + (item,) * (count - size + 1), variadic=True)
        elif size - function.defaults <= count <= size:
            yield Candidate(function, function.args[:count])


def _hide(candidates: Sequence[Candidate], first: Sequence[Function]) -> list[Candidate]:
    """Leaves out those that take the same types as one of the first functions: a schema hides those after it."""
    taken = {tuple(item.name for item in each.types) for each in candidates if each.target in first}
    return [each for each in candidates if each.target in first or tuple(t.name for t in each.types) not in taken]


def _match_named(
    function: Function, types: Sequence[SqlType], kinds: str, named: tuple[str, ...], variadic_call: bool
) -> Candidate | None:
    """Returns a function as a candidate for a call with named arguments: all other parameters need a default."""
    count = len(types) - len(named)
    if function.variadic is not None and not variadic_call:
        return None
    if function.kind not in kinds or not set(named) <= set(function.arg_names[count:]):
        return None
    positions = (*range(count), *(function.arg_names.index(item) for item in named))
    missing = set(range(len(function.args) - function.defaults)) - set(positions)
    if missing or max(positions) >= len(function.args):
        return None
    return Candidate(function, tuple(function.args[position] for position in positions), positions=positions)


def _choose(
    candidates: Sequence[Candidate], types: Sequence[SqlType], *, binary: bool = False
) -> Candidate | str | None:
    names = [type_.name for type_ in types]
    if binary and "unknown" in names and names != ["unknown", "unknown"]:
        other = names[0] if names[1] == "unknown" else names[1]
        for candidate in candidates:
            if all(type_.name == other for type_ in candidate.types):
                return candidate
    for candidate in candidates:
        if [type_.name for type_ in candidate.types] == names and not candidate.variadic:
            return candidate
    fitting = [c for c in candidates if _accepts(c, types)]
    if len(fitting) <= 1:
        return fitting[0] if fitting else None
    fitting = _select_best(fitting, lambda c: sum(_matches_exactly(t, p) for t, p in zip(types, c.types, strict=True)))
    if len(fitting) == 1:
        return fitting[0]
    fitting = _select_best(
        fitting,
        lambda c: sum(
            _matches_exactly(t, p) or (t.name != "unknown" and p.is_preferred and p.category == t.category)
            for t, p in zip(types, c.types, strict=True)
        ),
    )
    if len(fitting) == 1:
        return fitting[0]
    if "unknown" in names:
        fitting = _filter_by_category(fitting, types)
        if len(fitting) == 1:
            return fitting[0]
        known_names = {t.name for t in types if t.name != "unknown"}
        if len(known_names) == 1:
            known = SqlType(known_names.pop())
            same = [c for c in fitting if _accepts(c, [known] * len(types))]
            if len(same) == 1:
                return same[0]
    plain = [c for c in fitting if not c.variadic]
    if len(plain) == 1:
        return plain[0]
    return "ambiguous"


def _matches_exactly(item: SqlType, parameter: SqlType) -> bool:
    return item.name == parameter.name


def _accepts(candidate: Candidate, types: Sequence[SqlType]) -> bool:
    if not all(can_coerce(item, parameter) for item, parameter in zip(types, candidate.types, strict=True)):
        return False
    try:
        return bind_polymorphic(candidate.types, types, SqlType("void")) is not None
    except SqlError:
        return False


T = TypeVar("T")


def _select_best(items: Sequence[T], score: Callable[[T], int]) -> list[T]:
    scores = [score(item) for item in items]
    best = max(scores)
    return [item for item, value in zip(items, scores, strict=True) if value == best]


def _filter_by_category(candidates: list[Candidate], types: Sequence[SqlType]) -> list[Candidate]:
    """Assigns types to untyped literals: string if any candidate accepts one there, else the one category all
    agree on.
    """
    categories_by_index: dict[int, tuple[str, bool]] = {}
    for index, item in enumerate(types):
        if item.name != "unknown":
            continue
        categories = {c.types[index].category for c in candidates}
        if "S" in categories:
            category = "S"
        elif len(categories) == 1:
            (category,) = categories
        else:
            return candidates
        preferred = any(c.types[index].is_preferred and c.types[index].category == category for c in candidates)
        categories_by_index[index] = (category, preferred)
    fitting = [
        c
        for c in candidates
        if all(
            c.types[i].category == cat and (not pref or c.types[i].is_preferred)
            for i, (cat, pref) in categories_by_index.items()
        )
    ]
    if fitting:
        return fitting
    return [
        c for c in candidates if all(c.types[i].category == cat for i, (cat, _) in categories_by_index.items())
    ] or candidates


def check_typed(parameters: Sequence[SqlType], types: Sequence[SqlType]) -> None:
    """Raises 42804 if no argument determines the types of a call's polymorphic parameters."""
    type_names = [t.name for p, t in zip(parameters, types, strict=True) if p.name in ONE_TYPE]
    if type_names and all(name == "unknown" for name in type_names):
        message = "could not determine polymorphic type because input has type unknown"
        raise SqlError.of("datatype_mismatch", message)


def bind_polymorphic(
    parameters: Sequence[SqlType], types: Sequence[SqlType], result: SqlType
) -> tuple[tuple[SqlType, ...], SqlType]:
    """Returns the concrete parameter and result types of a polymorphic call; those of other calls unchanged.

    42804 if arguments of one polymorphic family disagree.
    """
    if not any(p.name in POLYMORPHIC for p in parameters):
        return tuple(parameters), result
    element = _get_family_element(parameters, types, ONE_TYPE, common=False)
    ranges = [t.range_type or t for t in types if t.subtype is not None or t.range_type is not None]
    compatible = _get_family_element(parameters, types, COMPATIBLE, common=True)

    def concrete(parameter: SqlType, item: SqlType | None) -> SqlType:
        match parameter.name:
            case "anyelement" | "anynonarray" | "anyenum":
                return element or TEXT
            case "anyarray":
                return (element or TEXT).array
            case "anyrange":
                return ranges[0] if ranges else TEXT
            case "anymultirange":
                return SqlType(ranges[0].name.replace("range", "multirange")) if ranges else TEXT
            case "anycompatible" | "anycompatiblenonarray":
                return compatible or TEXT
            case "anycompatiblearray":
                return (compatible or TEXT).array
            case "any":
                return item if item is not None and item.name != "unknown" else TEXT
            case _:
                return parameter

    bound = tuple(concrete(p, t) for p, t in zip(parameters, types, strict=True))
    return bound, concrete(result, None)


def _get_family_element(
    parameters: Sequence[SqlType], types: Sequence[SqlType], names: Sequence[str], *, common: bool
) -> SqlType | None:
    elements = []
    for parameter, item in zip(parameters, types, strict=True):
        if parameter.name not in names or item.name == "unknown":
            continue
        element, kind = _get_family_member(parameter, item)
        if element is None:
            message = f"argument declared {parameter.name} is not {kind} but type {item}"
            raise SqlError.of("datatype_mismatch", message)
        elements.append(element)
    if not elements:
        return None
    if common:
        return find_common_type(elements, "function arguments")
    if len({element_.name for element_ in elements}) > 1:
        raise SqlError.of("datatype_mismatch", 'arguments declared "anyelement" are not all alike')
    return unify_types(elements)


def _get_family_member(parameter: SqlType, item: SqlType) -> tuple[SqlType | None, str]:
    """Returns an argument's contribution to its family's element type, and the argument's own type."""
    match parameter.name:
        case "anyrange":
            return item.subtype, "a range type"
        case "anymultirange":
            return None if item.range_type is None else item.range_type.subtype, "a multirange type"
    return get_element_type(item) if _is_array(parameter) else item, "an array"


def find_common_type(types: Sequence[SqlType], context: str) -> SqlType:
    """Returns the common type of the branches of CASE, UNION, VALUES, COALESCE or ARRAY; 42804 if there is none."""
    known = [item for item in types if item.name != "unknown"]
    if not known:
        return TEXT
    if len({item.name for item in known}) == 1:
        return unify_types(known)
    chosen = known[0]
    for item in known[1:]:
        if item.name == chosen.name:
            continue
        if item.category != chosen.category:
            raise SqlError.of("datatype_mismatch", f"{context} types {chosen} and {item} cannot be matched")
        if not chosen.is_preferred and can_coerce(chosen, item) and not can_coerce(item, chosen):
            chosen = item
    for item in known:
        if not can_coerce(item, chosen):
            raise SqlError.of("cannot_coerce", f"{context} could not convert type {item} to {chosen}")
    if chosen.name.lstrip("_") == "numeric":
        return unify_types([to_numeric_type(item) for item in known])
    return chosen.plain


def to_numeric_type(item: SqlType) -> SqlType:
    """Returns the numeric type that represents every value of a number type exactly; for an array the array of it."""
    if item.element is not None:
        return (
            item if item.name == "_numeric" else replace(to_numeric_type(item.element), name="_numeric", dims=item.dims)
        )
    if item.name in INTEGER_DIGITS:
        return exact_numeric(INTEGER_DIGITS[item.name], 0)
    if item.name == "money":
        return exact_numeric(21, 2)
    return item if item.name == "numeric" else SqlType("numeric")


def unify_types(types: Sequence[SqlType]) -> SqlType:
    """Returns one type for values of types that differ at most in modifiers or digits."""
    deepest = max(item.dims for item in types)
    if deepest > 1:
        types = [replace(item, dims=deepest) for item in types]
    first = types[0]
    if all(item_type == first for item_type in types):
        return first
    if any(item_type.wide for item_type in types):
        return replace(WIDE_NUMERIC, name=first.name, dims=deepest)
    if first.fields:
        return _unify_rows(types)
    distinct = {item_type.without_modifier for item_type in types}
    if len(distinct) == 1:
        return distinct.pop()
    if first.name.lstrip("_") != "numeric":
        return first.plain
    arrays = first.element is not None
    items = [item_type.element or item_type for item_type in types]
    scales = {item_type.numeric_digits[1] for item_type in items}
    integer_digits = max(item_type.numeric_digits[0] - item_type.numeric_digits[1] for item_type in items)
    varying = len(scales) > 1 or any(item_type.is_carried for item_type in items)
    unified = exact_numeric(integer_digits + max(scales), max(scales), varying=varying)
    return replace(unified, name="_numeric", dims=deepest) if arrays else unified


def _unify_rows(types: Sequence[SqlType]) -> SqlType:
    """Returns one row type for several whose fields differ at most in modifiers or digits."""
    first = types[0]
    if any([item.name for _, item in row.fields] != [item.name for _, item in first.fields] for row in types):
        raise FeatureNotSupported("rows whose fields are of different types in one place are not supported")
    columns = zip(*([item for _, item in row.fields] for row in types), strict=True)
    fields = tuple((name, unify_types(column)) for (name, _), column in zip(first.fields, columns, strict=True))
    return replace(first, fields=fields)
