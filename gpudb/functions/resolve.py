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
from gpudb.functions.library import Function, Operator, casts, functions_by_name, operators_by_name
from gpudb.types import TEXT, SqlType, exact_numeric

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
        return _is_array(target) in {None, element_of(source) is not None}
    found = casts().get((source.name, target.name))
    if found is not None:
        return _allowed(found[0], context)
    if (is_composite(source) and target.name == "record") or (source.name == "record" and is_composite(target)):
        return True
    held = element_of(source)
    if held is not None and target.element is not None:
        return can_coerce(held, target.element, context)
    if target.category == "S":
        return context != "i"
    return context == "e" and source.category == "S"


def is_composite(item: SqlType) -> bool:
    """Whether this is a named row type."""
    return item.user is not None and item.user.kind == "c" and item.element is None


# Element types of the system catalog's vectors: arrays that start at 0.
_VECTORS = {"int2vector": SqlType("int2"), "oidvector": SqlType("oid")}


def element_of(item: SqlType) -> SqlType | None:
    """Returns the element type of an array or a vector."""
    return item.element or _VECTORS.get(item.name)


def _is_array(parameter: SqlType) -> bool | None:
    """Whether a polymorphic parameter accepts only arrays (True), no arrays (False), or any value (None)."""
    if parameter.name in {"anynonarray", "anycompatiblenonarray"}:
        return False
    return True if parameter.name in {"anyarray", "anycompatiblearray"} else None


def _allowed(declared: str, context: str) -> bool:
    return declared == "i" or context == "e" or (declared == "a" and context == "a")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function or operator, with its parameter types for this number of arguments."""

    target: Function | Operator
    types: tuple[SqlType, ...]
    variadic: bool = False
    places: tuple[int, ...] = ()


@cache
def function(
    name: str,
    types: tuple[SqlType, ...],
    kinds: str = "faw",
    variadic_call: bool = False,
    own: tuple[Function, ...] = (),
    named: tuple[str, ...] = (),
) -> Candidate:
    """Resolves `name(types)`, from types without modifiers; 42883 for none, 42725 for several.

    `own` are user-defined functions beside PostgreSQL's. `named` are the names of the last arguments, if they have any:
    the candidate's `places` then map arguments to parameters.
    """
    functions = (*functions_by_name().get(name, ()), *own)
    if named:
        candidates = [c for each in functions if (c := _by_name(each, types, kinds, named, variadic_call)) is not None]
    else:
        candidates = list(_expand(functions, len(types), kinds, variadic_call))
    chosen = _choose(candidates, types)
    if chosen is None:
        labels = [""] * (len(types) - len(named)) + [f"{each} => " for each in named]
        shown = f"{name}({', '.join(label + str(item) for label, item in zip(labels, types, strict=True))})"
        raise UndefinedFunction(
            f"function {shown} does not exist",
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
def operator(name: str, left: SqlType | None, right: SqlType) -> Candidate:
    """Resolves `left name right`, from types without modifiers; 42883 for none, 42725 for several."""
    candidates = [
        Candidate(each, (each.left, each.right) if each.left else (each.right,))
        for each in operators_by_name().get(name, ())
        if (each.left is None) == (left is None)
    ]
    types = (right,) if left is None else (left, right)
    chosen = _choose(candidates, types, binary=left is not None)
    shown = f"{name} {right}" if left is None else f"{left} {name} {right}"
    if chosen is None:
        hint = "No operator matches the given name and argument types. You might need to add explicit type casts."
        if left is None:
            hint = "No operator matches the given name and argument type. You might need to add an explicit type cast."
        raise UndefinedFunction(f"operator does not exist: {shown}", hint=hint)
    if chosen == "ambiguous":
        raise SqlError.of(
            "ambiguous_function",
            f"operator is not unique: {shown}",
            hint="Could not choose a best candidate operator. You might need to add explicit type casts.",
        )
    assert isinstance(chosen, Candidate)
    return chosen


def _expand(functions: Iterable[Function], count: int, kinds: str, variadic_call: bool) -> Iterable[Candidate]:
    for each in functions:
        if each.kind not in kinds:
            continue
        size = len(each.args)
        if each.variadic is not None and not variadic_call and count >= size:
            item = each.variadic if each.variadic.name != "any" else SqlType("any")
            yield Candidate(each, each.args[:-1] + (item,) * (count - size + 1), variadic=True)
        elif size - each.defaults <= count <= size:
            yield Candidate(each, each.args[:count])


def _by_name(
    each: Function, types: Sequence[SqlType], kinds: str, named: tuple[str, ...], variadic_call: bool
) -> Candidate | None:
    """Returns a function as a candidate for a call with named arguments: all other parameters need a default."""
    count = len(types) - len(named)
    if each.variadic is not None and not variadic_call:
        return None
    if each.kind not in kinds or not set(named) <= set(each.arg_names[count:]):
        return None
    places = (*range(count), *(each.arg_names.index(item) for item in named))
    missing = set(range(len(each.args) - each.defaults)) - set(places)
    if missing or max(places) >= len(each.args):
        return None
    return Candidate(each, tuple(each.args[place] for place in places), places=places)


def _choose(
    candidates: Sequence[Candidate], types: Sequence[SqlType], *, binary: bool = False
) -> Candidate | str | None:
    names = [each.name for each in types]
    if binary and "unknown" in names and names != ["unknown", "unknown"]:
        other = names[0] if names[1] == "unknown" else names[1]
        for candidate in candidates:
            if all(each.name == other for each in candidate.types):
                return candidate
    for candidate in candidates:
        if [each.name for each in candidate.types] == names and not candidate.variadic:
            return candidate
    fitting = [c for c in candidates if _fits(c, types)]
    if len(fitting) <= 1:
        return fitting[0] if fitting else None
    fitting = _most(fitting, lambda c: sum(_exact(t, p) for t, p in zip(types, c.types, strict=True)))
    if len(fitting) == 1:
        return fitting[0]
    fitting = _most(
        fitting,
        lambda c: sum(
            _exact(t, p) or (t.name != "unknown" and p.is_preferred and p.category == t.category)
            for t, p in zip(types, c.types, strict=True)
        ),
    )
    if len(fitting) == 1:
        return fitting[0]
    if "unknown" in names:
        fitting = _by_category(fitting, types)
        if len(fitting) == 1:
            return fitting[0]
        known_names = {t.name for t in types if t.name != "unknown"}
        if len(known_names) == 1:
            known = SqlType(known_names.pop())
            same = [c for c in fitting if _fits(c, [known] * len(types))]
            if len(same) == 1:
                return same[0]
    plain = [c for c in fitting if not c.variadic]
    if len(plain) == 1:
        return plain[0]
    return "ambiguous"


def _exact(item: SqlType, parameter: SqlType) -> bool:
    return item.name == parameter.name


def _fits(candidate: Candidate, types: Sequence[SqlType]) -> bool:
    if not all(can_coerce(item, parameter) for item, parameter in zip(types, candidate.types, strict=True)):
        return False
    try:
        return bind_polymorphic(candidate.types, types, SqlType("void")) is not None
    except SqlError:
        return False


T = TypeVar("T")


def _most(items: Sequence[T], score: Callable[[T], int]) -> list[T]:
    scores = [score(item) for item in items]
    best = max(scores)
    return [item for item, value in zip(items, scores, strict=True) if value == best]


def _by_category(candidates: list[Candidate], types: Sequence[SqlType]) -> list[Candidate]:
    """Assigns types to untyped literals: string if any candidate accepts one there, else the one category all
    agree on.
    """
    wanted: dict[int, tuple[str, bool]] = {}
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
        wanted[index] = (category, preferred)
    kept = [
        c
        for c in candidates
        if all(
            c.types[i].category == cat and (not pref or c.types[i].is_preferred) for i, (cat, pref) in wanted.items()
        )
    ]
    if kept:
        return kept
    return [c for c in candidates if all(c.types[i].category == cat for i, (cat, _) in wanted.items())] or candidates


def check_typed(parameters: Sequence[SqlType], types: Sequence[SqlType]) -> None:
    """Raises 42804 if no argument determines the types of a call's polymorphic parameters."""
    given = [t.name for p, t in zip(parameters, types, strict=True) if p.name in ONE_TYPE]
    if given and all(name == "unknown" for name in given):
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
    element = _family(parameters, types, ONE_TYPE, common=False)
    ranges = [t.range_type or t for t in types if t.subtype is not None or t.range_type is not None]
    compatible = _family(parameters, types, COMPATIBLE, common=True)

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


def _family(
    parameters: Sequence[SqlType], types: Sequence[SqlType], names: Sequence[str], *, common: bool
) -> SqlType | None:
    elements = []
    for parameter, item in zip(parameters, types, strict=True):
        if parameter.name not in names or item.name == "unknown":
            continue
        element, kind = _of_family(parameter, item)
        if element is None:
            message = f"argument declared {parameter.name} is not {kind} but type {item}"
            raise SqlError.of("datatype_mismatch", message)
        elements.append(element)
    if not elements:
        return None
    if common:
        return common_type(elements, "function arguments")
    if len({each.name for each in elements}) > 1:
        raise SqlError.of("datatype_mismatch", 'arguments declared "anyelement" are not all alike')
    return unify(elements)


def _of_family(parameter: SqlType, item: SqlType) -> tuple[SqlType | None, str]:
    """Returns an argument's contribution to its family's element type, and the argument's own type."""
    match parameter.name:
        case "anyrange":
            return item.subtype, "a range type"
        case "anymultirange":
            return None if item.range_type is None else item.range_type.subtype, "a multirange type"
    return element_of(item) if _is_array(parameter) else item, "an array"


def common_type(types: Sequence[SqlType], context: str) -> SqlType:
    """Returns the common type of the branches of CASE, UNION, VALUES, COALESCE or ARRAY; 42804 if there is none."""
    known = [each for each in types if each.name != "unknown"]
    if not known:
        return TEXT
    if len({each.name for each in known}) == 1:
        return unify(known)
    chosen = known[0]
    for each in known[1:]:
        if each.name == chosen.name:
            continue
        if each.category != chosen.category:
            raise SqlError.of("datatype_mismatch", f"{context} types {chosen} and {each} cannot be matched")
        if not chosen.is_preferred and can_coerce(chosen, each) and not can_coerce(each, chosen):
            chosen = each
    for each in known:
        if not can_coerce(each, chosen):
            raise SqlError.of("cannot_coerce", f"{context} could not convert type {each} to {chosen}")
    if chosen.name.lstrip("_") == "numeric":
        return unify([as_numeric(each) for each in known])
    return chosen.plain


_INTEGER_DIGITS = {"int2": 5, "int4": 10, "int8": 19}


def as_numeric(item: SqlType) -> SqlType:
    """Returns the numeric type that represents every value of a number type exactly; for an array the array of it."""
    if item.element is not None:
        return item if item.name == "_numeric" else replace(as_numeric(item.element), name="_numeric", dims=item.dims)
    if item.name in _INTEGER_DIGITS:
        return exact_numeric(_INTEGER_DIGITS[item.name], 0)
    if item.name == "money":
        return exact_numeric(21, 2)
    return item if item.name == "numeric" else SqlType("numeric")


def unify(types: Sequence[SqlType]) -> SqlType:
    """Returns one type for values of types that differ at most in modifiers or digits."""
    deepest = max(item.dims for item in types)
    if deepest > 1:
        types = [replace(item, dims=deepest) for item in types]
    first = types[0]
    if all(each == first for each in types):
        return first
    if first.fields:
        return _unified_rows(types)
    held = {each.without_modifier for each in types}
    if len(held) == 1:
        return held.pop()
    if first.name.lstrip("_") != "numeric":
        return first.plain
    arrays = first.element is not None
    items = [each.element or each for each in types]
    scales = {each.numeric_digits[1] for each in items}
    whole = max(each.numeric_digits[0] - each.numeric_digits[1] for each in items)
    varying = len(scales) > 1 or any(each.is_carried for each in items)
    made = exact_numeric(whole + max(scales), max(scales), varying=varying)
    return replace(made, name="_numeric", dims=deepest) if arrays else made


def _unified_rows(types: Sequence[SqlType]) -> SqlType:
    """Returns one row type for several whose fields differ at most in modifiers or digits."""
    first = types[0]
    if any([item.name for _, item in each.fields] != [item.name for _, item in first.fields] for each in types):
        raise FeatureNotSupported("rows whose fields are of different types in one place are not supported")
    columns = zip(*([item for _, item in each.fields] for each in types), strict=True)
    fields = tuple((name, unify(column)) for (name, _), column in zip(first.fields, columns, strict=True))
    return replace(first, fields=fields)
