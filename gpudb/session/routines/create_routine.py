"""CREATE [OR REPLACE] FUNCTION and PROCEDURE in any language, and DO: definition and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.routines import Argument, Routine
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.functions.resolve import COMPATIBLE, ONE_TYPE, POLYMORPHIC
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.context import Context
from gpudb.session.execution.routines.acting import act_for
from gpudb.session.execution.routines.languages import BLOCK, TRIGGER, find_language
from gpudb.session.execution.routines.sql_bodies import expand_body
from gpudb.session.objects.names import target_schema, truncate_identifier
from gpudb.session.objects.stored_expressions import default_expression
from gpudb.session.results import Result
from gpudb.session.routines.language_privileges import check_language
from gpudb.session.routines.options import read_options
from gpudb.sql.bind.dml.checks import qualify_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce_to_column
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import deparse, inner, kind, present, strings
from gpudb.sql.rewrite import rewrite_stored
from gpudb.types import SqlType

_MODES = {
    pg.FUNC_PARAM_IN: "i", pg.FUNC_PARAM_DEFAULT: "i", pg.FUNC_PARAM_OUT: "o", pg.FUNC_PARAM_INOUT: "b",
    pg.FUNC_PARAM_TABLE: "t", pg.FUNC_PARAM_VARIADIC: "v",
}  # fmt: skip
VOID = SqlType("void")
RECORD = SqlType("record")


def do(context: Context) -> Result:
    """DO: runs a block; 0A000 for a language without blocks, 42704, 42501."""
    node: Any = context.statement.node
    options = {inner(each).defname: inner(inner(each).arg).sval for each in node.args}
    language = options.get("language", "plpgsql").lower()
    if "as" not in options:
        raise SqlError.of("syntax_error", "no inline code specified")
    check_language(context, language, "DO blocks")
    if not TRAITS[language].has_blocks:
        raise FeatureNotSupported(f'language "{language}" does not support inline code execution')
    routine = Routine(0, "", BLOCK, context.session.user, (), VOID, options["as"], "f", language=language)
    is_atomic = context.session.transactions.explicit or not (context.level == 0 or context.may_end_transaction)
    try:
        find_language(routine).run_block(context, routine, is_atomic=is_atomic)
    except GpudbError as error:
        _move_position(context, options["as"], error)
        raise
    return Result("DO")


def _move_position(context: Context, body: str, error: GpudbError) -> None:
    """Turns a position in a body to one in the statement that contains it."""
    if not error.position:
        return
    start = context.statement.text.find(body)
    error.position = error.position + start if start >= 0 else None


def create_routine(context: Context) -> Result:
    """CREATE [OR REPLACE] FUNCTION or PROCEDURE name (…) … LANGUAGE language."""
    node: Any = context.statement.node
    what = "PROCEDURE" if node.is_procedure else "FUNCTION"
    context.check_writable(f"CREATE {what}")
    names = strings(node.funcname)
    schema = target_schema(context, names[-2] if len(names) > 1 else "")
    options = _read_creation(context, node)
    arguments = _arguments(context, node.parameters)
    result, returns_set, table_columns = _declared_result(context, node, arguments, options["language"])
    arguments += table_columns
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    body, standard = _body_text(context, node, options)
    routine = Routine(
        oid,
        schema,
        truncate_identifier(names[-1]),
        context.session.user,
        tuple(arguments),
        result,
        body,
        "p" if node.is_procedure else "f",
        returns_set,
        standard,
        options.get("volatility", "v"),
        bool(options.get("strict", False)),
        options.get("parallel", "u"),
        float(options.get("cost", 100)),
        float(options.get("rows", 1000 if returns_set else 0)),
        bool(options.get("leakproof", False)),
        _row_relation(context, node),
        definer=bool(options.get("definer", False)),
        language=options["language"],
        settings=options.get("settings", ()),
    )
    check_polymorphic(routine)
    if standard and not TRAITS[routine.language].is_query:
        raise SqlError.of("invalid_function_definition", "inline SQL function body only valid for language SQL")
    if standard and any(each.type.name in POLYMORPHIC for each in routine.inputs):
        message = "SQL function with unquoted function body cannot have polymorphic arguments"
        raise SqlError.of("invalid_function_definition", message)
    routine = resolve_replacement(context, routine, replaced=bool(node.replace))
    if context.session.settings["check_function_bodies"] == "on" or standard:
        # Its names are as they were written
        _check_body(context, replace(routine, standard=False))
    if standard:
        with act_for(context.session, context.transaction.catalog, replace(routine, definer=False)):
            routine = replace(routine, body=expand_body(context, routine))
    context.transaction.set_catalog(context.transaction.catalog.put(routine))
    return Result(f"CREATE {what}")


_FAMILIES = (frozenset(ONE_TYPE), frozenset(COMPATIBLE))


def check_polymorphic(routine: Routine) -> None:
    """42P13 for a polymorphic result that no parameter determines."""
    input_types = {each.type.name for each in routine.inputs}
    for item in (routine.result, *(each.type for each in routine.outputs)):
        family = next((each for each in _FAMILIES if item.name in each), None)
        if family is not None and not input_types & family:
            several = "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
            if "anycompatible" in family:
                several = "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or"
                several += " anycompatiblemultirange"
            detail = f"A result of type {item} requires at least one input of type {several}."
            raise SqlError.of("invalid_function_definition", "cannot determine result data type", detail=detail)


def resolve_replacement(context: Context, routine: Routine, *, replaced: bool) -> Routine:
    """The routine with the identity of an existing one that it replaces; 42723, 42P13."""
    old = context.transaction.catalog.routines.get(routine.key)
    if old is None:
        return routine
    if not replaced:
        message = f'function "{routine.name}" already exists with same argument types'
        raise SqlError.of("duplicate_function", message)
    check_owner(context.transaction.catalog, get_current_role(context), old, "function")
    if old.model is not None and routine.model is None:
        hint = f"Use CREATE OR REPLACE MODEL {old.model.name}."
        message = f"cannot replace function {old.identity} because model {old.model.name} requires it"
        raise SqlError.of("dependent_objects_still_exist", message, hint=hint)
    noun = old.noun
    if old.kind != routine.kind:
        article = "an aggregate function" if old.kind == "a" else f"a {noun}"
        detail = f'"{old.name}" is {article}.'
        raise SqlError.of("wrong_object_type", "cannot change routine kind", detail=detail)
    if old.kind == "a" and old.result != routine.result:
        message = "cannot change return type of existing function"
        hint = f"Use DROP AGGREGATE {old.signature} first."
        raise SqlError.of("invalid_function_definition", message, hint=hint)
    hint = f"Use DROP {noun.upper()} {old.signature} first."
    outs = [(each.name, each.type, each.mode) for each in old.outputs]
    if routine.rows_of and old.rows_of == routine.rows_of:
        outs = [(each.name, each.type, each.mode) for each in routine.outputs]  # its table may have changed
    if (old.result, old.returns_set, outs) != (
        routine.result, routine.returns_set, [(each.name, each.type, each.mode) for each in routine.outputs]
    ):  # fmt: skip
        differs = "Row type defined by OUT parameters is different." if len(outs) > 1 else None
        message = f"cannot change return type of existing {noun}"
        raise SqlError.of("invalid_function_definition", message, detail=differs, hint=hint)
    for before, after in zip(old.inputs, routine.inputs, strict=True):
        if before.name and before.name != after.name:
            message = f'cannot change name of input parameter "{before.name}"'
            raise SqlError.of("invalid_function_definition", message, hint=hint)
        if before.default is not None and after.default is None:
            message = "cannot remove parameter defaults from existing function"
            raise SqlError.of("invalid_function_definition", message, hint=hint)
    return replace(routine, oid=old.oid, owner=old.owner, comment=old.comment, acl=old.acl)


# ---- definition


def _read_creation(context: Context, node: Any) -> dict[str, Any]:
    """Returns the options of CREATE, by their names as fields of Routine, the language among them. 42P13, 42601."""
    found = read_options(context, node.options, is_procedure=node.is_procedure)
    language = found.setdefault("language", "sql" if present(node.sql_body) else "")
    if not language:
        raise SqlError.of("invalid_function_definition", "no language specified")
    check_language(context, language, "functions")
    return found


def _arguments(context: Context, nodes: Sequence[Any]) -> list[Argument]:
    arguments: list[Argument] = []
    defaults = False
    for each in nodes:
        node = inner(each)
        mode = _MODES[node.mode]
        if mode == "t":
            continue
        item = parameter_type(context, node.arg_type)
        if mode != "o" and any(other.mode == "v" for other in arguments):
            raise SqlError.of("invalid_function_definition", "VARIADIC parameter must be the last input parameter")
        if mode == "v" and item.element is None and item.name not in {"anyarray", "anycompatiblearray"}:
            raise SqlError.of("invalid_function_definition", "VARIADIC parameter must be an array")
        default = None
        if present(node.defexpr):
            if mode == "o":
                raise SqlError.of("invalid_function_definition", "only input parameters can have default values")
            default_expression(context, node.defexpr)
            binder = context.binder()
            binder.expansions = Expansions()
            expr = bind_expression(binder, Scope(clause="DEFAULT expressions"), node.defexpr)
            if item.name not in POLYMORPHIC:
                coerce_to_column(binder, expr, "", item)
            default = default_expression(context, qualify_expression(binder, node.defexpr))
            defaults = True
        elif defaults and mode != "o":
            message = "input parameters after one with a default value must also have defaults"
            raise SqlError.of("invalid_function_definition", message)
        if node.name and any(node.name == other.name for other in arguments):
            raise SqlError.of("invalid_function_definition", f'parameter name "{node.name}" used more than once')
        arguments.append(Argument(node.name, item, mode, default))
    return arguments


def parameter_type(context: Context, node: Any) -> SqlType:
    """The declared type of a parameter; 42704."""
    binder = context.binder()
    try:
        item = resolve_value_type(node, binder)
        return item if item.domain is not None else item.plain
    except SqlError as error:
        raise binder.locate(error, node.location) from None


def _declared_result(
    context: Context, node: Any, arguments: Sequence[Argument], language: str
) -> tuple[SqlType, bool, list[Argument]]:
    """The declared result type, whether it is a set, and the columns of RETURNS TABLE or of a table's rows."""
    columns = [
        Argument(inner(each).name, parameter_type(context, inner(each).arg_type), "t")
        for each in node.parameters
        if inner(each).mode == pg.FUNC_PARAM_TABLE
    ]
    outs = [each for each in arguments if each.mode in {"o", "b"}]
    if node.is_procedure:
        return (RECORD if outs else VOID), False, []
    if columns:
        return (columns[0].type if len(columns) == 1 else RECORD), True, columns
    implied = (outs[0].type if len(outs) == 1 else RECORD) if outs else None
    if not node.HasField("return_type"):
        if implied is None:
            raise SqlError.of("invalid_function_definition", "function result type must be specified")
        return implied, False, []
    returned = node.return_type
    rows = _row_columns(context, returned)
    if rows is not None and not outs:
        return RECORD, bool(returned.setof), rows
    if strings(returned.names)[-1] in {"trigger", "event_trigger"}:
        return _trigger_result(node, strings(returned.names)[-1], arguments, language), False, []
    result = parameter_type(context, returned)
    if implied is not None and result != implied:
        message = f"function result type must be {implied} because of OUT parameters"
        raise SqlError.of("invalid_function_definition", message)
    return result, bool(returned.setof), []


def _trigger_result(node: Any, name: str, arguments: Sequence[Argument], language: str) -> SqlType:
    """The result of a trigger function; 42P13 for parameters and for other languages, 0A000 for event triggers."""
    if name != "trigger":
        raise FeatureNotSupported("event triggers, and functions that return event_trigger, are not supported")
    if not TRAITS[language].has_triggers:
        message = f"{TRAITS[language].name} functions cannot return type trigger"
        raise SqlError.of("invalid_function_definition", message)
    if arguments:
        hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead."
        message = "trigger functions cannot have declared arguments"
        if language != "plpgsql":
            raise SqlError.of(
                "invalid_function_definition", message, hint=hint.replace("TG_NARGS and TG_ARGV", 'TD["args"]')
            )
        where = f'compilation of PL/pgSQL function "{strings(node.funcname)[-1]}" near line 1'
        raise SqlError.of("invalid_function_definition", message, hint=hint, where=where)
    return TRIGGER


def _row_columns(context: Context, node: Any) -> list[Argument] | None:
    """The columns of the table or view that a result type names."""
    names = strings(node.names)
    if len(node.array_bounds) or names[0] == "pg_catalog":
        return None
    path = names[-2:-1] or context.session.search_path()
    relation = context.transaction.catalog.find(names[-1], path)
    if relation is None:
        return None
    if len(relation.columns) == 1 and isinstance(relation, Table):
        raise FeatureNotSupported("functions that return the rows of a table with one column are not supported")
    return [Argument(column.name, column.type, "t") for column in relation.columns]


def _row_relation(context: Context, node: Any) -> int:
    """The OID of the table whose rows a function returns, or 0."""
    if node.is_procedure or not node.HasField("return_type") or _row_columns(context, node.return_type) is None:
        return 0
    names = strings(node.return_type.names)
    found = context.transaction.catalog.find(names[-1], names[-2:-1] or context.session.search_path())
    return found.oid if found is not None else 0


def _body_text(context: Context, node: Any, options: dict[str, Any]) -> tuple[str, bool]:
    """The body as SQL text, and whether it has the SQL standard's form; 42P13."""
    texts = options.get("as")
    if present(node.sql_body):
        if texts is not None:
            raise SqlError.of("invalid_function_definition", "duplicate function body specified")
        return ";\n".join(_statement_text(context, each) for each in _standard_statements(node.sql_body)), True
    if texts is None:
        raise SqlError.of("invalid_function_definition", "no function body specified")
    if len(texts) > 1:
        message = f'only one AS item needed for language "{options["language"]}"'
        raise SqlError.of("invalid_function_definition", message)
    return str(texts[0]), False


def _standard_statements(body: Any) -> list[Any]:
    if kind(body) == "return_stmt":
        select = pg.Node()
        select.select_stmt.target_list.add().res_target.val.CopyFrom(inner(body).returnval)
        select.select_stmt.limit_option = pg.LIMIT_OPTION_DEFAULT
        select.select_stmt.op = pg.SETOP_NONE
        return [select]
    return [each for part in inner(body).items for each in inner(part).items]


def _statement_text(context: Context, node: Any) -> str:
    """The text of a statement in a standard body, whose names are resolved at definition."""
    catalog, path = context.transaction.catalog, context.session.search_path()
    return deparse(rewrite_stored(inner(node), catalog, path))


# ---- checks


def _check_body(context: Context, routine: Routine) -> None:
    """Checks a body by its language; positions in it become positions in the statement."""
    try:
        with act_for(context.session, context.transaction.catalog, replace(routine, definer=False)):
            find_language(routine).check(context, routine)
    except GpudbError as error:
        if not TRAITS[routine.language].is_query:
            _move_position(context, routine.body, error)
        raise
