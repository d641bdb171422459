"""PostgreSQL's functions, operators and casts as it declares them, and a few aggregates more, found by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gpudb import pgdata
from gpudb.types import SqlType, type_by_oid


@dataclass(frozen=True, slots=True)
class Function:
    """One row of pg_proc: `kind` is f (function), a (aggregate), w (window) or p (procedure)."""

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

    @property
    def signature(self) -> str:
        """Name and argument types, as `int4pl(int4,int4)`: the key of an implementation."""
        return f"{self.name}({','.join(arg.name for arg in self.args)})"

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
    return {int(row["oid"]): row["aggkind"] for row in pgdata.load_table("aggregate")}


@cache
def _load_functions() -> Mapping[int, Function]:
    kinds = _load_aggregate_kinds()
    rows = (*pgdata.load_table("proc"), *_load_added())
    return {int(row["oid"]): _make_function(row, kinds) for row in rows}


@cache
def added_names() -> frozenset[str]:
    """Returns the names of the aggregates that PostgreSQL lacks."""
    return frozenset(row["proname"] for row in _load_added() if row["prokind"] == "a")


def _load_added() -> tuple[dict[str, str], ...]:
    """Returns aggregates that PostgreSQL lacks and functions of extensions, in the columns of its functions."""
    return pgdata.parse_table(files("gpudb.functions").joinpath("added.tsv").read_text(encoding="utf-8"))


def _make_function(row: dict[str, str], kinds: Mapping[int, str]) -> Function:
    oid = int(row["oid"])
    modes = row["proargmodes"].split()
    names = row["proargnames"].split(" ") if row["proargnames"] else []
    outs = [index for index, mode in enumerate(modes) if mode in {"o", "t"}]
    all_types = [int(oid_) for oid_ in row["proallargtypes"].split()]
    variadic = int(row["provariadic"])
    return Function(
        oid=oid,
        name=row["proname"],
        args=tuple(type_by_oid(int(oid_)) for oid_ in row["proargtypes"].split()),
        result=type_by_oid(int(row["prorettype"])),
        kind=row["prokind"],
        returns_set=row["proretset"] == "t",
        variadic=type_by_oid(variadic) if variadic else None,
        defaults=int(row["pronargdefaults"]),
        strict=row["proisstrict"] == "t",
        volatile=row["provolatile"] == "v",
        immutable=row["provolatile"] == "i",
        out_names=tuple(names[index] for index in outs) if names else (),
        out_types=tuple(type_by_oid(all_types[index]) for index in outs),
        ordered_set=kinds.get(oid, "n") != "n",
        arg_names=tuple(names[index] for index in range(len(names)) if index not in outs),
    )


@cache
def _load_signatures() -> Mapping[int, str]:
    rows = pgdata.load_system_table("function_signatures")
    assert rows is not None
    return {int(row[0] or 0): row[2] or "" for row in rows[1]}


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
    for row in pgdata.load_table("operator"):
        left = int(row["oprleft"])
        function = functions.get(int(row["oprcode"]))
        if function is not None and int(row["oprright"]):
            operator = Operator(
                row["oprname"], type_by_oid(left) if left else None, type_by_oid(int(row["oprright"])), function
            )
            groups.setdefault(operator.name, []).append(operator)
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
    return {
        (type_by_oid(int(row["castsource"])).name, type_by_oid(int(row["casttarget"])).name): (
            row["castcontext"],
            row["castmethod"],
        )
        for row in pgdata.load_table("cast")
    }
