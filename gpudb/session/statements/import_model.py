"""CREATE MODEL … FROM FILE: a model of another program becomes a function; its bytes are kept in the database."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.analytics.importing import Imported, check_import, make_row
from gpudb.analytics.linear_sql import quote_text
from gpudb.catalog.models import LANGUAGE, Feature, Model
from gpudb.catalog.routines import Argument, Routine
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.copy.server_files import check_file_access, file_error
from gpudb.session.execution.routines.model_calls import COMPLETE, TRAINING_POOL, make_scoring
from gpudb.session.objects.names import truncate_identifier
from gpudb.session.routines.create_routine import parameter_type
from gpudb.sql.parse.model_statements import CreateModel
from gpudb.sql.parse.parser import inner, parse, present
from gpudb.types import BOOL, TEXT, SqlType
from gpudb.types.facts import FLOATS, INTEGERS

ENDED = frozenset({"53200", "58000"})
"""What a call raises whose process a library has ended, as some do for a damaged file."""
_MAX_BYTES = 1 << 30
_PIECE_BYTES = 16 << 20
_NUMBERS = FLOATS | INTEGERS


@dataclass(frozen=True, slots=True)
class FileModel:
    """A model from a file before it is in the catalog: its function without an OID, and its bytes."""

    function: Routine
    content: bytes


def read_model(context: Context, statement: CreateModel, schema: str, name: str) -> FileModel:
    """Reads a file of the server, which the current role may do, and tries the model that it has; 42501, 58P01."""
    assert statement.file is not None
    options = dict(statement.options)
    check_import(statement.using, options)
    if statement.target is not None or statement.signature is None or statement.returns is None:
        message = "a model from a file needs FUNCTION name (types) RETURNS type, and no TARGET"
        raise SqlError.of("syntax_error", message)
    arguments, result = _read_signature(context, statement)
    model = Model(
        name=name,
        kind=statement.using,
        task="scoring",
        features=tuple(Feature(each.name) for each in arguments),
        output=_find_output(result),
        parameters=statement.options,
        query=f"FILE {quote_text(statement.file)}",
        created=dt.datetime.now(dt.UTC).isoformat(),
        format=statement.using,
    )
    content = _read_file(context, Path(statement.file))
    row = make_row([each.type.arrow for each in arguments])
    given = (statement.using, content, options, make_scoring(model, ""), row)
    try:
        imported: Imported = TRAINING_POOL.call("import_model", given, context.cancel.check)
    except SqlError as error:
        if error.sqlstate not in ENDED:
            raise
        message = f"the file is no model that {statement.using} can read"
        detail = "The process that read it has ended."
        raise SqlError.of("invalid_binary_representation", message, detail=detail) from None
    function = Routine(
        0,
        schema,
        truncate_identifier(statement.function[-1]),
        context.session.user,
        arguments,
        result,
        "",
        volatility="s",
        strict=model.kind in COMPLETE,
        parallel="s",
        language=LANGUAGE,
        model=replace(model, library=imported.library),
    )
    return FileModel(function, imported.content)


def _read_signature(context: Context, statement: CreateModel) -> tuple[tuple[Argument, ...], SqlType]:
    """Returns the arguments and the result that a statement declares; 0A000 for other types than models have."""
    text = f"CREATE FUNCTION f({statement.signature}) RETURNS {statement.returns} LANGUAGE sql AS ''"
    try:
        node: Any = parse(text)[0].node
    except SqlError as error:
        error.position = None
        raise
    if node.return_type.setof or not len(node.parameters):
        raise SqlError.of("invalid_function_definition", "a model has one or more arguments, and returns one value")
    arguments: list[Argument] = []
    for number, each in enumerate(map(inner, node.parameters), 1):
        item = parameter_type(context, each.arg_type)
        if each.mode not in (pg.FUNC_PARAM_IN, pg.FUNC_PARAM_DEFAULT) or present(each.defexpr):
            raise FeatureNotSupported("arguments of models are inputs without defaults")
        if item.name not in _NUMBERS and item != BOOL and not (item == TEXT and statement.using == "onnx"):
            raise FeatureNotSupported(f"arguments of type {item} are not supported for a model of {statement.using}")
        name = each.name or f"f{number}"
        if any(other.name == name for other in arguments):
            raise SqlError.of("invalid_function_definition", f'parameter name "{name}" used more than once')
        arguments.append(Argument(name, item))
    return tuple(arguments), parameter_type(context, node.return_type)


def _find_output(result: SqlType) -> str:
    """Returns what a model is to give for a result's type: value, vector, label or text; 0A000."""
    if result.element is not None and result.element.name in FLOATS:
        return "vector"
    if result.element is None:
        if result.name in FLOATS:
            return "value"
        if result.name in _NUMBERS or result == BOOL:
            return "label"
        if result == TEXT:
            return "text"
    raise FeatureNotSupported(f"models that return {result} are not supported")


def _read_file(context: Context, path: Path) -> bytes:
    """Returns the bytes of a file of the server; 54000 for one that is too large."""
    check_file_access(context, reading=True)
    parts: list[bytes] = []
    try:
        with path.open("rb") as file:
            while part := file.read(_PIECE_BYTES):
                context.cancel.check()
                parts.append(part)
                if len(parts) * _PIECE_BYTES > _MAX_BYTES:
                    message = f"a model can have {_MAX_BYTES >> 20} MB"
                    raise SqlError.of("program_limit_exceeded", message)
    except OSError as error:
        raise file_error(error, path, reading=True) from None
    return b"".join(parts)
