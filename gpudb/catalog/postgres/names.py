"""Names of relations, types and indexes under a search path: qualified if the path hides them.

PostgreSQL computes this whenever it prints a name; here it is computed once for each catalog and path, since DuckDB
plans a look-up in a small table much faster than a search.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence as Several
from functools import cache, lru_cache
from typing import NamedTuple

import pyarrow as pa

from gpudb import pgdata
from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog, make_initial_catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.constraint_rows import deparse_index
from gpudb.catalog.postgres.indexes import list_indexes
from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Table
from gpudb.types import SqlType


class NamedObject(NamedTuple):
    """A named object in a schema; `element` and `array` are a type's."""

    oid: int
    namespace: int
    name: str
    element: int = 0
    array: int = 0


@cache
def _load_columns(name: str, *columns: str) -> tuple[tuple[str, ...], ...]:
    return tuple(pgdata.load_table(name).select(*columns))


@cache
def load_namespaces() -> dict[str, int]:
    """The OIDs of the system's schemas by name."""
    return {name: int(oid) for oid, name in _load_columns("pg_namespace", "oid", "nspname")}


def _iterate_relations(catalog: Catalog, schemas: dict[str, int]) -> Iterator[NamedObject]:
    for oid, namespace, name in _load_columns("pg_class", "oid", "relnamespace", "relname"):
        yield NamedObject(int(oid), int(namespace), name)
    for definition in catalog.types.values():
        if definition.user.kind == "c":
            yield NamedObject(oids.type_relation(definition.oid), schemas[definition.schema], definition.name)
    for relation in catalog.relations.values():
        namespace_oid = schemas[relation.schema]
        yield NamedObject(relation.oid, namespace_oid, relation.name)
        if isinstance(relation, Table):
            for index in list_indexes(relation):
                yield NamedObject(index.oid, namespace_oid, index.name)


def _iterate_types(catalog: Catalog, schemas: dict[str, int]) -> Iterator[NamedObject]:
    columns = "oid", "typnamespace", "typname", "typelem", "typarray", "typsubscript"
    for oid, namespace, name, element, array, subscript in _load_columns("pg_type", *columns):
        # A subscript function does not make a type an array: vectors and points have one, and some types with one have
        # no array type.
        is_array = subscript == "6179" and name.startswith("_")
        yield NamedObject(int(oid), int(namespace), name, int(element) if is_array else 0, int(array))
    for relation in catalog.relations.values():
        if isinstance(relation, Sequence):
            continue
        row, array_oid, namespace_oid = (
            oids.row_type(relation.oid),
            oids.array_type(relation.oid),
            schemas[relation.schema],
        )
        yield NamedObject(row, namespace_oid, relation.name, 0, array_oid)
        yield NamedObject(array_oid, namespace_oid, f"_{relation.name}"[:63], row)
    for definition in catalog.types.values():
        yield NamedObject(definition.oid, schemas[definition.schema], definition.name, 0, definition.user.array_oid)
        yield NamedObject(
            definition.user.array_oid, schemas[definition.schema], f"_{definition.name}"[:63], definition.oid
        )


def map_schema_oids(catalog: Catalog) -> dict[str, int]:
    """Returns the OID of every schema by name, temporary ones included."""
    oids_by_name = {**load_namespaces(), **{schema.name: schema.oid for schema in catalog.schemas.values()}}
    for relation in catalog.relations.values():
        oids_by_name.setdefault(relation.schema, oids.schema(relation.schema))
    return oids_by_name


def _get_modifier_style(name: str) -> str:
    """Returns the function that prints a type's modifier; types of fixed size have none."""
    return "" if name in _UNMODIFIED else _STYLES.get(name, "plain")


def _find_visible(items: Several[NamedObject], path: Several[int]) -> set[int]:
    rank = {namespace: position for position, namespace in reversed(list(enumerate(path)))}
    first: dict[str, tuple[int, int]] = {}
    for item in items:
        position = rank.get(item.namespace)
        if position is not None and (item.name not in first or position < first[item.name][0]):
            first[item.name] = position, item.oid
    return {oid for _, oid in first.values()}


def build_relation_names(catalog: Catalog, path: Several[int]) -> pa.Table:
    """Returns for each relation: oid, displayed name, unqualified name, qualified name, and whether it is visible."""
    schemas = map_schema_oids(catalog)
    schema_names = {oid: quote_name(name) for name, oid in schemas.items()}
    items = list(_iterate_relations(catalog, schemas))
    visible = _find_visible(items, path)
    shorts = [quote_name(item.name) for item in items]
    longs = [f"{schema_names[item.namespace]}.{short}" for item, short in zip(items, shorts, strict=True)]
    displayed = [short if item.oid in visible else long for item, short, long in zip(items, shorts, longs, strict=True)]
    return _build_table(
        oid=[item.oid for item in items], name=displayed, short=shorts, qualified=longs,
        visible=[item.oid in visible for item in items],
    )  # fmt: skip


# The form of a type modifier, and its place: before what follows the first word.
_STYLES = {
    "numeric": "numeric", "varchar": "length", "bpchar": "length", "bit": "plain", "varbit": "plain", "time": "plain",
    "timetz": "plain", "timestamp": "plain", "timestamptz": "plain", "interval": "interval",
}  # fmt: skip


def build_type_names(catalog: Catalog, path: Several[int]) -> pa.Table:
    """Returns for each type: oid, displayed name, the text before and after a modifier, and the modifier's form.

    `unmodified` is the displayed name with modifier -1, which differs for character and bit only.
    """
    schemas = map_schema_oids(catalog)
    schema_names = {oid: quote_name(name) for name, oid in schemas.items()}
    items = list(_iterate_types(catalog, schemas))
    visible = _find_visible(items, path)
    by_oid = {item.oid: item for item in items}
    rows: dict[str, list[object]] = {column_name: [] for column_name in (
        "oid name unmodified before after style short qualified array_oid visible".split())}  # fmt: skip
    for item in items:
        base = by_oid.get(item.element, item)
        values = _build_type_row(
            item, base, schema_names[item.namespace], schema_names[base.namespace], base.oid in visible
        )
        for column, value in zip(rows.values(), (*values, item.oid in visible), strict=True):
            column.append(value)
    return _build_table(**rows)


@lru_cache(4096)
def _build_type_row(
    item: NamedObject, base: NamedObject, schema: str, base_schema: str, is_visible: bool
) -> tuple[object, ...]:
    """Returns `build_type_names`' row of a type.

    `base` is the type or its element type, `is_visible` says whether that is visible.
    """
    suffix = "[]" if base is not item else ""
    short = quote_name(base.name)
    name = short if is_visible else f"{base_schema}.{short}"
    unmodified, before, after = name, name, ""
    if base_schema == "pg_catalog":
        name = "bit" if base.name == "bit" else str(SqlType(base.name)) if base.name in _STANDARD_NAMES else name
        unmodified = {"bpchar": "bpchar", "bit": '"bit"'}.get(base.name, name)
        before, _, after = name.partition(" ") if base.name.startswith("time") else (name, "", "")
        after = f" {after}" if after else ""
    own_name = quote_name(item.name)
    return (
        item.oid, name + suffix, unmodified + suffix, before, after + suffix, _get_modifier_style(base.name), own_name,
        f"{schema}.{own_name}", item.array,
    )  # fmt: skip


_UNMODIFIED = frozenset("bool int2 int4 int8 float4 float8".split())
_STANDARD_NAMES = frozenset(
    "bool int2 int4 int8 float4 float8 numeric varchar bpchar time timetz timestamp timestamptz interval varbit"
    " char".split()
)


def build_procedure_names() -> pa.Table:
    """Returns for each system function: oid, name, schema, name as regproc shows it, and argument types.

    An overloaded one is qualified by its schema.
    """
    types_displayed = (
        build_type_names(make_initial_catalog(), [load_namespaces()["pg_catalog"]]).select(["oid", "name"]).to_pylist()
    )
    type_names_by_oid = {row["oid"]: row["name"] for row in types_displayed}
    rows = _load_columns("pg_proc", "oid", "proname", "pronamespace", "proargtypes")
    names = [row[1] for row in rows]
    once = {name for name, count in Counter(names).items() if count == 1}
    schemas = {oid: name for name, oid in load_namespaces().items()}
    pg_catalog = load_namespaces()["pg_catalog"]
    full, arguments = [], []
    for _, name, namespace, types in rows:
        plain = name in once or int(namespace) != pg_catalog
        full.append(quote_name(name) if plain else f"pg_catalog.{quote_name(name)}")
        arguments.append(",".join(type_names_by_oid.get(int(oid_), oid_) for oid_ in json.loads(types)))
    spaces = [int(row[2]) for row in rows]
    return _build_table(
        oid=[int(row[0]) for row in rows],
        proname=names,
        namespace=spaces,
        nspname=[schemas[oid_] for oid_ in spaces],
        name=full,
        arguments=arguments,
    )


def build_pretty_index_definitions(catalog: Catalog, path: Several[int]) -> pa.Table:
    """Returns the pretty-printed definition of each index, in which a visible table is not qualified."""
    texts = {int(oid): text.replace(" ON pg_catalog.", " ON ", 1) for oid, text in _load_columns(
        "index_definitions", "oid", "definition")}  # fmt: skip
    own = [(table, index) for table in catalog.tables() for index in list_indexes(table)]
    if own:
        names = {row["oid"]: row["name"] for row in build_relation_names(catalog, path).to_pylist()}
        for table, index in own:
            qualified = f" ON {quote_name(table.schema)}.{quote_name(table.name)} USING "
            text = deparse_index(table, index, pretty=True)
            texts[index.oid] = text.replace(qualified, f" ON {names[table.oid]} USING ", 1)
    return _build_table(oid=list(texts), definition=list(texts.values()))


def _build_table(**columns: Several[object]) -> pa.Table:
    kinds = {"oid": pa.int64(), "array_oid": pa.int64(), "namespace": pa.int64(), "visible": pa.bool_()}
    return pa.table({name: pa.array(values, type=kinds.get(name, pa.string())) for name, values in columns.items()})
