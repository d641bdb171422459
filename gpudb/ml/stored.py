"""Pipelines in the database: a view or function, its learned tables, and its definition as JSON in the comment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpudb.api.connection import Connection
from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.functions.text_literal import quote_literal
from gpudb.ml.flow import open_flow
from gpudb.ml.learned import Learned
from gpudb.ml.transformer import TRANSFORMERS, Transformer

_MARK = "gpudb.ml pipeline "
Steps = list[tuple[str, Transformer]]


class _SavedTables:
    """See `learned.LearnedTables`: tables that bear the pipeline's name."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._schema, _, self._name = _split(name)
        self.names: dict[Learned, str] = {}

    def locate(self, learned: Learned) -> str:
        if learned not in self.names:
            name = self._schema + quote_identifier(f"{self._name}_learned_{len(self.names) + 1}")
            learned.write(self._connection, name, temporary=False)
            self.names[learned] = name
        return self.names[learned]


def save(
    db: Connection,
    name: str,
    steps: Steps,
    input_types: Mapping[str, str],
    *,
    over: str | None,
    inputs: Sequence[str] | None,
    replace: bool,
) -> None:
    """See `Pipeline.save`."""
    _, target, _ = _split(name)
    with db.transaction():
        if replace and _find(db, target) is not None:
            drop(db, name)
        tables = _SavedTables(db, name)
        transformers = [step for _, step in steps]
        if over is not None:
            query = _compile(db, transformers, f"SELECT * FROM {over}", tables).query
            db.execute(f"CREATE VIEW {target} AS {query}")
            kind = f"VIEW {target}"
        else:
            kind = f"FUNCTION {_create_function(db, target, transformers, input_types, inputs, tables)}"
        definition = _MARK + json.dumps(_write(steps, input_types, tables.names), ensure_ascii=False)
        db.execute(f"COMMENT ON {kind} IS {quote_literal(definition)}")


def _create_function(
    db: Connection,
    target: str,
    transformers: Sequence[Transformer],
    input_types: Mapping[str, str],
    inputs: Sequence[str] | None,
    tables: _SavedTables,
) -> str:
    """Creates the function, and returns its name with its arguments' types."""
    for step in transformers:
        if not step.is_row_wise:
            hint = "Save it as a view, by the argument over."
            raise FeatureNotSupported(f"a function of one row cannot compute {type(step).__name__}", hint=hint)
    names = _list_read(transformers, input_types) if inputs is None else list(inputs)
    for each in names:
        if each not in input_types:
            raise UndefinedColumn(f'column "{each}" does not exist')
    types = [input_types[each] for each in names]
    row = ", ".join(f"${at}::{type_} AS {quote_identifier(n)}" for at, (n, type_) in enumerate(zip(names, types), 1))
    # The types are described over NULLs, since a description knows no arguments.
    nulls = ", ".join(f"NULL::{type_} AS {quote_identifier(n)}" for n, type_ in zip(names, types))
    compiled = _compile(db, transformers, f"SELECT {nulls}", tables)
    columns = ", ".join(f"{quote_identifier(field.name)} {field.type}" for field in compiled.fields)
    body = compiled.query.replace(f"SELECT {nulls}", f"SELECT {row}", 1)
    arguments = ", ".join(f"{quote_identifier(n)} {type_}" for n, type_ in zip(names, types, strict=True))
    head = f"CREATE FUNCTION {target}({arguments}) RETURNS TABLE ({columns}) LANGUAGE sql STABLE"
    db.execute(f"{head} AS {quote_literal(body)}")
    return f"{target}({', '.join(types)})"


def _compile(db: Connection, transformers: Sequence[Transformer], query: str, tables: _SavedTables) -> Relation:
    """Returns a query transformed, which joins the saved tables."""
    flow = open_flow(db.sql(query), tables)
    for step in transformers:
        flow = step.transform_flow(flow)
    return flow.read()


def _list_read(transformers: Sequence[Transformer], input_types: Mapping[str, str]) -> list[str]:
    """Returns the columns of the input that a transformer reads."""
    read = {name for step in transformers for name in step.list_inputs()}
    return [name for name in input_types if name in read]


def load(db: Connection, name: str) -> tuple[Steps, dict[str, str]]:
    """See `Pipeline.load`."""
    _, target, _ = _split(name)
    found = _find(db, target)
    if found is None:
        raise SqlError.of("undefined_object", f'pipeline "{name}" does not exist')
    definition = found[1]
    steps: Steps = []
    for entry in definition["steps"]:
        step = TRANSFORMERS[entry["class"]](**entry["params"])
        step.restore(
            entry["state"],
            {key: _read(db, value) for key, value in entry["learned"].items()},
            entry.get("inputs"),
            entry.get("outputs"),
        )
        steps.append((entry["name"], step))
    return steps, definition["input"]


def drop(db: Connection, name: str) -> None:
    """See `Pipeline.drop`."""
    _, target, _ = _split(name)
    found = _find(db, target)
    if found is None:
        raise SqlError.of("undefined_object", f'pipeline "{name}" does not exist')
    kind, definition = found
    db.execute(f"DROP {kind} {target}")
    for entry in definition["steps"]:
        for value in entry["learned"].values():
            if "table" in value:
                db.execute(f"DROP TABLE {value['table']}")


def _find(db: Connection, target: str) -> tuple[str, dict[str, Any]] | None:
    """Finds a saved pipeline: whether it is a VIEW or a FUNCTION, and its definition."""
    literal = quote_literal(target)
    comments = [("VIEW", f"SELECT obj_description(to_regclass({literal}), 'pg_class')")]
    comments.append(("FUNCTION", f"SELECT obj_description(to_regproc({literal}), 'pg_proc')"))
    for kind, query in comments:
        row = db.execute(query).fetchone()
        if row is not None and isinstance(row[0], str) and row[0].startswith(_MARK):
            return kind, json.loads(row[0][len(_MARK) :])
    return None


def _write(steps: Steps, input_types: Mapping[str, str], tables: Mapping[Learned, str]) -> dict[str, Any]:
    entries = []
    for name, step in steps:
        learned = {}
        for key, value in step.learned_.items():
            rows = {"table": tables[value]} if value in tables else {"rows": value.list_rows()}
            learned[key] = {"keys": value.keys, "names": value.names, "types": value.types, **rows}
        entries.append(
            {
                "name": name,
                "class": type(step).__name__,
                "params": step.get_fitted_params(),
                "inputs": list(step.feature_names_in_),
                "outputs": step.output_names_,
                "state": step.state_,
                "learned": learned,
            }
        )
    return {"version": 1, "input": dict(input_types), "steps": entries}


def _read(db: Connection, value: Mapping[str, Any]) -> Learned:
    learned = Learned(value["keys"], tuple(value["names"]), tuple(value["types"]))
    if "table" in value:
        learned.table = db.table(value["table"]).arrow()
    else:
        learned.rows = [tuple(row) for row in value["rows"]]
    return learned


def _split(name: str) -> tuple[str, str, str]:
    """Splits a name as in SQL, `schema.name` or `name`: the quoted schema with its dot, the whole quoted, the name."""
    parts = []
    rest = name
    while rest:
        if rest.startswith('"'):
            end = rest.index('"', 1)
            parts.append(rest[1:end])
            rest = rest[end + 1 :].removeprefix(".")
        else:
            part, _, rest = rest.partition(".")
            parts.append(part.lower())
    if not 1 <= len(parts) <= 2 or not all(parts):
        raise SqlError.of("invalid_name", f'"{name}" is no name of a table')
    schema = f"{quote_identifier(parts[0])}." if len(parts) == 2 else ""
    return schema, schema + quote_identifier(parts[-1]), parts[-1]
