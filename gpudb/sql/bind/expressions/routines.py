"""SQL functions: a call is inlined as the function's body, with arguments for parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.pinned_routines import pin_call, read_pin
from gpudb.catalog.role_policies import asks_for_role
from gpudb.catalog.routines import Argument, Routine, get_routine_path
from gpudb.catalog.row_types import get_row_type, refresh_row_types
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.functions import resolve
from gpudb.functions.carried import is_wide_layout, use_layout
from gpudb.functions.library import Function
from gpudb.plcuda.source import CudaFunction, intern_function
from gpudb.sql.bind.base import Arguments, Binder
from gpudb.sql.bind.expressions.polymorphic import convert_arguments, resolve_polymorphic
from gpudb.sql.bind.expressions.records import get_field
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce, drop_modifier
from gpudb.sql.bind.types.column_coercion import project_columns
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import (
    ArraySubquery,
    BoolOp,
    Call,
    Case,
    Column,
    Constant,
    Derived,
    Expr,
    FunctionScan,
    Join,
    Let,
    OutputColumn,
    Parameter,
    Query,
    Row,
    ScalarSubquery,
    Select,
    SetOperation,
    SetReturning,
    Test,
    Values,
)
from gpudb.sql.parse.parser import RawStatement, changes_data, inner, parse
from gpudb.sql.traverse import has_volatile, walk
from gpudb.types import INT8, SqlType, widen
from gpudb.values.datetime_style import use_style

_QUERIES = (Select, SetOperation, Values)
_SESSION_WORDS = "current_user current_role user nextval currval setval lastval set_config".replace(" ", "|")
_READS_ROLE = re.compile(rf"\b({_SESSION_WORDS})\b", re.IGNORECASE)
_MAX_NESTED = 32


def find_routines(binder: Binder, names: Sequence[str]) -> tuple[Routine, ...]:
    """Returns the routines that a name may denote."""
    if not binder.catalog.routines:
        return ()
    if binder.stored_within is not None and (oid := read_pin(names)):
        pinned = binder.catalog.find_routine_by_oid(oid)
        return () if pinned is None else (refresh_row_types(binder.catalog, pinned),)
    if len(names) > 1:
        binder.accesses.add_schema(names[-2])
    path = get_routine_path("".join(names[-2:-1]), binder.search_path)
    found = (refresh_row_types(binder.catalog, each) for each in binder.catalog.find_routines(names[-1], path))
    # An overload over a base type fits exactly, so it precedes one over a domain of that type
    return tuple(sorted(found, key=lambda each: any(item.type.domain is not None for item in each.inputs)))


def is_system_first(binder: Binder, names: Sequence[str], routines: Sequence[Routine]) -> bool | None:
    """Whether PostgreSQL's functions come before routines that a name denotes, too; None if it denotes only these."""
    if len(names) > 1:
        return None if routines else True
    path = [each for each in binder.search_path if not each.startswith("pg_temp")]  # where no function is looked up
    return "pg_catalog" not in path or path[0] == "pg_catalog"


def is_own_first(binder: Binder, names: Sequence[str]) -> bool:
    """Whether a name in a text that the catalog stores is of PostgreSQL's functions, whatever routines there are."""
    return binder.stored_within is not None and len(names) == 1


def has_routines(binder: Binder, names: Sequence[str]) -> bool:
    """Whether routines hide gpudb's own function of a name; PostgreSQL has none of it."""
    return not is_own_first(binder, names) and bool(find_routines(binder, names))


def resolve_call(
    binder: Binder,
    names: Sequence[str],
    args: Sequence[Expr],
    routines: Sequence[Routine],
    *,
    kinds: str = "fawp",
    variadic: bool = False,
    named: tuple[str, ...] = (),
) -> resolve.Candidate:
    """Returns the function that a call denotes, of PostgreSQL's own and of the routines that its name may denote.

    42883, 42725. In a stored text a routine without its OID is looked for only if PostgreSQL has no function for the
    call: the text was stored by an earlier version.
    """
    types = tuple(arg.type.plain for arg in args)
    if routines and is_own_first(binder, names):
        try:
            return resolve.resolve_function(names[-1], types, kinds, variadic, (), named)
        except SqlError:
            pass
    own, first = tuple(map(as_function, routines)), is_system_first(binder, names, routines)
    return resolve.resolve_function(names[-1], types, kinds, variadic, own, named, first)


def record_routine(binder: Binder, call: Any, routine: Routine) -> None:
    """Records which routine a FuncCall message of a text that is stored calls; 0A000 if it calls several."""
    if binder.expansions is None:
        return
    made = type(call)()
    made.CopyFrom(call)
    pin_call(made, routine)
    binder.expansions.record(call, pg.Node(func_call=made), routine.name)


def as_function(routine: Routine) -> Function:
    """Returns a routine as a function for overload resolution, whose numeric results are as the statement's are."""
    if any(each.name.lstrip("_") == "numeric" for each in (routine.result, *(each.type for each in routine.outputs))):
        use_layout()
    return _as_function(routine, is_wide_layout())


@lru_cache(1024)
def _as_function(routine: Routine, is_wide: bool) -> Function:
    outputs = routine.outputs if routine.kind == "f" else ()
    code = get_device_code(routine) if runs_on_device(routine) else None
    return Function(
        oid=routine.oid,
        # What engines know by the name of PostgreSQL's function is nothing that they know of this one.
        name=routine.name if code is None else f"{routine.schema}.{routine.name}",
        args=tuple(each.type.plain for each in routine.inputs),
        result=widen(routine.result) if is_wide else routine.result,
        kind=routine.kind,
        returns_set=routine.returns_set,
        variadic=_variadic(routine),
        defaults=sum(each.default is not None for each in routine.inputs),
        strict=routine.strict,
        volatile=routine.volatility == "v" and code is None,
        immutable=routine.volatility == "i",
        out_names=tuple(each.name for each in outputs),
        out_types=tuple(widen(each.type) if is_wide else each.type for each in outputs),
        arg_names=tuple(each.name for each in routine.inputs),
        is_pure=TRAITS[routine.language].is_pure,
        code=code,
    )


def runs_on_device(routine: Routine) -> bool:
    """Whether engines run the calls of a function, whose body is device code. Its calls have no effects."""
    items = [routine.result, *(each.type for each in routine.inputs)]
    return is_device_code(routine) and not any(each.fields for each in items)


def is_device_code(routine: Routine) -> bool:
    """Whether a function's body is device code: of one whose parameters include composites only aggregates call it."""
    return TRAITS[routine.language].is_device_code and routine.kind == "f" and not routine.returns_set


def get_device_code(routine: Routine) -> CudaFunction:
    """Returns the code of a function in PL/CUDA."""
    parameters = tuple((each.name, each.type) for each in routine.inputs)
    return intern_function(routine.name, parameters, routine.result, routine.body, routine.strict)


def _variadic(routine: Routine) -> SqlType | None:
    """Returns the element type of the VARIADIC parameter; None if there is none."""
    last = routine.inputs[-1] if routine.inputs else None
    if last is None or last.mode != "v":
        return None
    return _ITEMS.get(last.type.name) or last.type.element


_ITEMS = {"anyarray": SqlType("anyelement"), "anycompatiblearray": SqlType("anycompatible")}


def get_routine(routines: Sequence[Routine], candidate: resolve.Candidate, args: Sequence[Expr]) -> Routine | None:
    """Returns the routine of a resolved candidate; None for a function of PostgreSQL's own.

    A routine over the domains of the arguments precedes others over their base types.
    """
    target = candidate.target
    assert isinstance(target, Function)
    if any(arg.type.domain is not None for arg in args):
        places = candidate.positions or range(len(args))
        for each in routines:
            alike = as_function(each).args == target.args and each.inputs[-1].mode != "v"
            if alike and all(each.inputs[p].type.domain == a.type.domain for p, a in zip(places, args, strict=True)):
                return each
    return next((each for each in routines if each.oid == target.oid), None)


def complete_call(
    binder: Binder,
    routine: Routine,
    candidate: resolve.Candidate,
    args: Sequence[Expr],
    role: str | None = None,
) -> tuple[Routine, list[Expr]]:
    """Returns the routine with the types of a call, and its converted arguments with defaults, in order.

    `role` needs the right to call it; with None that is the role that runs the statement.
    """
    binder.accesses.add_routine(routine, role)
    routine, types = resolve_polymorphic(routine, candidate, args)
    args = convert_arguments(binder, routine, candidate, args, types)
    places = candidate.positions or tuple(range(len(args)))
    by_position = dict(zip(places, args, strict=True))
    result: list[Expr] = []
    for place, argument in enumerate(routine.inputs):
        if place in by_position:
            result.append(
                coerce(binder, by_position[place], argument.type) if argument.type.domain else by_position[place]
            )
            continue
        assert argument.default is not None
        node = inner(parse(f"SELECT {argument.default}")[0].node.target_list[0]).val
        with use_style(), binder.bind_stored():
            expr = binder.bind_expression(Scope(clause="DEFAULT expressions"), node)
        result.append(coerce(binder, expr, argument.type, "a"))
    return routine, result


# ------------------------------------------------------------------------------------------------ values


def bind_scalar(binder: Binder, routine: Routine, args: Sequence[Expr]) -> Expr:
    """Binds a function's value: its body's expression or its query's first row; a call if it runs statements."""
    if _runs_statements(binder, routine) and len(routine.outputs) < 2:
        function = as_function(routine)
        return Call(function, tuple(args), function.result)
    if len(routine.outputs) > 1:
        if _runs_statements(binder, routine) and _differs_by_row(routine, args):
            function = replace(as_function(routine), result=_get_record(binder, routine), out_names=(), out_types=())
            return Call(function, tuple(args), function.result)
        record = _as_records(binder, routine, bind_rows(binder, routine, args))
        return ScalarSubquery(record, record.columns[0].type)
    values = list(args)
    query, uses = _bind_single_query(binder, routine, values)
    repeated = [
        place for place, arg in enumerate(values) if _count_uses(uses, routine, place) > 1 and has_volatile(arg)
    ]
    if repeated and _is_simple(query):
        rel = -binder.new_rel()
        once = tuple(values[place] for place in repeated)
        for index, place in enumerate(repeated):
            values[place] = Column(rel, index, values[place].type, routine.inputs[place].name)
        body = _build_value(binder, routine, _bind_single_query(binder, routine, values)[0], values)
        if any(isinstance(node, _QUERIES) for node in walk(body)):
            raise FeatureNotSupported("a volatile argument that a function uses beside a subquery is not supported")
        return Let(rel, once, body, body.type)
    if not _is_simple(query) and any(has_volatile(arg) for arg in values):
        message = f"a volatile argument of function {routine.signature}, whose body is a query, is not supported here"
        raise FeatureNotSupported(message)
    return _build_value(binder, routine, query, values)


def _differs_by_row(routine: Routine, args: Sequence[Expr]) -> bool:
    """Whether a call may have another result for each row."""
    return routine.volatility == "v" or any(isinstance(node, Column | Parameter) for arg in args for node in walk(arg))


def _get_record(binder: Binder, routine: Routine) -> SqlType:
    """Returns the type of a function's result columns as one value."""
    return _get_row_type(binder, routine, tuple(zip(get_result_names(routine, None), get_result_types(routine))))


def _get_row_type(binder: Binder, routine: Routine, fields: tuple[tuple[str, SqlType], ...]) -> SqlType:
    table = binder.catalog.find_relation_by_oid(routine.rows_of) if routine.rows_of else None
    return SqlType("record", fields=fields) if table is None else get_row_type(table)


def declare_result(binder: Binder, routine: Routine, args: Sequence[Expr]) -> Routine:
    """Returns a function of records, whose body is a query, with the columns of that as its result."""
    if routine.result.name != "record" or routine.outputs or _runs_statements(binder, routine):
        return routine
    query, _ = _bind_single_query(binder, routine, list(args))
    declared = tuple(Argument(each.name, each.type.without_modifier, "t") for each in query.columns)
    result = declared[0].type if len(declared) == 1 else routine.result
    return replace(routine, arguments=(*routine.arguments, *declared), result=result)


def _build_value(binder: Binder, routine: Routine, query: Query, values: Sequence[Expr]) -> Expr:
    result = routine.result
    if isinstance(query, Select) and _is_simple(query):
        value = drop_modifier(coerce(binder, query.targets[0], result, "a"))
    else:
        first = project_columns(binder, query, {0: result}, "a") if query.columns[0].type != result else query
        value = ScalarSubquery(_limit_to_one(first), first.columns[0].type.without_modifier)
    if not routine.strict or not values:
        return value
    return Case(((_is_any_null(values), Constant(None, value.type)),), value, value.type)


def _is_any_null(values: Sequence[Expr]) -> Expr:
    tests = tuple(Test(value, "NULL") for value in values)
    return tests[0] if len(tests) == 1 else BoolOp("OR", tests)


def _limit_to_one(query: Query) -> Query:
    """Returns a query of the first row; a query of a single row stays as it is."""
    if isinstance(query, Select) and query.grouped and not query.group_by and query.grouping_sets is None:
        return query
    if query.limit is None:
        return replace(query, limit=Constant(1, INT8))
    rel = 0
    for node in walk(query):
        rel = max(rel, getattr(node, "rel", 0))
    targets = tuple(Column(rel + 1, i, c.type, c.name) for i, c in enumerate(query.columns))
    return Select(query.columns, targets, Derived(rel + 1, query), limit=Constant(1, INT8))


def _is_simple(query: Query) -> bool:
    """Whether a query is a single expression without FROM."""
    return (
        isinstance(query, Select)
        and query == Select(query.columns, query.targets)
        and len(query.targets) == 1
        and not any(isinstance(node, SetReturning) for node in walk(query.targets[0]))
    )


def _count_uses(uses: Sequence[int], routine: Routine, place: int) -> int:
    return uses.count(place) + routine.strict


# ------------------------------------------------------------------------------------------------ rows


def bind_rows(binder: Binder, routine: Routine, args: Sequence[Expr]) -> Query:
    """Returns the query for a function in FROM, with columns of its result types."""
    values: list[Expr] = list(args)
    source = None
    if any(has_volatile(arg) for arg in values):
        rel = binder.new_rel()
        outputs = tuple(OutputColumn(f"a{n}", arg.type) for n, arg in enumerate(values, 1))
        source = Derived(rel, Select(outputs, tuple(values)), lateral=True)
        values = [Column(rel, index, arg.type) for index, arg in enumerate(values)]
    if not routine.returns_set and len(routine.outputs) < 2:
        result = bind_scalar(binder, routine, values)
        query: Query = Select((OutputColumn(routine.name, result.type),), (result,))
    elif _runs_statements(binder, routine):
        return scan_function(binder, routine, args)
    else:
        query, _ = _bind_single_query(binder, routine, values)
        types = get_result_types(routine)
        if routine.rows_of:  # its table may have changed since the function was created
            check_result(routine, query.columns)
        changed = {i: item for i, item in enumerate(types) if query.columns[i].type != item}
        query = project_columns(binder, query, changed, "a") if changed else query
        query = query if routine.returns_set else _limit_to_one(query)
        names = get_result_names(routine, None)
        columns = tuple(
            replace(each, name=name, type=each.type if declared.modifier != -1 else each.type.without_modifier)
            for each, name, declared in zip(query.columns, names, types, strict=True)
        )
        query = replace(query, columns=columns)
    where = BoolOp("NOT", (_is_any_null(values),)) if routine.strict and values and routine.returns_set else None
    if source is None and where is None:
        return query
    rel = binder.new_rel()
    inside = Derived(rel, query, lateral=True)
    targets = tuple(Column(rel, i, c.type, c.name) for i, c in enumerate(query.columns))
    return Select(query.columns, targets, inside if source is None else Join("CROSS", source, inside, None), where)


def scan_function(binder: Binder, routine: Routine, args: Sequence[Expr], *, numbered: bool = False) -> Query:
    """Returns the query for a function in FROM that runs statements, whose last column may be the rows' numbers."""
    rel = binder.new_rel()
    names, types = get_result_names(routine, None), get_result_types(routine)
    outputs = tuple(OutputColumn(name, item) for name, item in zip(names, types, strict=True))
    if numbered:
        outputs = (*outputs, OutputColumn("ordinality", INT8))
    scan = FunctionScan(rel, as_function(routine), tuple(args), outputs, lateral=True, ordinality=numbered)
    return Select(outputs, tuple(Column(rel, n, each.type, each.name) for n, each in enumerate(outputs)), scan)


def get_result_types(routine: Routine) -> tuple[SqlType, ...]:
    """Returns the types of a function's result columns."""
    types = tuple(each.type for each in routine.outputs) or (routine.result,)
    return tuple(map(widen, types)) if is_wide_layout() else types


def get_result_names(routine: Routine, alias: str | None) -> tuple[str, ...]:
    """Returns a function's column names in FROM: those of its output parameters, else its alias or name."""
    outputs = tuple(each.name or f"column{n}" for n, each in enumerate(routine.outputs, 1))
    return outputs or (alias or routine.name,)


def bind_set(binder: Binder, scope: Scope, routine: Routine, args: Sequence[Expr]) -> Expr:
    """Binds a set-returning function in a select list: one row for each of its values."""
    query = bind_rows(binder, routine, args)
    if len(routine.outputs) > 1:
        query = _as_records(binder, routine, query)
    array = ArraySubquery(query, query.columns[0].type.array)
    unnest = resolve.resolve_function("unnest", (array.type.plain,)).target
    assert isinstance(unnest, Function)
    return SetReturning(unnest, (array,), query.columns[0].type)


def _as_records(binder: Binder, routine: Routine, query: Query) -> Query:
    """Returns a query of another query's rows, each as one value."""
    rel = binder.new_rel()
    columns = tuple(Column(rel, index, each.type, each.name) for index, each in enumerate(query.columns))
    item = _get_row_type(binder, routine, tuple((each.name, each.type) for each in query.columns))
    return Select((OutputColumn("row", item),), (Row(columns, item, whole=True),), Derived(rel, query))


# ------------------------------------------------------------------------------------------------ bodies


def parse_body(routine: Routine) -> list[RawStatement]:
    """Parses a routine's body."""
    return parse(routine.body)


@lru_cache(1024)
def runs_statements(routine: Routine) -> bool:
    """Whether a function runs statements one after the other, instead of a single query to inline.

    A SECURITY DEFINER function that asks for the current role runs as its owner, which only a statement can; so does a
    function with settings of its own.
    """
    if not TRAITS[routine.language].is_query or routine.settings:
        return True
    found = parse_body(routine)
    if routine.result.name == "void" or len(found) != 1 or found[0].kind != "SelectStmt":
        return True
    if routine.definer and _READS_ROLE.search(routine.body):
        return True
    return changes_data(found[0].node)


def _runs_statements(binder: Binder, routine: Routine) -> bool:
    """Whether a function runs statements, also since policies of the tables that it reads may ask for its owner."""
    return runs_statements(routine) or (routine.definer and asks_for_role(binder.catalog, routine.owner))


def _bind_single_query(binder: Binder, routine: Routine, values: Sequence[Expr]) -> tuple[Query, list[int]]:
    """Binds a function's query over its arguments; returns it, and the position of each use of an argument."""
    return bind_body(binder, routine, values, parse_body(routine)[0].node)


def bind_body(binder: Binder, routine: Routine, values: Sequence[Expr], node: Any) -> tuple[Query, list[int]]:
    """Binds a query of a routine's body; its errors have no position in the text of the call."""
    depth = binder.routine_depth
    if depth >= _MAX_NESTED:
        raise FeatureNotSupported(f"function {routine.signature} calls itself: recursion is not supported")
    within = binder.search_path if binder.stored_within is None else binder.stored_within
    own = make_arguments(routine, values)
    with (
        binder.changed(
            text=routine.body,
            search_path=within,
            stored_within=within if own.stored else None,
            arguments=own,
            expansions=None,
            routine_depth=depth + 1,
            friendly=True,
        ),
        binder.accesses.run_as(routine.owner if routine.definer else None),
    ):
        try:
            return _expand_record(binder, routine, binder.bind_query(node, None)), own.uses
        except GpudbError as error:
            error.position = None
            raise


def make_arguments(routine: Routine, values: Sequence[Expr]) -> Arguments:
    """Returns the arguments with which a routine's body is bound."""
    names = tuple(each.name for each in routine.inputs)
    return Arguments(routine.name, names, tuple(values), stored=routine.standard)


def _expand_record(binder: Binder, routine: Routine, query: Query) -> Query:
    """Expands a query of one row value to the fields of that, for a function of several columns."""
    item = query.columns[0].type
    if len(query.columns) != 1 or len(routine.outputs) < 2 or not is_row(item):
        return query
    return spread_row(binder, query)


def spread_row(binder: Binder, query: Query) -> Query:
    """Returns a query of the fields of a query's only column, a row."""
    item = query.columns[0].type
    rel = binder.new_rel()
    value = Column(rel, 0, item, query.columns[0].name)
    columns = tuple(OutputColumn(name, each) for name, each in item.fields)
    return Select(columns, tuple(get_field(value, index) for index in range(len(columns))), Derived(rel, query))


Check = Callable[[str], SqlError]


def check_result(routine: Routine, columns: Sequence[OutputColumn]) -> None:
    """Raises 42P13 if the columns of a function's last statement do not match the declared result."""

    def wrong(detail: str) -> SqlError:
        shown = "record" if len(routine.outputs) > 1 else str(routine.result)
        message = f"return type mismatch in function declared to return {shown}"
        return SqlError.of("invalid_function_definition", message, detail=detail)

    types = get_result_types(routine)
    if len(types) == 1 and len(columns) != 1:
        raise wrong("Final statement must return exactly one column.")
    if len(columns) != len(types):
        few = "few" if len(columns) < len(types) else "many"
        raise wrong(f"Final statement returns too {few} columns.")
    for number, (column, item) in enumerate(zip(columns, types, strict=True), 1):
        if not resolve.can_coerce(column.type.plain, item.plain, "a"):
            if len(types) == 1:
                raise wrong(f"Actual return type is {column.type.plain}.")
            raise wrong(f"Final statement returns {column.type.plain} instead of {item} at column {number}.")
