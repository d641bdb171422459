"""CREATE INDEX by access methods of vectors: pgvector's hnsw and ivfflat, and cuVS's cagra, ivf_flat and ivf_pq.

What pgvector refuses is refused. The index is built by the embedded engine, file by file; workers build theirs from
their rows in memory when a statement first searches them.
"""

from __future__ import annotations

import re
from typing import Any

from gpudb import pgdata
from gpudb.catalog.partition_trees import assemble
from gpudb.catalog.tables import Index, Table
from gpudb.catalog.vector_indexes import define_vector_index
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.sql.parse.parser import inner, present, strings
from gpudb.sql.parse.values import read_option_text
from gpudb.types import SqlType
from gpudb.values.sparse_vectors import MAX_DIMENSIONS
from gpudb.vector_indexes.definition import PARAMETERS
from gpudb.vector_indexes.file_indexes import IndexedFile, explain_lack

_MAX_DIMENSIONS = {"vector": 2000, "halfvec": 4000, "bit": 64_000, "sparsevec": MAX_DIMENSIONS}
"""Dimensions that pgvector's indexes have at most; of sparse vectors they are not limited."""


def check_vector_index(method: str, node: Any, table: Table) -> None:
    """Checks an IndexStmt message with one of VECTOR_METHODS.

    0A000 for several keys and other clauses, 42704 for an operator class that the method lacks, 42804 for one of
    another type, 22023 for storage parameters and for a column without dimensions, 54000 for too many.
    """
    if len(node.index_params) > 1:
        raise FeatureNotSupported(f'access method "{method}" does not support multicolumn indexes')
    if len(node.index_including_params):
        raise FeatureNotSupported(f'access method "{method}" does not support included columns')
    (element,) = map(inner, node.index_params)
    if element.ordering > 1:
        raise FeatureNotSupported(f'access method "{method}" does not support ASC/DESC options')
    if element.nulls_ordering > 1:
        raise FeatureNotSupported(f'access method "{method}" does not support NULLS FIRST/LAST options')
    column = next((each for each in table.columns if each.name == element.name), None)
    kind = column.type if column is not None else _get_cast_type(element)
    if kind is not None:
        _check_type(method, kind, strings(element.opclass)[-1] if len(element.opclass) else "")
    _check_parameters(method, node)


def _get_cast_type(element: Any) -> SqlType | None:
    """Returns the type of a key that is a cast to a vector or bit string; None for other expressions."""
    if not present(element.expr) or element.expr.WhichOneof("node") != "type_cast":
        return None
    named = element.expr.type_cast.type_name
    name = strings(named.names)[-1]
    if name not in _MAX_DIMENSIONS:
        return None
    sizes = [inner(each).ival.ival for each in named.typmods]
    return SqlType(name, sizes[0] if sizes else -1)


def _check_type(method: str, kind: SqlType, operator_class: str) -> None:
    (access,) = (oid for oid, name in pgdata.load_added("pg_am").select("oid", "amname") if name == method)
    classes = pgdata.load_added("pg_opclass").select("opcmethod", "opcname", "opcintype", "opcdefault")
    known = {name: (int(item), default == "t") for owner, name, item, default in classes if owner == access}
    if operator_class:
        if operator_class not in known:
            message = f'operator class "{operator_class}" does not exist for access method "{method}"'
            raise SqlError.of("undefined_object", message)
        if known[operator_class][0] != kind.oid:
            message = f'operator class "{operator_class}" does not accept data type {kind.plain}'
            raise SqlError.of("datatype_mismatch", message)
    elif (kind.oid, True) not in known.values():
        message = f'data type {kind.plain} has no default operator class for access method "{method}"'
        hint = "You must specify an operator class for the index or define a default operator class for the data type."
        raise SqlError.of("undefined_object", message, hint=hint)
    if kind.length is None:
        raise SqlError.of("invalid_parameter_value", "column does not have dimensions")
    if method in {"hnsw", "ivfflat"} and kind.length > _MAX_DIMENSIONS[kind.name]:
        message = f"column cannot have more than {_MAX_DIMENSIONS[kind.name]} dimensions for {method} index"
        raise SqlError.of("program_limit_exceeded", message)


def _check_parameters(method: str, node: Any) -> None:
    known = PARAMETERS[method]
    values = {name: bounds[0] for name, bounds in known.items()}
    for option in map(inner, node.options):
        name = option.defname
        if name not in known:
            raise SqlError.of("invalid_parameter_value", f'unrecognized parameter "{name}"')
        text = read_option_text(option)
        if not re.fullmatch(r"[+-]?\d+", text):
            raise SqlError.of("invalid_parameter_value", f'invalid value for integer option "{name}": {text}')
        _, least, most = known[name]
        values[name] = int(text)
        if not least <= values[name] <= most:
            message = f'value {values[name]} out of bounds for option "{name}"'
            detail = f'Valid values are between "{least}" and "{most}".'
            raise SqlError.of("invalid_parameter_value", message, detail=detail)
    if method == "hnsw" and values["ef_construction"] < 2 * values["m"]:
        raise SqlError.of("invalid_parameter_value", "ef_construction must be greater than or equal to 2 * m")


def build_vector_index(context: Context, table: Table, index: Index) -> None:
    """Builds an index of vectors for the files that a table has; a notice says why, if it stays a declaration."""
    defined = define_vector_index(table, index)
    detail = "An index of an expression, of some of the rows, or of sparse vectors is not searched."
    lack: str | None = detail if defined is None else explain_lack(defined[1])
    indexes = context.session.database.cpu.indexes
    if defined is None or lack is not None or indexes is None:
        context.notice(f'index "{index.name}" is kept as a declaration', detail=f"{lack} Searches read all vectors.")
        return
    if context.session.database.members is None:
        indexes.build(_list_files(context, table, defined[0].field_id), defined[1], context.cancel.check)


def remove_vector_index(context: Context, table: Table, index: Index) -> None:
    """Removes what was built for an index of a table that has none like it any more."""
    defined = define_vector_index(table, index)
    indexes = context.session.database.cpu.indexes
    others = (define_vector_index(table, each) for each in table.constraints if isinstance(each, Index))
    if defined is not None and indexes is not None and defined not in others:
        indexes.drop(_list_files(context, table, defined[0].field_id), defined[1])


def _list_files(context: Context, table: Table, field_id: int) -> list[IndexedFile]:
    files = assemble(context.transaction.catalog, table).files
    return [IndexedFile(file.path, file.stored_rows, field_id) for file in files]
