"""Function calls: overload resolution, and plain, aggregate, window and set-returning calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.pinned_routines import pin_call
from gpudb.catalog.postgres.extension_objects import has_extension_object
from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions import resolve
from gpudb.functions.library import functions_by_name, get_default_text
from gpudb.functions.registry import Function, get_implementation
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import approximate, input_checks, records
from gpudb.sql.bind.expressions.aggregates import ORDERED_SETS, bind_aggregate, bind_ordered_set, bind_over_aggregates
from gpudb.sql.bind.expressions.operators import build_call
from gpudb.sql.bind.expressions.ordering import bind_sort_keys
from gpudb.sql.bind.expressions.routines import (
    bind_scalar,
    bind_set,
    complete_call,
    declare_result,
    find_routines,
    get_routine,
    is_own_first,
    record_routine,
    resolve_call,
)
from gpudb.sql.bind.expressions.single_expressions import bind_single_expression
from gpudb.sql.bind.expressions.text_search_queries import bind_rewrite
from gpudb.sql.bind.expressions.user_aggregates import bind_user_aggregate
from gpudb.sql.bind.expressions.variadic import expand_variadic
from gpudb.sql.bind.expressions.windows import bind_window
from gpudb.sql.bind.scope import LASTING_CLAUSES, PARAMETERS, POLICIES, STORED_CLAUSES, Scope, get_clause_name
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import (
    Aggregate,
    Expr,
    SetReturning,
    SortKey,
)
from gpudb.sql.parse.parser import inner, kind, parse, present, strings
from gpudb.types import SqlType, type_exists


def call_function(binder: Binder, name: str, args: Sequence[Expr]) -> Expr:
    """Returns a call of a function by name."""
    return build_call(binder, resolve.resolve_function(name, tuple(arg.type.plain for arg in args)), args)


def bind_call(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds a FuncCall message."""
    written, node = node, drop_void_parameters(binder, node)
    names = strings(node.funcname)
    name = names[-1]
    routines = find_routines(binder, names)
    if (
        len(names) > 1
        and names[0] not in {"pg_catalog", "information_schema"}
        and not routines
        and not has_extension_object(binder.catalog, names[0], name)
    ):
        raise _missing_function(binder, scope, names[-2:], node)
    sets = scope.set_calls
    bound = _bind_arguments(binder, scope, node, routines)
    args, order, filter_expr = bound.args, bound.order, bound.filter
    over = node.over if node.HasField("over") else None
    if node.agg_within_group:
        if over is not None:
            raise FeatureNotSupported(f"OVER is not supported for ordered-set aggregate {name}")
        return bind_ordered_set(binder, scope, name, args, order, filter_expr)
    is_own = not routines or is_own_first(binder, names)
    if is_own and (converted := bind_type_call(binder, name, args)) is not None:
        _check_plain(node, name)
        return converted
    candidate = _resolve(binder, node, names, args, routines)
    if not isinstance(candidate, resolve.Candidate):
        return candidate
    routine = get_routine(routines, candidate, args)
    if routine is not None:
        record_routine(binder, written, routine)
    if routine is not None and routine.kind == "a":
        _check_star(node, routine.signature, args)
        return bind_user_aggregate(binder, scope, routine, candidate, args, order, filter_expr, node)
    if routine is not None:
        if routine.schema.startswith("pg_temp") and scope.clause in LASTING_CLAUSES:
            what = get_clause_name(scope.clause)
            raise FeatureNotSupported(f"{what} that call temporary functions are not supported")
        return _bind_routine(binder, scope, *complete_call(binder, routine, candidate, args), node)
    if candidate.positions:
        candidate, args = to_positional(binder, candidate, args)
    target = candidate.target
    assert isinstance(target, Function)
    if target.kind == "f":
        _check_plain(node, name)
    if node.func_variadic and target.variadic is not None and target.variadic.name == "any":
        return expand_variadic(binder, target, args)
    if target.name in input_checks.NAMES:
        return input_checks.bind_input_check(binder, target, args)
    if target.name == "ts_rewrite" and len(args) == 2:
        return bind_rewrite(binder, args)
    if target.kind == "f" and target.returns_set:
        return _bind_set_returning(binder, scope, candidate, args, node.location)
    if target.kind == "f":
        return build_call(binder, candidate, args)
    return _bind_over_rows(binder, scope, node, candidate, replace(bound, args=args), sets=sets)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """A call's arguments, ORDER BY items and FILTER condition, bound as they are written."""

    args: list[Expr]
    order: tuple[SortKey, ...]
    filter: Expr | None


def _bind_arguments(binder: Binder, scope: Scope, node: Any, routines: Sequence[Routine]) -> _Arguments:
    """Binds what is written in a call; 42803 for an aggregate inside an aggregate."""
    named = functions_by_name().get(strings(node.funcname)[-1], ())
    # rbind(m) is an aggregate, rbind(m, m) is none
    candidates = [each for each in named if each.takes(len(node.args))] or named
    aggregating = "a" in {each.kind for each in candidates} | {each.kind for each in routines}
    is_windowed = node.HasField("over")
    outer = scope.in_aggregate, scope.in_window
    if aggregating and not is_windowed:
        if scope.in_aggregate:
            filtering = scope.clause == "FILTER"
            what = "functions are not allowed in FILTER" if filtering else "function calls cannot be nested"
            raise SqlError.of("grouping_error", f"aggregate {what}")
        scope.in_aggregate = True
    if is_windowed:
        scope.in_window = True
    try:
        args = [binder.bind_expression(scope, strip_argument_name(each)) for each in node.args]
        order = bind_sort_keys(binder, scope, node.agg_order, arguments=node.agg_within_group)
        filter_expr = _bind_filter(binder, scope, node.agg_filter)
    finally:
        scope.in_aggregate, scope.in_window = outer
    return _Arguments(args, order, filter_expr)


def _resolve(
    binder: Binder, node: Any, names: Sequence[str], args: Sequence[Expr], routines: Sequence[Routine]
) -> resolve.Candidate | Expr:
    """Returns the function that a call denotes, or the field that `name(row)` denotes if there is no such function."""
    name = names[-1]
    field = _find_field(node, name, args)
    if field is not None and is_own_first(binder, names):
        routines = ()
    named = get_argument_names(node.args)
    try:
        return resolve_call(binder, names, args, routines, variadic=node.func_variadic, named=named)
    except UndefinedFunction as missing:
        if field is not None:
            return field
        if len(names) == 1:
            raise
        shown = missing.message.replace(f"function {name}(", f"function {'.'.join(names)}(", 1)
        raise UndefinedFunction(shown, hint=missing.hint) from None


def _bind_over_rows(
    binder: Binder, scope: Scope, node: Any, candidate: resolve.Candidate, written: _Arguments, *, sets: int
) -> Expr:
    """Binds a call of an aggregate or window function; `sets` counts the set-returning calls before its arguments."""
    target, args, order, filter_expr = candidate.target, written.args, written.order, written.filter
    assert isinstance(target, Function)
    name = strings(node.funcname)[-1]
    over = node.over if node.HasField("over") else None
    if target.kind == "a" and name in ORDERED_SETS:
        message = f"WITHIN GROUP is required for ordered-set aggregate {name}"
        raise SqlError.of("wrong_object_type", message)
    if target.kind == "w" and over is None:
        raise SqlError.of("wrong_object_type", f"window function {name} requires an OVER clause")
    if target.kind == "a":
        _check_star(node, name, args)
    if scope.set_calls != sets:
        what = "aggregate" if over is None else "window"
        message = f"{what} function calls cannot contain set-returning function calls"
        error = FeatureNotSupported(message, hint=LATERAL_HINT)
        raise binder.locate(error, scope.set_location)
    result = build_call(binder, candidate, args)
    get_implementation(target)
    if over is not None and name not in approximate.NAMES:
        return bind_window(binder, scope, node, result, filter_expr)
    if node.agg_distinct:
        order = tuple(replace(key, expr=_find_argument(binder, key.expr, args, result.args)) for key in order)
    call = Aggregate(target, result.args, result.type, node.agg_distinct, order, (), filter_expr, node.agg_star)
    if name in approximate.NAMES:
        return approximate.bind_added(binder, scope, call, windowed=over is not None)
    return bind_aggregate(binder, scope, call)


def _find_argument(binder: Binder, key: Expr, written: Sequence[Expr], converted: Sequence[Expr]) -> Expr:
    """Returns the converted argument that an ORDER BY key repeats as written; 42P10 if it repeats none."""
    if key not in written:
        message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
        raise binder.locate_expr(SqlError.of("invalid_column_reference", message), key)
    return converted[written.index(key)]


def _bind_filter(binder: Binder, scope: Scope, node: Any) -> Expr | None:
    if not present(node):
        return None
    clause, scope.clause = scope.clause, "FILTER"
    try:
        return coerce_condition(binder, binder.bind_expression(scope, node), "FILTER")
    finally:
        scope.clause = clause


@dataclass(frozen=True, slots=True)
class Written:
    """A message `row.name` of a text, which may call a function, and the Node of its row.

    `is_whole` is whether the message is no more than that.
    """

    message: Any
    row: Any
    is_whole: bool = True

    def record(self, binder: Binder, routine: Routine) -> None:
        """Records which routine it calls, if the text is stored; 0A000 if there is more behind it."""
        if binder.expansions is not None:
            if not self.is_whole:
                message = f"a field of what function {routine.name} returns is not supported here in what is stored"
                raise FeatureNotSupported(message, hint=f"Write {routine.name}(row).")
            call = pg.FuncCall(args=[self.row], funcformat=pg.COERCE_EXPLICIT_CALL)
            pin_call(call, routine)
            binder.expansions.record(self.message, pg.Node(func_call=call), routine.name)


def apply_to_row(binder: Binder, scope: Scope, name: str, row: Expr, written: Written | None) -> Expr | None:
    """Returns `name(row)` for `row.name` if there is such a function; None if not."""
    routines = find_routines(binder, (name,))
    try:
        candidate = resolve_call(binder, (name,), [row], routines, kinds="f")
    except SqlError:
        return None
    routine = get_routine(routines, candidate, [row])
    if routine is None:
        return build_call(binder, candidate, [row])
    if written is not None:
        written.record(binder, routine)
    routine, args = complete_call(binder, routine, candidate, [row])
    return _inline_routine(binder, scope, routine, args, -1)


def bind_member(binder: Binder, scope: Scope, row: Expr, name: str, written: Written | None) -> Expr:
    """Binds `(row).name`: a field, or else a function of the row; for other values a cast or a function."""
    try:
        return records.get_field_by_name(row, name)
    except SqlError as error:
        if error.sqlstate not in {"42703", "42809"}:
            raise
        result = bind_type_call(binder, name, (row,)) or apply_to_row(binder, scope, name, row, written)
        if result is None:
            raise
        return result


def _find_field(node: Any, name: str, args: Sequence[Expr]) -> Expr | None:
    """Returns the field that `name(row)` denotes if there is no such function; None if it denotes none."""
    decorated = node.agg_star or node.agg_distinct or node.func_variadic or len(node.agg_order)
    if len(args) != 1 or decorated or node.HasField("over") or present(node.agg_filter):
        return None
    fields = [each for each, _ in args[0].type.fields] if is_row(args[0].type) else []
    return records.get_field(args[0], fields.index(name)) if name in fields else None


def _missing_function(binder: Binder, scope: Scope, names: Sequence[str], node: Any) -> SqlError:
    """Returns 42883 for a schema without such a function; 3F000 for an unknown schema."""
    if names[0] not in {"pg_temp", *binder.catalog.schemas}:
        return SqlError.of("invalid_schema_name", f'schema "{names[0]}" does not exist')
    types = ", ".join(str(binder.bind_expression(scope, strip_argument_name(each)).type.plain) for each in node.args)
    hint = "No function matches the given name and argument types. You might need to add explicit type casts."
    return UndefinedFunction(f"function {'.'.join(names)}({types}) does not exist", hint=hint)


def _check_star(node: Any, name: str, args: Sequence[Expr]) -> None:
    """Raises 42809 for an aggregate without arguments that is not called with a star."""
    if not args and not node.agg_star:
        message = f"{name.partition('(')[0]}(*) must be used to call a parameterless aggregate function"
        raise SqlError.of("wrong_object_type", message)


def _check_plain(node: Any, name: str) -> None:
    """Raises 42809 for clauses that only aggregates and window functions take."""
    taken = {
        f"{name}(*)": node.agg_star,
        "DISTINCT": node.agg_distinct,
        "ORDER BY": len(node.agg_order) > 0,
        "FILTER": present(node.agg_filter),
    }
    for what, is_present in taken.items():
        if is_present:
            raise SqlError.of("wrong_object_type", f"{what} specified, but {name} is not an aggregate function")
    if node.HasField("over"):
        message = f"OVER specified, but {name} is not a window function nor an aggregate function"
        raise SqlError.of("wrong_object_type", message)


def _bind_routine(binder: Binder, scope: Scope, routine: Routine, args: Sequence[Expr], node: Any) -> Expr:
    """Binds a call of a user-defined function to its body."""
    if routine.kind == "p":
        hint = "To call a procedure, use CALL."
        raise SqlError.of("wrong_object_type", f"{routine.signature} is a procedure", hint=hint)
    _check_plain(node, routine.name)
    return _inline_routine(binder, scope, routine, args, node.location)


def _inline_routine(binder: Binder, scope: Scope, routine: Routine, args: Sequence[Expr], location: int) -> Expr:
    if routine.result.name == "trigger":
        where = f'compilation of PL/pgSQL function "{routine.name}" near line 1'
        raise FeatureNotSupported("trigger functions can only be called as triggers", where=where)
    routine = declare_result(binder, routine, args)
    if routine.result.name == "record" and not routine.outputs:
        message = f"function {routine.name} returns records: it is called in FROM, with a column definition list"
        raise FeatureNotSupported(message)
    if not routine.returns_set:
        single = bind_single_expression(binder, scope, routine, args)
        return single or bind_over_aggregates(scope, args, lambda given: bind_scalar(binder, routine, given))
    _count_set(scope, location)
    return bind_set(binder, scope, routine, args)


def _count_set(scope: Scope, location: int) -> None:
    """Counts a set-returning call; 0A000 in a clause that allows none."""
    if scope.clause in _NO_SETS:
        raise FeatureNotSupported(f"set-returning functions are not allowed in {get_clause_name(scope.clause)}")
    scope.set_calls += 1
    scope.set_location = location


def strip_argument_name(node: Any) -> Any:
    """Returns an argument without its name."""
    return inner(node).arg if kind(node) == "named_arg_expr" else node


def drop_void_parameters(binder: Binder, node: Any) -> Any:
    """Returns a FuncCall message without the parameters that the client declared as void.

    Drivers send the OUT parameters of `{? = call f(?)}` so; like PostgreSQL, calls in queries do not have them.
    """
    if all(known.name != "void" for known in binder.parameters.values()):
        return node
    kept = [each for each in node.args if kind(each) != "param_ref" or not _is_void(binder, inner(each).number)]
    if len(kept) == len(node.args):
        return node
    made = type(node)()
    made.CopyFrom(node)
    del made.args[:]
    made.args.extend(kept)
    return made


def _is_void(binder: Binder, number: int) -> bool:
    known = binder.parameters.get(number)
    return known is not None and known.name == "void"


def get_argument_names(nodes: Sequence[Any]) -> tuple[str, ...]:
    """Returns the names of a call's last arguments; 42601 for a later positional argument or a duplicate."""
    named = [inner(each).name for each in nodes if kind(each) == "named_arg_expr"]
    if named and any(kind(each) != "named_arg_expr" for each in nodes[len(nodes) - len(named) :]):
        raise SqlError.of("syntax_error", "positional argument cannot follow named argument")
    for index, name in enumerate(named):
        if name in named[:index]:
            raise SqlError.of("syntax_error", f'argument name "{name}" used more than once')
    return tuple(named)


def to_positional(
    binder: Binder, candidate: resolve.Candidate, args: Sequence[Expr]
) -> tuple[resolve.Candidate, list[Expr]]:
    """Converts a built-in function's named arguments to positional ones, with defaults for missing ones."""
    target = candidate.target
    assert isinstance(target, Function)
    by_position = dict(zip(candidate.positions, args, strict=True))
    result = []
    for place in range(max(candidate.positions) + 1):
        if place not in by_position:
            node = inner(parse(f"SELECT {get_default_text(target, place)}")[0].node.target_list[0]).val
            by_position[place] = binder.bind_expression(Scope(), node)
        result.append(by_position[place])
    return resolve.Candidate(target, target.args[: len(result)]), result


def bind_type_call(binder: Binder, name: str, args: Sequence[Expr]) -> Expr | None:
    """Returns `type(value)` as a cast if no function of that name takes the value: text(x), date(x).

    A value of the type itself stays as it is, with its declared modifier.
    """
    if len(args) != 1 or not type_exists(name) or name.startswith("_") or is_row(args[0].type):
        return None
    source = args[0].type.plain
    if source.name == name:
        return args[0]
    if any(len(f.args) == 1 and f.args[0].name == source.name for f in functions_by_name().get(name, ())):
        target = SqlType(name)
        return coerce(binder, args[0], target, "e") if resolve.can_coerce(source, target, "e") else None
    if source.name == "unknown" or resolve.can_coerce(source, SqlType(name), "e"):
        return coerce(binder, args[0], SqlType(name), "e")
    return None


LATERAL_HINT = "You might be able to move the set-returning function into a LATERAL FROM item."
_NO_SETS = (
    frozenset("WHERE,GROUP BY,HAVING,JOIN,LIMIT,OFFSET,VALUES,UPDATE,RETURNING,CHECK,MERGE WHEN".split(","))
    | STORED_CLAUSES
    | {"trigger WHEN conditions", POLICIES, PARAMETERS}
)


def _bind_set_returning(
    binder: Binder, scope: Scope, candidate: resolve.Candidate, args: Sequence[Expr], location: int
) -> Expr:
    result = build_call(binder, candidate, args)
    _count_set(scope, location)
    return SetReturning(result.function, result.args, result.type)
