"""Builder of system relations' rows: columns by name, all others filled with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyarrow as pa

from gpudb.catalog.postgres.relations import get_system_relation
from gpudb.functions.library import functions_by_name
from gpudb.types import BOOL, OID, TEXT, SqlType

# Default values of a relation's columns; columns without one are NULL.
_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "pg_class": {
        "reltype": 0, "reloftype": 0, "reltablespace": 0, "relpages": 0, "reltuples": -1.0, "relallvisible": 0,
        "reltoastrelid": 0, "relhasindex": False, "relisshared": False, "relpersistence": "p", "relchecks": 0,
        "relhasrules": False, "relhastriggers": False, "relhassubclass": False, "relrowsecurity": False,
        "relforcerowsecurity": False, "relispopulated": True, "relispartition": False, "relrewrite": 0,
        "relfrozenxid": 0, "relminmxid": 0,
    },
    "pg_attribute": {
        "attcacheoff": -1, "atttypmod": -1, "attndims": 0, "attcompression": "", "attnotnull": False,
        "atthasdef": False, "atthasmissing": False, "attidentity": "", "attgenerated": "", "attisdropped": False,
        "attislocal": True, "attinhcount": 0, "attstattarget": -1, "attcollation": 0,
    },
    "pg_type": {
        "typbyval": False, "typispreferred": False, "typisdefined": True, "typdelim": ",", "typrelid": 0,
        "typsubscript": "-", "typelem": 0, "typarray": 0, "typmodin": "-", "typmodout": "-", "typanalyze": "-",
        "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0, "typcollation": 0,
    },
    "pg_index": {
        "indnullsnotdistinct": False, "indisexclusion": False, "indimmediate": True, "indisclustered": False,
        "indisvalid": True, "indcheckxmin": False, "indisready": True, "indislive": True, "indisreplident": False,
    },
    "pg_constraint": {
        "condeferrable": False, "condeferred": False, "convalidated": True, "contypid": 0, "conparentid": 0,
        "confrelid": 0, "confupdtype": " ", "confdeltype": " ", "confmatchtype": " ", "conislocal": True,
        "coninhcount": 0, "connoinherit": True,
    },
    "pg_proc": {
        "provariadic": 0, "prosupport": "-", "prosecdef": False, "proleakproof": False,
    },
    "pg_statistic": {
        f"sta{name}{number}": 0 for name in ("kind", "op", "coll") for number in range(1, 6)
    },
    "pg_authid": {
        "rolinherit": True, "rolcreaterole": False, "rolcreatedb": False, "rolcanlogin": False,
        "rolreplication": False, "rolbypassrls": False, "rolconnlimit": -1,
    },
}  # fmt: skip

# gpudb's own tables that the macros read, beside PostgreSQL's relations.
OWN: Mapping[str, tuple[tuple[str, SqlType], ...]] = {
    "constraint_definitions": (("oid", OID), ("definition", TEXT)),
    "index_definitions": (("oid", OID), ("definition", TEXT)),
    "index_expressions": (("oid", OID), ("place", SqlType("int4")), ("definition", TEXT), ("pretty", TEXT)),
    "function_signatures": (("oid", OID), ("result", TEXT), ("arguments", TEXT), ("identity_arguments", TEXT)),
    "function_definitions": (("oid", OID), ("definition", TEXT)),
    "relation_names": (
        ("oid", OID), ("name", TEXT), ("short", TEXT), ("qualified", TEXT), ("visible", BOOL),
    ),
    "type_names": (
        ("oid", OID), ("name", TEXT), ("unmodified", TEXT), ("before", TEXT), ("after", TEXT), ("style", TEXT),
        ("short", TEXT), ("qualified", TEXT), ("array_oid", OID), ("visible", BOOL),
    ),
    "pretty_index_definitions": (("oid", OID), ("definition", TEXT)),
    "partition_definitions": (("oid", OID), ("key", TEXT), ("condition", TEXT)),
    "partition_trees": (
        ("root", OID), ("relid", OID), ("parentrelid", OID), ("isleaf", BOOL), ("level", SqlType("int4")),
    ),
    "trigger_definitions": (("oid", OID), ("definition", TEXT), ("pretty", TEXT)),
    "updatable_columns": (("oid", OID), ("number", SqlType("int2"))),
    "procedure_names": (
        ("oid", OID), ("proname", TEXT), ("namespace", OID), ("nspname", TEXT), ("name", TEXT), ("arguments", TEXT),
    ),
    "role_reach": (
        ("oid", OID), ("superuser", BOOL), *((each, SqlType("_oid")) for each in ("usage", "member", "set", "admin")),
    ),
    "relation_sizes": (("oid", OID), ("bytes", SqlType("int8")), ("row_count", SqlType("int8"))),
    "acl_lists": (("kind", TEXT), ("oid", OID), ("number", SqlType("int4")), ("grants", TEXT.array)),
    "short_texts": (("text", TEXT), ("short", TEXT)),
    "view_definitions": (("oid", OID), ("definition", TEXT)),
    "keywords": tuple((each, TEXT) for each in ("word", "catcode", "barelabel", "catdesc", "baredesc")),
}  # fmt: skip


def get_stored_columns(name: str) -> tuple[tuple[str, SqlType], ...]:
    """Returns the columns of a stored relation, PostgreSQL's or gpudb's own."""
    if name in OWN:
        return OWN[name]
    system_relation = get_system_relation("pg_catalog", name) or get_system_relation("information_schema", name)
    assert system_relation is not None, name
    return system_relation.columns


@cache
def _load_function_oids() -> Mapping[str, int]:
    return {name: functions[-1].oid for name, functions in functions_by_name().items()}


def get_collected_type(item: SqlType) -> pa.DataType:
    """Returns the Arrow type of a column's values while they are collected: OIDs stay integers."""
    if item.name.startswith("reg"):
        return pa.int64()
    return pa.list_(pa.int64()) if item.name.startswith("_reg") else item.arrow


def _resolve_function(value: object) -> object:
    return _load_function_oids().get(value, 0) if isinstance(value, str) else value


class SystemRows:
    """Rows by relation. A function name in a regproc column becomes the function's OID."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, object]]] = {}

    def add(self, name: str, /, **values: object) -> None:
        """Adds one row to a relation."""
        self._rows.setdefault(name, []).append(values)

    def shorten(self, text: str, short: str) -> str:
        """Returns a text for a row, and adds how it is shown where the search path has the schema public."""
        if short != text:
            self.add("short_texts", text=text, short=short)
        return text

    def describe(self, catalog: int, oid: int, number: int, comment: str | None) -> None:
        """Adds a comment, if there is one."""
        if comment is not None:
            self.add("pg_description", objoid=oid, classoid=catalog, objsubid=number, description=comment)

    def depend(self, catalog: int, oid: int, number: int, on_catalog: int, on: int, on_number: int, kind: str) -> None:
        """Adds one object's dependency on another."""
        self.add(
            "pg_depend", classid=catalog, objid=oid, objsubid=number, refclassid=on_catalog, refobjid=on,
            refobjsubid=on_number, deptype=kind,
        )  # fmt: skip

    def tables(self) -> Mapping[str, pa.Table]:
        """Returns the rows of every relation that has any."""
        return {name: self._table(name, rows) for name, rows in self._rows.items()}

    @staticmethod
    def _table(name: str, rows: list[dict[str, object]]) -> pa.Table:
        defaults = _DEFAULTS.get(name, {})
        arrays, fields = [], []
        given = set().union(*rows)
        for column, item in get_stored_columns(name):
            fallback = defaults.get(column)
            arrow_type = get_collected_type(item)
            if column in given:
                values = [row.get(column, fallback) for row in rows]
                if item.name == "regproc":
                    values = [_resolve_function(value) for value in values]
                arrays.append(pa.array(values, type=arrow_type))
            else:
                constant = _resolve_function(fallback) if item.name == "regproc" else fallback
                arrays.append(pa.repeat(pa.scalar(constant, type=arrow_type), len(rows)))
            fields.append(pa.field(column, arrow_type))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
