"""PostgreSQL's functions, operators and casts as it declares them, and a few aggregates more, found by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from gpudb import pgdata
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.source import CudaFunction
from gpudb.types import SqlType, type_by_oid


@dataclass(frozen=True, slots=True)
class Function:
    """One row of pg_proc: `kind` is f (function), a (aggregate), w (window) or p (procedure).

    A routine that `is_pure` runs no statements, so evaluation may skip it; engines run one that has device `code`,
    and an aggregate that is a `fold` of such functions.
    """

    oid: int
    name: str
    args: tuple[SqlType, ...]
    result: SqlType
    kind: str = "f"
    returns_set: bool = False
    variadic: SqlType | None = None
    defaults: int = 0
    strict: bool = True
    volatile: bool = False
    immutable: bool = True
    out_names: tuple[str, ...] = ()
    out_types: tuple[SqlType, ...] = ()
    ordered_set: bool = False
    arg_names: tuple[str, ...] = ()
    is_pure: bool = False
    code: CudaFunction | None = None
    fold: CudaAggregate | None = None

    @property
    def signature(self) -> str:
        """Name and argument types, as `int4pl(int4,int4)`: the key of an implementation."""
        return f"{self.name}({','.join(arg.name for arg in self.args)})"

    def takes(self, count: int) -> bool:
        """Returns whether a call with so many arguments can mean this function."""
        return len(self.args) - self.defaults <= count and (self.variadic is not None or count <= len(self.args))

    def __str__(self) -> str:
        """The form in PostgreSQL's messages: `round(numeric, integer)`."""
        return f"{self.name}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of pg_operator; `left` is None for a prefix operator."""

    name: str
    left: SqlType | None
    right: SqlType
    function: Function


@cache
def _load_aggregate_kinds() -> Mapping[int, str]:
    return {int(oid): kind for oid, kind in pgdata.load_table("pg_aggregate").select("aggfnoid", "aggkind")}


@cache
def _load_functions() -> Mapping[int, Function]:
    return {function.oid: function for function in _make_functions(pgdata.load_table("pg_proc"))}


@cache
def _load_added_oids() -> frozenset[int]:
    return frozenset(int(oid) for (oid,) in pgdata.load_added("pg_proc").select("oid"))


def is_added(function: Function) -> bool:
    """Whether PostgreSQL lacks a function or aggregate."""
    return function.oid in _load_added_oids()


@cache
def added_names() -> frozenset[str]:
    """Returns the names of functions and aggregates that PostgreSQL has none of."""
    return frozenset(name for name, group in functions_by_name().items() if all(map(is_added, group)))


def _make_functions(table: pgdata.Table) -> Iterator[Function]:
    """Yields the functions of a table with pg_proc's columns, without those of rows of system relations."""
    kinds = _load_aggregate_kinds()
    plain = "oid", "proname", "prokind", "proretset", "prorettype", "provariadic", "pronargdefaults", "proisstrict"
    arrays = "proargtypes", "proallargtypes", "proargmodes", "proargnames"
    rows = zip(table.select(*plain, "provolatile"), *map(table.arrays, arrays), strict=True)
    for (oid, name, kind, is_set, result, variadic, defaults, strict, volatility), args, all_args, modes, names in rows:
        if name.startswith("_pg_truetyp"):
            continue
        outs = [index for index, mode in enumerate(modes) if mode in {"o", "t"}] if modes else []
        yield Function(
            oid=int(oid),
            name=name,
            args=tuple(map(type_by_oid, map(int, args))),
            result=type_by_oid(int(result)),
            kind=kind,
            returns_set=is_set == "t",
            variadic=type_by_oid(int(variadic)) if variadic != "0" else None,
            defaults=int(defaults),
            strict=strict == "t",
            volatile=volatility == "v",
            immutable=volatility == "i",
            out_names=tuple([names[index] for index in outs]) if names else (),
            out_types=tuple([type_by_oid(int(all_args[index])) for index in outs]),
            ordered_set=kinds.get(int(oid), "n") != "n",
            arg_names=tuple(names[index] for index in range(len(names)) if index not in outs) if outs else tuple(names),
        )


@cache
def _load_signatures() -> Mapping[int, str]:
    signatures = pgdata.load_table("function_signatures").select("oid", "arguments")
    return {int(oid): arguments for oid, arguments in signatures}


def get_default_text(function: Function, position: int) -> str:
    """Returns the default of a function's parameter, as SQL text."""
    return _load_signatures()[function.oid].split(", ")[position].partition(" DEFAULT ")[2]


@cache
def functions_by_name() -> Mapping[str, tuple[Function, ...]]:
    """Returns all functions by name."""
    groups: dict[str, list[Function]] = {}
    for function in _load_functions().values():
        groups.setdefault(function.name, []).append(function)
    return {name: tuple(group) for name, group in groups.items()}


@cache
def functions_by_oid() -> Mapping[int, Function]:
    """Returns all functions by OID."""
    return {function.oid: function for overloads in functions_by_name().values() for function in overloads}


@cache
def operators_by_name() -> Mapping[str, tuple[Operator, ...]]:
    """Returns all operators by name, prefix ones included."""
    groups: dict[str, list[Operator]] = {}
    functions = _load_functions()
    for name, left, right, oid in pgdata.load_table("pg_operator").select("oprname", "oprleft", "oprright", "oprcode"):
        function = functions.get(int(oid))
        if function is not None and right != "0":
            left_type = type_by_oid(int(left)) if left != "0" else None
            groups.setdefault(name, []).append(Operator(name, left_type, type_by_oid(int(right)), function))
    return {name: tuple(group) for name, group in groups.items()}


@cache
def _load_comparisons() -> Mapping[int, str]:
    names = ("=", "<>", "<", "<=", ">", ">=")
    return {operator.function.oid: name for name in names for operator in operators_by_name()[name]}


def get_comparison(function: Function) -> str | None:
    """Returns the comparison operator (=, <>, <, <=, > or >=) that a function implements."""
    return _load_comparisons().get(function.oid)


COMMUTATORS: Mapping[str, str] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison operator with its operands exchanged: a < b is b > a."""


@cache
def casts() -> Mapping[tuple[str, str], tuple[str, str]]:
    """Returns (source, target) → (context, method): context is i (implicit), a (assignment) or e (explicit)."""
    rows = pgdata.load_table("pg_cast").select("castsource", "casttarget", "castcontext", "castmethod")
    return {
        (type_by_oid(int(source)).name, type_by_oid(int(target)).name): (context, method)
        for source, target, context, method in rows
    }
