"""CREATE MODEL: a model is trained on the rows of a query, and becomes the function that scores rows with it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpudb.analytics.linear_sql import MAX_TERMS, count_terms, make_label, make_probability, make_value, quote_text
from gpudb.analytics.parameters import check_kind, find_task, read_parameters
from gpudb.analytics.training import Trained, Training
from gpudb.catalog.model import BOOTSTRAP_ROLE_OID
from gpudb.catalog.model_functions import find_model
from gpudb.catalog.models import CONTENT_SCHEMA, LANGUAGE, PROBABILITY, Feature, Model
from gpudb.catalog.routines import Argument, Routine
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.session.authorization.authorize import authorize
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.context import Context
from gpudb.session.execution.routines.model_calls import COMPLETE, TRAINING_POOL
from gpudb.session.objects.names import permanent_schema, truncate_identifier
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import drop_routine
from gpudb.session.routines.create_routine import resolve_replacement
from gpudb.session.statements.import_model import read_model
from gpudb.session.statements.training_rows import open_rows
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.bound import Cast, Derived, Expr, OutputColumn, Query, Scan, Select
from gpudb.sql.bound import Column as Reference
from gpudb.sql.parse.model_statements import CreateModel
from gpudb.sql.parse.parser import RawStatement, inner, parse
from gpudb.sql.traverse import walk
from gpudb.storage.iceberg.chunked_content import COLUMNS, iter_chunks
from gpudb.types import BOOL, FLOAT8, INT4, TEXT, SqlType
from gpudb.types.facts import INTEGERS, NUMBERS

_TEXTS = frozenset({"text", "varchar", "bpchar", "name"})
_REL = 1_000_000


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows to train on: the query of features and target, and what each is."""

    query: Query
    features: tuple[Argument, ...]
    target: SqlType | None


def create_model(context: Context, statement: CreateModel) -> Result:
    """CREATE [OR REPLACE] MODEL [IF NOT EXISTS] … FROM … TARGET … FUNCTION … USING … [WITH (…)]."""
    context.check_writable("CREATE MODEL")
    schema = permanent_schema(context, "".join(statement.name[-2:-1]), "models")
    if statement.function[:-1] and statement.function[-2] != schema:
        raise FeatureNotSupported("the function of a model in another schema than the model is not supported")
    name = truncate_identifier(statement.name[-1])
    known = find_model(context.transaction.catalog, name, (schema,))
    if known and statement.if_not_exists:
        context.notice(f'model "{name}" already exists, skipping', sqlstate="42710")
        return Result("CREATE MODEL")
    if known and not statement.replace:
        raise SqlError.of("duplicate_object", f'model "{name}" already exists')
    for each in known:
        check_owner(context.transaction.catalog, get_current_role(context), each, "model")
    if statement.file is None:
        made = _train_model(context, statement, schema, name)
    else:
        found = read_model(context, statement, schema, name)
        made = Made((found.function,), found.content)
    version = max((each.model.version for each in known if each.model is not None), default=0) + 1
    functions = [replace(each, model=replace(each.model, version=version)) for each in made.functions if each.model]
    put_model(context, known, functions, made.content)
    return Result("CREATE MODEL")


@dataclass(frozen=True, slots=True)
class Made:
    """A model before it is in the catalog: its functions without OIDs, and the bytes that they need."""

    functions: tuple[Routine, ...]
    content: bytes


def put_model(context: Context, known: Sequence[Routine], made: Sequence[Routine], content: bytes) -> None:
    """Puts a model's functions and bytes into the catalog, in place of those that it had.

    42723 for a function that exists, 2BP01 if something depends on one that the model no longer has.
    """
    same = {_identify(each) for each in made}
    for old in known:
        if _identify(old) not in same:
            drop_routine(context, old, cascade=False)
    _drop_contents(context, [old for old in known if _identify(old) in same])
    table = _store_content(context, content) if content else 0
    for routine in made:
        oid, catalog = context.transaction.catalog.allocate_oid()
        context.transaction.set_catalog(catalog)
        assert routine.model is not None
        own = table if routine.language == LANGUAGE else 0
        routine = replace(routine, oid=oid, model=replace(routine.model, content=own))
        replaced = any(_identify(each) == _identify(routine) for each in known)
        routine = resolve_replacement(context, routine, replaced=replaced)
        context.transaction.set_catalog(context.transaction.catalog.put(routine))


def _drop_contents(context: Context, routines: Sequence[Routine]) -> None:
    """Drops the bytes of functions that are about to be replaced."""
    catalog = context.transaction.catalog
    contents = {each.model.content for each in routines if each.model is not None}
    for each in routines:
        if each.model is not None:
            catalog = catalog.put(replace(each, model=replace(each.model, content=0)))
    for oid in contents:
        if (table := catalog.find_relation_by_oid(oid)) is not None:
            catalog = catalog.drop(table)
    context.transaction.set_catalog(catalog)


def _identify(routine: Routine) -> object:
    """What a function keeps when its model is replaced: its calls remain valid."""
    return routine.key, routine.result, tuple(each.name for each in routine.arguments)


def _store_content(context: Context, content: bytes) -> int:
    """Keeps bytes in a table of their own, which belongs to the first superuser; returns its OID."""
    oid, catalog = context.transaction.catalog.allocate_oid()
    owner = next(role.name for role in catalog.roles.values() if role.oid == BOOTSTRAP_ROLE_OID)
    table = Table(oid, CONTENT_SCHEMA, f"pg_model_{oid}", COLUMNS, owner)
    context.transaction.set_catalog(catalog.put(table))
    context.transaction.append(oid, iter_chunks(content))
    return oid


# ---- training


def _train_model(context: Context, statement: CreateModel, schema: str, name: str) -> Made:
    assert statement.query is not None
    if statement.signature is not None:
        raise SqlError.of("syntax_error", "the arguments of a model of rows are its features: they are not declared")
    kind = statement.using
    check_kind(kind)
    parameters = read_parameters(kind, statement.options)
    inside = replace(context, statement=_parse_query(statement.query), plan=None, session_calls=None)
    try:
        rows = _bind_rows(inside, statement, kind, str(parameters.get("objective", "")))
    except SqlError as error:
        error.position = error.position and error.position + inside.statement.start
        raise
    task = find_task(kind, str(parameters.get("objective", "")), has_numbers=_is_number(rows.target))
    result = _find_result(task, rows.target)
    if statement.returns is not None:
        _check_returns(context, statement.returns, result)
    training = Training(kind, task, tuple(each.name for each in rows.features), parameters)
    trained = _run_training(inside, training, rows.query)
    base = Model(
        name=name,
        kind=kind,
        task=task,
        features=tuple(
            Feature(each.name, texts) for each, texts in zip(rows.features, trained.categories, strict=True)
        ),
        target=statement.target or "",
        labels=trained.labels,
        parameters=tuple((key, str(value)) for key, value in parameters.items()),
        metrics=trained.metrics,
        query=statement.query.strip(),
        snapshots=tuple(_list_snapshots(context, rows.query)),
        rows=trained.rows,
        created=dt.datetime.now(dt.UTC).isoformat(),
        format=trained.format,
        library=trained.library,
    )
    function = truncate_identifier(statement.function[-1])
    outputs = [(function, "value" if task == "regression" else "label", result)]
    if task == "classification":
        item = FLOAT8 if len(trained.labels) == 2 else FLOAT8.array
        outputs.append((f"{function}_proba", PROBABILITY, item))
    made = [
        _make_function(context, schema, each, rows.features, item, replace(base, output=output), trained)
        for each, output, item in outputs
    ]
    needed = any(each.language == LANGUAGE for each in made)
    return Made(tuple(made), trained.content if needed else b"")


def _parse_query(text: str) -> RawStatement:
    """Parses the training query; 42601 for anything but one SELECT."""
    found = parse(text)
    if len(found) != 1 or found[0].kind != "SelectStmt":
        raise SqlError.of("syntax_error", "a model is trained on the rows of one SELECT")
    return found[0]


def _bind_rows(context: Context, statement: CreateModel, kind: str, objective: str) -> _Rows:
    """Binds the training query, which the current role may run; 42703 without the target, 0A000 for other types."""
    binder = context.binder()
    query = bind_query(binder, context.statement.node, None)
    allowed = authorize(context, query, binder.accesses)
    assert isinstance(allowed, Query)
    query = allowed
    target = statement.target
    if (target is None) is not (kind == "kmeans"):
        message = (
            f"a model of kind {kind} needs a TARGET" if target is None else f"a model of kind {kind} has no TARGET"
        )
        raise SqlError.of("syntax_error", message)
    names = [column.name for column in query.columns]
    for name in names:
        if names.count(name) > 1:
            raise SqlError.of("duplicate_column", f'column "{name}" of the training query is specified more than once')
    if target is not None and target not in names:
        raise UndefinedColumn(f'column "{target}" does not exist in the training query')
    features, targets = list[Argument](), list[Expr]()
    for index, column in enumerate(query.columns):
        if column.name == target:
            continue
        item = _find_feature_type(column.name, column.type)
        features.append(Argument(column.name, item))
        targets.append(_cast(Reference(_REL, index, column.type, column.name), item))
    if not features:
        raise SqlError.of("invalid_parameter_value", "the training query has no column beside the target")
    own: SqlType | None = None
    if target is not None:
        index = names.index(target)
        own = query.columns[index].type
        task = find_task(kind, objective, has_numbers=_is_number(own))
        own = FLOAT8 if task == "regression" else own if own.name in INTEGERS or own == BOOL else TEXT
        _check_target(query.columns[index], task)
        targets.append(_cast(Reference(_REL, index, query.columns[index].type, target), own))
    outputs = tuple(OutputColumn(f"k{number}", each.type) for number, each in enumerate(targets, 1))
    return _Rows(Select(outputs, tuple(targets), Derived(_REL, query)), tuple(features), own)


def _cast(expr: Expr, item: SqlType) -> Expr:
    return expr if expr.type == item else Cast(expr, item)


def _is_number(item: SqlType | None) -> bool:
    return item is not None and item.name in NUMBERS


def _is_text(item: SqlType) -> bool:
    return item.name in _TEXTS or item.labels is not None or item.name == "unknown"


def _find_feature_type(name: str, item: SqlType) -> SqlType:
    """Returns the type of the argument for a feature of a type; 0A000."""
    if item.element is None:
        if item.name in NUMBERS:
            return FLOAT8
        if item == BOOL:
            return BOOL
        if item.labels is not None:
            return item
        if _is_text(item):
            return TEXT
    hint = "Features are numbers, booleans and texts: compute them in the query, as by extract(epoch from …)."
    raise FeatureNotSupported(f'features of type {item} are not supported (column "{name}")', hint=hint)


def _check_target(column: OutputColumn, task: str) -> None:
    item = column.type
    if task == "regression" and not _is_number(item):
        message = f'the target of a regression is a number, but column "{column.name}" is of type {item}'
        raise SqlError.of("datatype_mismatch", message)
    if task == "classification" and not (item.name in INTEGERS or item == BOOL or _is_text(item)):
        message = f'classes of type {item} are not supported (column "{column.name}")'
        raise FeatureNotSupported(message, hint="Cast the target to text or to an integer.")


def _find_result(task: str, target: SqlType | None) -> SqlType:
    if task == "clustering" or target is None:
        return INT4
    return FLOAT8 if task == "regression" else target


def _check_returns(context: Context, text: str, result: SqlType) -> None:
    """42P13 for RETURNS with another type than the model's."""
    target: Any = inner(parse(f"SELECT NULL::{text}")[0].node.target_list[0]).val
    declared = resolve_type_name(inner(target).type_name, context.binder())
    if declared != result:
        message = f"the function of this model returns {result}, not {declared}"
        raise SqlError.of("invalid_function_definition", message)


def _run_training(context: Context, training: Training, query: Query) -> Trained:
    """Trains in a child process, which asks for the rows; a cancelled statement ends it."""
    with open_rows(context, query, nan_is_null=training.kind not in COMPLETE) as parts:
        trained: Trained = TRAINING_POOL.call("train", (training,), context.cancel.check, lambda _: next(parts, None))
    if trained.notice:
        context.notice(trained.notice)
    return trained


def _list_snapshots(context: Context, query: Query) -> Iterator[tuple[str, int]]:
    """Yields the tables that a query reads that have snapshots, and the last one of each."""
    known = context.transaction.catalog.snapshots
    seen = set()
    for node in walk(query):
        if isinstance(node, Scan) and isinstance(node.table, Table) and node.table.oid not in seen:
            seen.add(node.table.oid)
            kept = known.get(node.table.oid, ())
            if kept:
                yield f"{node.table.schema}.{node.table.name}", kept[-1].id


# ---- functions


def _make_function(
    context: Context,
    schema: str,
    name: str,
    features: tuple[Argument, ...],
    result: SqlType,
    model: Model,
    trained: Trained,
) -> Routine:
    """Returns a model's function of an output: SQL for linear scores, else one that a process computes."""
    body = _make_body(model, trained, features, result)
    return Routine(
        0,
        schema,
        name,
        context.session.user,
        features,
        result,
        body or "",
        volatility="s" if body is None else "i",
        strict=model.kind in COMPLETE,
        parallel="s",
        language=LANGUAGE if body is None else "sql",
        model=model,
    )


def _make_body(model: Model, trained: Trained, features: Sequence[Argument], result: SqlType) -> str | None:
    linear = trained.linear
    if not linear or count_terms(linear, model.task) > MAX_TERMS:
        return None
    booleans = [each.type == BOOL for each in features]
    if model.output == PROBABILITY:
        return f"SELECT {make_probability(linear, trained.categories, booleans)}" if len(linear) == 1 else None
    if model.task == "regression":
        return f"SELECT {make_value(linear, trained.categories, booleans)}"
    labels = [f"{quote_text(text)}::{result}" for text in model.labels]
    return f"SELECT {make_label(linear, trained.categories, booleans, labels)}"
