"""Statements about models: CREATE, DROP, ALTER, SHOW, COMMENT ON and GRANT … ON MODEL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model_functions import find_model
from gpudb.catalog.routines import Routine
from gpudb.errors import SqlError, UndefinedObject
from gpudb.session.authorization.privileges import check_owner, get_current_role, is_owner, may_call
from gpudb.session.context import Context
from gpudb.session.objects.names import truncate_identifier
from gpudb.session.results import Result, ResultColumn, text_result
from gpudb.session.routines.alter_drop import drop_routine
from gpudb.session.statements.create_model import create_model
from gpudb.sql.parse.model_statements import (
    CreateModel,
    DropModel,
    ModelAsFunction,
    ModelStatement,
    Name,
    RenameModel,
    ShowModel,
)
from gpudb.sql.parse.parser import inner, parse, strings
from gpudb.types import TEXT

_ABOUT_FUNCTIONS = {"AlterOwnerStmt", "AlterObjectSchemaStmt", "CommentStmt", "GrantStmt"}


def change_model(context: Context) -> Result:
    """Runs a statement about models."""
    match context.statement.model_statement:
        case CreateModel() as statement:
            return create_model(context, statement)
        case DropModel() as statement:
            return _drop(context, statement)
        case RenameModel() as statement:
            return _rename(context, statement)
        case ShowModel() as statement:
            return _show(context, statement)
        case ModelAsFunction() as statement:
            return _run_for_functions(context, statement)
        case _:
            raise AssertionError


def _find(context: Context, name: Name) -> tuple[Routine, ...]:
    """Returns the functions of a model by its name; 3F000, 42501 for a schema."""
    if len(name) > 1:
        context.session.check_schema(name[-2])
        if name[-2] not in context.transaction.catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{name[-2]}" does not exist')
    return find_model(context.transaction.catalog, name[-1], name[-2:-1] or context.session.search_path())


def _require(context: Context, name: Name) -> tuple[Routine, ...]:
    found = _find(context, name)
    if not found:
        raise UndefinedObject(f'model "{".".join(name)}" does not exist')
    return found


def _drop(context: Context, statement: DropModel) -> Result:
    context.check_writable("DROP MODEL")
    for name in statement.names:
        found = _find(context, name) if statement.missing_ok else _require(context, name)
        if not found:
            context.notice(f'model "{".".join(name)}" does not exist, skipping')
            continue
        schema = context.transaction.catalog.schemas.get(found[0].schema)
        role = get_current_role(context)
        if schema is None or not is_owner(context.transaction.catalog, role, schema):
            check_owner(context.transaction.catalog, role, found[0], "model")
        for each in found:
            drop_routine(context, each, cascade=statement.cascade)
    return Result("DROP MODEL")


def _rename(context: Context, statement: RenameModel) -> Result:
    context.check_writable("ALTER MODEL")
    found = _require(context, statement.name)
    new = truncate_identifier(statement.new)
    check_owner(context.transaction.catalog, get_current_role(context), found[0], "model")
    if find_model(context.transaction.catalog, new, (found[0].schema,)):
        raise SqlError.of("duplicate_object", f'model "{new}" already exists')
    catalog = context.transaction.catalog
    for each in found:
        assert each.model is not None
        catalog = catalog.put(replace(each, model=replace(each.model, name=new)))
    context.transaction.set_catalog(catalog)
    return Result("ALTER MODEL")


def _run_for_functions(context: Context, statement: ModelAsFunction) -> Result:
    """Runs a statement that says about functions what it shall say about models, for those of the models."""
    (parsed,) = parse(statement.text)
    node: Any = parsed.node
    if parsed.kind not in _ABOUT_FUNCTIONS:
        raise SqlError.of("syntax_error", "this statement is not one about models")
    result: Result | None = None
    if parsed.kind == "GrantStmt" and (node.targtype, node.objtype) != (pg.ACL_TARGET_OBJECT, pg.OBJECT_FUNCTION):
        raise SqlError.of("syntax_error", "this statement is not one about models")
    named = list(node.objects) if parsed.kind == "GrantStmt" else [node.object]
    for each in named:
        if not inner(each).args_unspecified:
            raise SqlError.of("syntax_error", "models have no arguments")
        found = _require(context, strings(inner(each).objname))
        # ALTER changes all functions of a model by itself; the comment is the first one's
        for routine in found if parsed.kind == "GrantStmt" else found[:1]:
            result = _run_for(context, statement, routine)
    assert result is not None
    tag = "ALTER MODEL" if result.tag.startswith("ALTER") else result.tag
    return Result(tag)


def _run_for(context: Context, statement: ModelAsFunction, routine: Routine) -> Result:
    """Runs such a statement for one function."""
    (parsed,) = parse(statement.text)
    node: Any = parsed.node
    if parsed.kind == "GrantStmt":
        del node.objects[1:]
        target = inner(node.objects[0])
    else:
        target = inner(node.object)
    (named,) = parse(f"DROP FUNCTION {_quote(routine.schema)}.{_quote(routine.name)}({_list_types(routine)})")
    target.CopyFrom(inner(named.node.objects[0]))
    handler = context.session.handlers[parsed.kind]
    return handler(replace(context, statement=replace(parsed, node=node, for_model=True), plan=None))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list_types(routine: Routine) -> str:
    return ", ".join(str(each.type) for each in routine.inputs)


# ---- SHOW


def show_columns(statement: ModelStatement) -> tuple[ResultColumn, ...] | None:
    """The result columns of a statement about models; None for one without rows."""
    if not isinstance(statement, ShowModel):
        return None
    names = ("Schema Name", "Model Name") if statement.name is None else ("Model Name", "Value")
    return tuple(ResultColumn(name, TEXT) for name in names)


def _show(context: Context, statement: ShowModel) -> Result:
    """SHOW MODEL: what a role may know that may call it; the query is for its owner."""
    names = tuple(column.name for column in show_columns(statement) or ())
    catalog, role = context.transaction.catalog, get_current_role(context)
    if statement.name is None:
        models = {
            (each.schema, each.model.name)
            for each in catalog.routines.values()
            if each.model is not None and may_call(catalog, role, each)
        }
        return text_result("SHOW", names, sorted(models))
    found = _require(context, statement.name)
    if not may_call(catalog, role, found[0]):
        raise SqlError.of("insufficient_privilege", f"permission denied for model {statement.name[-1]}")
    rows: list[tuple[str | None, ...]] = list(_describe(found, owner=is_owner(catalog, role, found[0])))
    return text_result("SHOW", names, rows)


def _describe(functions: tuple[Routine, ...], *, owner: bool) -> Iterator[tuple[str | None, ...]]:
    routine = functions[0]
    model = routine.model
    assert model is not None
    yield "Model Name", model.name
    yield "Schema Name", routine.schema
    yield "Owner", routine.owner
    yield "Creation Time", model.created
    yield "Model State", "READY"
    yield "Version", str(model.version)
    yield "Model Type", model.kind
    yield "Problem Type", model.task
    yield "Library", model.library
    for each in functions:
        yield "Function Name", each.name
        yield "Function Parameters", " ".join(argument.name for argument in each.inputs)
        yield "Function Parameter Types", _list_types(each)
        yield "Function Return Type", str(each.result)
    if model.target:
        yield "Target Column", model.target
    if model.labels and model.task == "classification":
        yield "Labels", ", ".join(model.labels)
    yield "Rows", str(model.rows)
    for place, figures in json.loads(model.metrics).items():
        for name, value in figures.items() if isinstance(figures, dict) else [("", figures)]:
            yield f"{place}:{name}".rstrip(":"), str(value)
    for name, text in model.parameters:
        yield f"Parameter {name}", text
    if owner and model.query:
        yield "Query", model.query
