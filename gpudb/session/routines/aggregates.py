"""CREATE [OR REPLACE] AGGREGATE: resolves and checks the functions of an aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.routines import Aggregation, Argument, Routine
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions import library, resolve
from gpudb.functions.registry import Function, get_implementation
from gpudb.plcuda.aggregates import check_aggregate
from gpudb.session.authorization.privileges import check_privilege, get_current_role
from gpudb.session.context import Context
from gpudb.session.objects.names import target_schema, truncate_identifier
from gpudb.session.results import Result
from gpudb.session.routines.create_routine import check_polymorphic, parameter_type, resolve_replacement
from gpudb.sql.bind.expressions.routines import as_function, find_routines, is_system_first
from gpudb.sql.bind.expressions.user_aggregates import find_device_fold
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Constant
from gpudb.sql.parse.parser import inner, kind, present, strings
from gpudb.sql.parse.values import read_option, read_option_text
from gpudb.types import UNKNOWN, SqlType

_PARALLEL = {"unsafe": "u", "restricted": "r", "safe": "s"}
_OPTIONS = frozenset("sfunc stype initcond finalfunc finalfunc_extra combinefunc parallel basetype".split())
# They do not change results: the size of the state, an index that could answer the aggregate, and whether the final
# function modifies the state.
_HINTS = frozenset({"sspace", "sortop", "finalfunc_modify"})
_OLD_NAMES = {"sfunc1": "sfunc", "stype1": "stype", "initcond1": "initcond", "sspace1": "sspace"}


def define(context: Context) -> Result:
    """CREATE AGGREGATE; 0A000 for other objects that DefineStmt defines."""
    node: Any = context.statement.node
    what = pg.ObjectType.Name(node.kind).removeprefix("OBJECT_")
    if what != "AGGREGATE":
        raise FeatureNotSupported(f"CREATE {_NAMES.get(what, what)} is not supported")
    return create_aggregate(context)


_NAMES = {
    "TSCONFIGURATION": "TEXT SEARCH CONFIGURATION", "TSDICTIONARY": "TEXT SEARCH DICTIONARY",
    "TSPARSER": "TEXT SEARCH PARSER", "TSTEMPLATE": "TEXT SEARCH TEMPLATE",
}  # fmt: skip


def create_aggregate(context: Context) -> Result:
    """CREATE [OR REPLACE] AGGREGATE name (types) (SFUNC = …, STYPE = …, …)."""
    node: Any = context.statement.node
    context.check_writable("CREATE AGGREGATE")
    names = strings(node.defnames)
    schema = target_schema(context, names[-2] if len(names) > 1 else "")
    options = _options(context, node)
    arguments = _old_arguments(context, options) if node.oldstyle else _arguments(context, node)
    if "stype" not in options:
        raise SqlError.of("invalid_function_definition", "aggregate stype must be specified")
    if "sfunc" not in options:
        raise SqlError.of("invalid_function_definition", "aggregate sfunc must be specified")
    state = _type(context, options["stype"])
    how, result = _resolve_functions(context, options, state, [each.type for each in arguments])
    _check_lasting(context, schema, how)
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    parallel = read_option_text(options["parallel"]) if "parallel" in options else "unsafe"
    if parallel not in _PARALLEL:
        raise SqlError.of("syntax_error", 'parameter "parallel" must be SAFE, RESTRICTED, or UNSAFE')
    routine = Routine(
        oid,
        schema,
        truncate_identifier(names[-1]),
        context.session.user,
        tuple(arguments),
        result,
        "",
        "a",
        volatility="i",
        parallel=_PARALLEL[parallel],
        cost=1,
        aggregate=how,
    )
    check_polymorphic(routine)
    fold = find_device_fold(context.binder(), routine)
    if fold is not None:
        check_aggregate(fold)
    routine = resolve_replacement(context, routine, replaced=bool(node.replace))
    context.transaction.set_catalog(context.transaction.catalog.put(routine))
    return Result("CREATE AGGREGATE")


def _options(context: Context, node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in node.definition:
        option = inner(each)
        name = _OLD_NAMES.get(option.defname.lower(), option.defname.lower())
        if name in _OPTIONS or name in _HINTS:
            found[name] = option
        elif name in {"msfunc", "minvfunc", "mstype", "mfinalfunc", "minitcond", "msspace", "serialfunc"} | {
            "deserialfunc", "hypothetical", "mfinalfunc_extra", "mfinalfunc_modify",
        }:  # fmt: skip
            raise FeatureNotSupported(f"CREATE AGGREGATE … {name.upper()} is not supported")
        else:
            message = f'aggregate attribute "{option.defname}" not recognized'
            context.notice(message, severity="WARNING", sqlstate="42601")
    return found


def _arguments(context: Context, node: Any) -> list[Argument]:
    listed, direct = node.args
    if inner(direct).ival >= 0:
        raise FeatureNotSupported("ordered-set aggregates of users are not supported")
    arguments: list[Argument] = []
    for each in inner(listed).items if present(listed) else ():
        part = inner(each)
        if part.mode == pg.FUNC_PARAM_VARIADIC:
            raise FeatureNotSupported("VARIADIC aggregates are not supported")
        arguments.append(Argument(part.name, parameter_type(context, part.arg_type)))
    return arguments


def _old_arguments(context: Context, options: dict[str, Any]) -> list[Argument]:
    """The argument of BASETYPE; none for ANY."""
    if "basetype" not in options:
        raise SqlError.of("invalid_function_definition", "aggregate input type must be specified")
    named = inner(options["basetype"].arg)
    if kind(options["basetype"].arg) == "string" or strings(named.names)[-1].lower() == "any":
        return []
    return [Argument("", _type(context, options["basetype"]))]


def _type(context: Context, option: Any) -> SqlType:
    """The type of an option, in quotes too; 42601 if it is no name."""
    if kind(option.arg) == "string":
        return parameter_type(context, pg.TypeName(names=[option.arg]))
    if kind(option.arg) != "type_name":
        raise SqlError.of("syntax_error", f"argument of {option.defname} must be a type name")
    return parameter_type(context, inner(option.arg))


def _resolve_functions(
    context: Context, options: dict[str, Any], state: SqlType, types: Sequence[SqlType]
) -> tuple[Aggregation, SqlType]:
    """The functions of an aggregate, and its result type. 42883, 42804, 42P13, 22P02."""
    if state.name in {"internal", "void", "record", "cstring", "any"}:
        message = f"aggregate transition data type cannot be {state}"
        raise SqlError.of("invalid_function_definition", message)
    if state.name in resolve.POLYMORPHIC and not any(each.name in resolve.POLYMORPHIC for each in types):
        several = "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
        detail = f"A result of type {state} requires at least one input of type {several}."
        message = "cannot determine transition data type"
        raise SqlError.of("invalid_function_definition", message, detail=detail)
    transition, returned = _resolve_function(context, options["sfunc"], (state, *types))
    if returned.name != state.name:
        message = f"return type of transition function {transition.name} is not {state}"
        raise SqlError.of("datatype_mismatch", message)
    initial = read_option_text(options["initcond"]) if "initcond" in options else None
    if initial is None and transition.strict and (not types or not _is_binary_compatible(types[0], state)):
        message = "must not omit initial value when transition function is strict"
        message += " and transition type is not compatible with input type"
        raise SqlError.of("invalid_function_definition", message)
    final = combine = None
    result = state
    extra = "finalfunc_extra" in options and _flag(options["finalfunc_extra"])
    if "finalfunc" in options:
        final, result = _resolve_function(context, options["finalfunc"], (state, *(types if extra else ())))
        if extra and final.strict:
            message = "final function with extra arguments must not be declared STRICT"
            raise SqlError.of("invalid_function_definition", message)
    if "combinefunc" in options:
        combine, returned = _resolve_function(context, options["combinefunc"], (state, state))
        if returned.name != state.name:
            message = f"return type of combine function {combine.name} is not {state}"
            raise SqlError.of("datatype_mismatch", message)
    _check_hints(options, types)
    if initial is not None and state.name not in resolve.POLYMORPHIC:
        coerce(context.binder(), Constant(initial, UNKNOWN), state)
    oids = (transition.oid, final.oid if final else 0, combine.oid if combine else 0)
    return Aggregation(oids[0], state, initial, oids[1], extra, oids[2]), result


def _check_lasting(context: Context, schema: str, how: Aggregation) -> None:
    """0A000 for an aggregate that outlives its functions."""
    catalog, temporary = context.transaction.catalog, context.session.temporary_schema
    own = [catalog.find_routine_by_oid(oid) for oid in how.functions]
    if schema != temporary and any(each is not None and each.schema == temporary for each in own):
        raise FeatureNotSupported("permanent aggregates of temporary functions are not supported")


def _check_hints(options: dict[str, Any], types: Sequence[SqlType]) -> None:
    """Checks options that do not change results; 0A000 for a final function that modifies its state."""
    if "sspace" in options and kind(options["sspace"].arg) != "integer":
        raise SqlError.of("syntax_error", "sspace requires an integer value")
    if "sortop" in options:
        if len(types) != 1:
            message = "sort operator can only be specified for single-argument aggregates"
            raise SqlError.of("invalid_function_definition", message)
        name = read_option(options["sortop"])
        name = name[-1] if isinstance(name, tuple) else str(name)
        resolve.resolve_operator(name, types[0].plain, types[0].plain)
    modify = read_option_text(options["finalfunc_modify"]) if "finalfunc_modify" in options else "read_only"
    if modify == "read_write":
        raise FeatureNotSupported("CREATE AGGREGATE … FINALFUNC_MODIFY = READ_WRITE is not supported")
    if modify not in {"read_only", "shareable"}:
        message = 'parameter "finalfunc_modify" must be READ_ONLY, SHAREABLE, or READ_WRITE'
        raise SqlError.of("syntax_error", message)


def _resolve_function(context: Context, option: Any, types: tuple[SqlType, ...]) -> tuple[Function, SqlType]:
    """The function of an option for argument types without conversion, and its result type."""
    named = inner(option.arg)
    if kind(option.arg) not in {"type_name", "string"}:
        raise SqlError.of("syntax_error", f"argument of {option.defname} must be a name")
    names = strings(named.names) if kind(option.arg) == "type_name" else (named.sval,)
    binder = context.binder()
    routines = find_routines(binder, names)
    candidates = tuple(as_function(each) for each in routines if each.kind == "f")
    try:
        first = is_system_first(binder, names, routines)
        candidate = resolve.resolve_function(names[-1], types, "f", False, candidates, system_first=first)
    except SqlError as error:
        if isinstance(error, UndefinedFunction):
            shown = f"function {'.'.join(names)}({', '.join(map(str, types))}) does not exist"
            raise UndefinedFunction(shown) from None
        raise
    function = candidate.target
    assert isinstance(function, Function)
    shown = f"{names[-1]}({', '.join(map(str, candidate.types))})"
    if function.returns_set:
        raise SqlError.of("datatype_mismatch", f"function {shown} returns a set")
    for argument, parameter in zip(types, candidate.types, strict=True):
        if parameter.name not in resolve.POLYMORPHIC and not _is_binary_compatible(argument, parameter):
            raise SqlError.of("datatype_mismatch", f"function {shown} requires run-time type coercion")
    own = next((each for each in routines if each.oid == function.oid), None)
    if own is None:
        get_implementation(function)
    else:
        check_privilege(context.transaction.catalog, get_current_role(context), own, "X")
    if any(each.name in resolve.POLYMORPHIC for each in types):
        return function, function.result
    return function, resolve.bind_polymorphic(candidate.types, types, function.result)[1]


def _is_binary_compatible(source: SqlType, target: SqlType) -> bool:
    """Whether a value of one type is a value of the other without conversion."""
    return source.name == target.name or library.casts().get((source.name, target.name), ("", ""))[1] == "b"


def _flag(option: Any) -> bool:
    return read_option_text(option).lower() in {"true", "on", "1"}
