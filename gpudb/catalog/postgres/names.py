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
from gpudb.catalog.model import Catalog, Sequence, Table, initial
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.constraint_rows import indexes
from gpudb.catalog.postgres.deparse import quoted_name
from gpudb.types import SqlType


class Named(NamedTuple):
    """A named object in a schema; `element` and `array` are a type's."""

    oid: int
    namespace: int
    name: str
    element: int = 0
    array: int = 0


@cache
def _system(name: str, *columns: str) -> tuple[tuple[str, ...], ...]:
    found = pgdata.system(name)
    assert found is not None
    header, rows = found
    places = [header.index(column) for column in columns]
    return tuple(tuple(str(row[place]) for place in places) for row in rows)


@cache
def namespaces() -> dict[str, int]:
    """The OIDs of the system's schemas by name."""
    return {name: int(oid) for oid, name in _system("pg_namespace", "oid", "nspname")}


def _relations(catalog: Catalog, schemas: dict[str, int]) -> Iterator[Named]:
    for oid, namespace, name in _system("pg_class", "oid", "relnamespace", "relname"):
        yield Named(int(oid), int(namespace), name)
    for made in catalog.types.values():
        if made.user.kind == "c":
            yield Named(oids.type_relation(made.oid), schemas[made.schema], made.name)
    for relation in catalog.relations.values():
        namespace_oid = schemas[relation.schema]
        yield Named(relation.oid, namespace_oid, relation.name)
        if isinstance(relation, Table):
            for index in indexes(relation):
                yield Named(index.oid, namespace_oid, index.name)


def _types(catalog: Catalog, schemas: dict[str, int]) -> Iterator[Named]:
    columns = "oid", "typnamespace", "typname", "typelem", "typarray", "typsubscript"
    for oid, namespace, name, element, array, subscript in _system("pg_type", *columns):
        # A subscript function does not make a type an array: vectors and points have one, and some types with one have
        # no array type.
        is_array = subscript == "6179" and name.startswith("_")
        yield Named(int(oid), int(namespace), name, int(element) if is_array else 0, int(array))
    for relation in catalog.relations.values():
        if isinstance(relation, Sequence):
            continue
        row, array_oid, namespace_oid = (
            oids.row_type(relation.oid),
            oids.array_type(relation.oid),
            schemas[relation.schema],
        )
        yield Named(row, namespace_oid, relation.name, 0, array_oid)
        yield Named(array_oid, namespace_oid, f"_{relation.name}"[:63], row)
    for made in catalog.types.values():
        yield Named(made.oid, schemas[made.schema], made.name, 0, made.user.array_oid)
        yield Named(made.user.array_oid, schemas[made.schema], f"_{made.name}"[:63], made.oid)


def schema_oids(catalog: Catalog) -> dict[str, int]:
    """Returns the OID of every schema by name, temporary ones included."""
    made = {**namespaces(), **{schema.name: schema.oid for schema in catalog.schemas.values()}}
    for relation in catalog.relations.values():
        made.setdefault(relation.schema, oids.schema(relation.schema))
    return made


def _style(name: str) -> str:
    """Returns the function that prints a type's modifier; types of fixed size have none."""
    return "" if name in _UNMODIFIED else _STYLES.get(name, "plain")


def _visible(items: Several[Named], path: Several[int]) -> set[int]:
    rank = {namespace: place for place, namespace in reversed(list(enumerate(path)))}
    first: dict[str, tuple[int, int]] = {}
    for item in items:
        place = rank.get(item.namespace)
        if place is not None and (item.name not in first or place < first[item.name][0]):
            first[item.name] = place, item.oid
    return {oid for _, oid in first.values()}


def relation_names(catalog: Catalog, path: Several[int]) -> pa.Table:
    """Returns for each relation: oid, displayed name, unqualified name, qualified name, and whether it is visible."""
    schemas = schema_oids(catalog)
    spoken = {oid: quoted_name(name) for name, oid in schemas.items()}
    items = list(_relations(catalog, schemas))
    visible = _visible(items, path)
    shorts = [quoted_name(item.name) for item in items]
    longs = [f"{spoken[item.namespace]}.{short}" for item, short in zip(items, shorts, strict=True)]
    shown = [short if item.oid in visible else long for item, short, long in zip(items, shorts, longs, strict=True)]
    return _table(
        oid=[item.oid for item in items], name=shown, short=shorts, qualified=longs,
        visible=[item.oid in visible for item in items],
    )  # fmt: skip


# The form of a type modifier, and its place: before what follows the first word.
_STYLES = {
    "numeric": "numeric", "varchar": "length", "bpchar": "length", "bit": "plain", "varbit": "plain", "time": "plain",
    "timetz": "plain", "timestamp": "plain", "timestamptz": "plain", "interval": "interval",
}  # fmt: skip


def type_names(catalog: Catalog, path: Several[int]) -> pa.Table:
    """Returns for each type: oid, displayed name, the text before and after a modifier, and the modifier's form.

    `unmodified` is the displayed name with modifier -1, which differs for character and bit only.
    """
    schemas = schema_oids(catalog)
    spoken = {oid: quoted_name(name) for name, oid in schemas.items()}
    items = list(_types(catalog, schemas))
    visible = _visible(items, path)
    by_oid = {item.oid: item for item in items}
    rows: dict[str, list[object]] = {each: [] for each in (
        "oid name unmodified before after style short qualified array_oid visible".split())}  # fmt: skip
    for item in items:
        base = by_oid.get(item.element, item)
        values = _type_row(item, base, spoken[item.namespace], spoken[base.namespace], base.oid in visible)
        for column, value in zip(rows.values(), (*values, item.oid in visible), strict=True):
            column.append(value)
    return _table(**rows)


@lru_cache(4096)
def _type_row(item: Named, base: Named, schema: str, base_schema: str, shown: bool) -> tuple[object, ...]:
    """Returns `type_names`' row of a type: `base` is the type or its element type, `shown` whether that is visible."""
    suffix = "[]" if base is not item else ""
    short = quoted_name(base.name)
    name = short if shown else f"{base_schema}.{short}"
    unmodified, before, after = name, name, ""
    if base_schema == "pg_catalog":
        name = "bit" if base.name == "bit" else str(SqlType(base.name)) if base.name in _SPOKEN else name
        unmodified = {"bpchar": "bpchar", "bit": '"bit"'}.get(base.name, name)
        before, _, after = name.partition(" ") if base.name.startswith("time") else (name, "", "")
        after = f" {after}" if after else ""
    own = quoted_name(item.name)
    return (
        item.oid, name + suffix, unmodified + suffix, before, after + suffix, _style(base.name), own,
        f"{schema}.{own}", item.array,
    )  # fmt: skip


_UNMODIFIED = frozenset("bool int2 int4 int8 float4 float8".split())
_SPOKEN = frozenset(
    "bool int2 int4 int8 float4 float8 numeric varchar bpchar time timetz timestamp timestamptz interval varbit"
    " char".split()
)


def procedure_names() -> pa.Table:
    """Returns for each system function: oid, name, schema, name as regproc shows it, and argument types.

    An overloaded one is qualified by its schema.
    """
    types_shown = type_names(initial(), [namespaces()["pg_catalog"]]).select(["oid", "name"]).to_pylist()
    shown = {row["oid"]: row["name"] for row in types_shown}
    rows = _system("pg_proc", "oid", "proname", "pronamespace", "proargtypes")
    names = [row[1] for row in rows]
    once = {name for name, count in Counter(names).items() if count == 1}
    schemas = {oid: name for name, oid in namespaces().items()}
    pg_catalog = namespaces()["pg_catalog"]
    full, arguments = [], []
    for _, name, namespace, types in rows:
        plain = name in once or int(namespace) != pg_catalog
        full.append(quoted_name(name) if plain else f"pg_catalog.{quoted_name(name)}")
        arguments.append(",".join(shown.get(int(each), each) for each in json.loads(types)))
    spaces = [int(row[2]) for row in rows]
    return _table(
        oid=[int(row[0]) for row in rows],
        proname=names,
        namespace=spaces,
        nspname=[schemas[each] for each in spaces],
        name=full,
        arguments=arguments,
    )


def pretty_index_definitions(catalog: Catalog, path: Several[int], definitions: pa.Table | None) -> pa.Table:
    """Returns the pretty-printed definition of each index, in which a visible table is not qualified.

    `definitions` are those of the catalog's own indexes, by OID.
    """
    made = {int(oid): text.replace(" ON pg_catalog.", " ON ", 1) for oid, text in _system(
        "index_definitions", "oid", "definition")}  # fmt: skip
    if definitions is not None:
        names = {row["oid"]: row["name"] for row in relation_names(catalog, path).to_pylist()}
        tables = {index.oid: each.oid for each in catalog.tables() for index in indexes(each)}
        for row in definitions.to_pylist():
            before, _, rest = row["definition"].partition(" ON ")
            after = rest[rest.rindex(" USING ") :]
            made[row["oid"]] = f"{before} ON {names[tables[row['oid']]]}{after}"
    return _table(oid=list(made), definition=list(made.values()))


def _table(**columns: Several[object]) -> pa.Table:
    kinds = {"oid": pa.int64(), "array_oid": pa.int64(), "namespace": pa.int64(), "visible": pa.bool_()}
    return pa.table({name: pa.array(values, type=kinds.get(name, pa.string())) for name, values in columns.items()})
