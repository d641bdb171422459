"""The system catalog in DuckDB: a schema of tables for each catalog version, and one that all versions share.

`system_rows` holds PostgreSQL's own rows; `catalog_7` the relations with rows of a catalog's objects, merged with
PostgreSQL's; `sizes_3` what changes with every commit. A statement's connection has them on its search path, so that
relations and macros refer to them without a schema. A view of pg_catalog or information_schema is PostgreSQL's
definition, bound and rendered as any other query.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import duckdb
import pyarrow as pa

from gpudb import pgdata
from gpudb.catalog.identifiers import load_reserved_words
from gpudb.catalog.model import Catalog, make_initial_catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.function_tables import RELATIONS, get_function_columns
from gpudb.catalog.postgres.names import (
    build_pretty_index_definitions,
    build_procedure_names,
    build_relation_names,
    build_type_names,
    map_schema_oids,
)
from gpudb.catalog.postgres.privilege_rows import list_held_privileges
from gpudb.catalog.postgres.relations import SystemRelation, get_system_relation, load_relations
from gpudb.catalog.postgres.role_rows import list_reached_roles
from gpudb.catalog.postgres.row_builder import OWN, get_collected_type, get_stored_columns
from gpudb.catalog.postgres.rows import build_large_objects, build_rows, build_sizes
from gpudb.catalog.postgres.trigger_rows import build_trigger_definitions
from gpudb.catalog.relations import View
from gpudb.duckdb.literals import quote_identifier, quote_literal
from gpudb.duckdb.system_relations import FUNCTION_PREFIX
from gpudb.engine.protocol import Settings
from gpudb.lru import IdentityKey, LruCache
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.updatable_views import updatable_columns
from gpudb.sql.bound import OutputColumn, Query, Select, SetReturning
from gpudb.sql.parse.parser import parse
from gpudb.sql.traverse import walk
from gpudb.types import SqlType

KEPT_VERSIONS = 16
# Covers the time from `prepare` to the end of planning; a running statement keeps what it reads alive itself.
GRACE_S = 60.0
_PAGE = 8192

Columns = tuple[tuple[str, SqlType], ...]


class SystemCatalog:
    """The system relations of one DuckDB database. Thread-safe."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._ready = False
        self._versions: LruCache[int, str] = LruCache(KEPT_VERSIONS, on_evict=self._retire)
        self._sizes: LruCache[IdentityKey[Catalog], str] = LruCache(KEPT_VERSIONS, on_evict=self._retire)
        self._stale: deque[tuple[float, str]] = deque()
        self._paths: LruCache[tuple[int, tuple[int, ...]], str] = LruCache(KEPT_VERSIONS, on_evict=self._retire)
        self._grants: LruCache[tuple[int, str], str] = LruCache(KEPT_VERSIONS, on_evict=self._retire)
        self._made = 0
        self._views: dict[str, Query] = {}

    # -------------------------------------------------------------------------------------------- names

    @staticmethod
    def columns(schema: str, name: str) -> tuple[OutputColumn, ...] | None:
        """Returns the columns of a relation, or of the function `name()` over the server's state."""
        if name.endswith("()") or (schema == "pg_catalog" and name in RELATIONS):
            found = get_function_columns(name.removesuffix("()"))
            return None if found is None else tuple(OutputColumn(each, item) for each, item in found)
        result = get_system_relation(schema, name)
        if result is None:
            return None
        return tuple(OutputColumn(each, item) for each, item in result.stored_columns)

    def relation(self, qualified: str, read: Collection[str], render: Callable[[Query], str]) -> str:
        """Returns a relation for FROM, with its columns by name; `render` renders a view's query.

        A view has only the columns that are `read`: DuckDB would plan the look-ups of all others before it drops them.
        """
        schema, _, name = qualified.partition(".")
        if name.endswith("()") or name in RELATIONS:
            return quote_identifier(FUNCTION_PREFIX + name.removesuffix("()"))
        found = get_system_relation(schema, name)
        assert found is not None, qualified
        if found.definition is None:
            hidden = f"CAST({found.oid} AS BIGINT) AS tableoid, getvariable('pg_version') AS xmin"
            guarded = _GUARDED.get(name, "")
            return f"(SELECT *{guarded}, {hidden} FROM {quote_identifier(name)})"
        if name in _EMPTY_VIEWS:
            nothing = ", ".join(
                f"CAST(NULL AS {item.duckdb}) AS {quote_identifier(each)}" for each, item in found.columns
            )
            return f"(SELECT {nothing} WHERE false)"
        query, numbers = _keep_columns(
            self._view(found), [n for n, (each, _) in enumerate(found.columns) if each in read]
        )
        kept = [found.columns[number][0] for number in numbers]
        outputs = ", ".join(f"c{n} AS {quote_identifier(each)}" for n, each in enumerate(kept, 1))
        return f"(SELECT {outputs} FROM ({render(query)}))"

    def _view(self, found: SystemRelation) -> Query:
        key = f"{found.schema}.{found.name}"
        if key not in self._views:
            assert found.definition is not None
            text = _expand_row_functions(found.definition)
            binder = StatementBinder(make_initial_catalog(), text, ("pg_catalog",), system_columns=self.columns)
            self._views[key] = bind_query(binder, parse(text)[0].node, None)
        return self._views[key]

    def warm(self) -> None:
        """Loads the rows that all catalogs share, before the first statement needs them."""
        with self._lock:
            if not self._ready:
                self._build()

    # -------------------------------------------------------------------------------------------- statements

    def prepare(self, cursor: duckdb.DuckDBPyConnection, text: str, catalog: Catalog, settings: Settings) -> None:
        """Sets a cursor's search path to a catalog's relations, and registers what `text` refers to."""
        with self._lock:
            if not self._ready:
                self._build()
            path, temporary = _path(settings.search_path, catalog)
            version = self._version_schema(catalog)
            names = self._names_schema(catalog, path)
            size = self._sizes_schema(catalog, version)
        listed = ", ".join(f"{each}::BIGINT" for each in path)
        user = str(settings.values.get("current_user"))
        superuser = _is_superuser(catalog, user)
        cursor.execute(
            f"SET search_path = '{size},{names},{version},system_rows,main';"
            f"SET VARIABLE pg_path = [{listed}]; SET VARIABLE pg_temp = {temporary}::BIGINT;"
            f"SET VARIABLE pg_version = {catalog.version}::BIGINT;"
            f"SET VARIABLE pg_database = {quote_literal(catalog.database)};"
            f"SET VARIABLE pg_superuser = {superuser};"
            f"SET VARIABLE pg_bypassrls = {_bypasses_policies(catalog, user)};"
            f"SET VARIABLE pg_reach = {_reach(catalog, user)}"
        )
        looks_up = _LOOKS_UP_NAMES.search(text) is not None
        if looks_up:
            cursor.execute(_SET_SCHEMAS)
        if _SHOWS_EXPRESSIONS.search(text):
            cursor.execute(f"{_SET_RELATIONS};{_SET_SHORT_TEXTS};{_SET_OBJECTS}")
        if "sys_own" in text or (superuser == "false" and looks_up):
            cursor.execute(
                f"SET VARIABLE pg_grants = (SELECT grants FROM {self._grants_schema(catalog, user)}.own_grants)"
            )
        for function, columns in _function_tables(text):
            maker = settings.system.get(function)
            result = maker() if maker is not None else ()
            cursor.register(FUNCTION_PREFIX + function, _arrow(columns, result))

    def _version_schema(self, catalog: Catalog) -> str:
        """Returns the schema of a catalog's objects; creates it if necessary."""
        key = catalog.version
        known = self._versions.get(key)
        if known is not None:
            return known
        self._made += 1
        schema = f"catalog_{self._made}"
        result = {**build_rows(catalog), "updatable_columns": _updatable_columns(catalog)}
        with self._database.cursor() as cursor:
            cursor.execute(f"BEGIN; CREATE SCHEMA {schema}")
            for name, own in result.items():
                casts = ", ".join(
                    f"CAST({quote_identifier(c)} AS {item.duckdb})" for c, item in get_stored_columns(name)
                )
                cursor.register("pg_new_rows", own)
                cursor.execute(
                    f"CREATE TABLE {schema}.{quote_identifier(name)} AS"
                    f" SELECT * FROM system_rows.{quote_identifier(name)}{_REPLACED.get(name, '')}"
                    f" UNION ALL SELECT {casts} FROM pg_new_rows"
                )
            cursor.execute("COMMIT")
        self._versions.put(key, schema)
        self._drop_stale()
        return schema

    def _names_schema(self, catalog: Catalog, path: tuple[int, ...]) -> str:
        """Returns the schema of the tables that also depend on a search path."""
        key = catalog.version, path
        known = self._paths.get(key)
        if known is not None:
            return known
        self._made += 1
        schema = f"names_{self._made}"
        with self._database.cursor() as cursor:
            cursor.execute(f"BEGIN; CREATE SCHEMA {schema}")
            for name, result in (
                ("relation_names", build_relation_names(catalog, path)),
                ("type_names", build_type_names(catalog, path)),
                ("trigger_definitions", build_trigger_definitions(catalog, path)),
                ("pretty_index_definitions", build_pretty_index_definitions(catalog, path)),
            ):
                cursor.register("pg_new_rows", result)
                cursor.execute(f"CREATE TABLE {schema}.{name} AS FROM pg_new_rows")
            cursor.execute("COMMIT")
        self._paths.put(key, schema)
        self._drop_stale()
        return schema

    def _grants_schema(self, catalog: Catalog, user: str) -> str:
        """Returns the schema of the privileges that a role has by a catalog."""
        key = catalog.version, user
        with self._lock:
            known = self._grants.get(key)
            if known is not None:
                return known
            self._made += 1
            schema = f"grants_{self._made}"
            held = list_held_privileges(catalog, user)
            item = pa.map_(pa.string(), pa.list_(pa.string()))
            with self._database.cursor() as cursor:
                cursor.execute(f"BEGIN; CREATE SCHEMA {schema}")
                cursor.register("pg_new_rows", pa.table({"grants": pa.array([list(held.items())], item)}))
                cursor.execute(f"CREATE TABLE {schema}.own_grants AS FROM pg_new_rows; COMMIT")
            self._grants.put(key, schema)
            self._drop_stale()
            return schema

    def _sizes_schema(self, catalog: Catalog, version: str) -> str:
        """Returns the schema of the tables that depend on a snapshot's files: sizes, and the counts in pg_class."""
        key = IdentityKey(catalog)
        known = self._sizes.get(key)
        if known is not None:
            return known
        self._made += 1
        schema = f"sizes_{self._made}"
        result = build_sizes(catalog)
        with self._database.cursor() as cursor:
            cursor.execute(f"BEGIN; CREATE SCHEMA {schema}")
            if result is None:
                cursor.execute(f"CREATE TABLE {schema}.relation_sizes AS FROM system_rows.relation_sizes")
            else:
                cursor.register("pg_new_rows", result)
                cursor.execute(
                    f"CREATE TABLE {schema}.relation_sizes AS FROM pg_new_rows; CREATE TABLE {schema}.pg_class AS"
                    " SELECT c.* REPLACE (CAST(coalesce(nullif(s.row_count, 0), c.reltuples) AS FLOAT) AS reltuples,"
                    f" CAST(greatest(c.relpages, (s.bytes + {_PAGE - 1}) // {_PAGE}) AS INTEGER) AS relpages)"
                    f" FROM {version}.pg_class AS c LEFT JOIN {schema}.relation_sizes AS s ON s.oid = c.oid"
                )
            objects = build_large_objects(catalog)
            if objects is not None:
                cursor.register("pg_new_rows", objects)
                cursor.execute(f"CREATE TABLE {schema}.pg_largeobject_metadata AS FROM pg_new_rows")
            cursor.execute("COMMIT")
        self._sizes.put(key, schema)
        self._drop_stale()
        return schema

    def _retire(self, _: Hashable, schema: str) -> None:
        self._stale.append((time.monotonic(), schema))

    def _drop_stale(self) -> None:
        """Evicts the least recently used schemas; drops them once no statement can be about to read them."""
        now = time.monotonic()
        while self._stale and self._stale[0][0] < now - GRACE_S:
            _, schema = self._stale.popleft()
            with self._database.cursor() as cursor:
                cursor.execute(f"DROP SCHEMA {schema} CASCADE")

    # -------------------------------------------------------------------------------------------- shared rows

    def _build(self) -> None:
        """Loads PostgreSQL's own rows, and creates the macros over them."""
        stored = [each.name for each in load_relations().values() if each.kind == "r"]
        with self._database.cursor() as cursor:
            cursor.execute("BEGIN; CREATE SCHEMA system_rows")
            for name in [*stored, *OWN]:
                _load(cursor, name)
            cursor.execute(
                f"INSERT INTO system_rows.pg_am VALUES ({oids.ICEBERG_AM}, 'iceberg', 0, 't');"
                "UPDATE system_rows.pg_rewrite AS r SET ev_action = v.definition FROM system_rows.view_definitions AS v"
                " WHERE v.oid = r.ev_class; COMMIT"
            )
            # One string: a list would be planned word by word wherever a name is quoted.
            reserved = quote_literal(f" {' '.join(sorted(load_reserved_words()))} ")
            text = files("gpudb.catalog.postgres").joinpath("macros.sql").read_text(encoding="utf-8")
            # The search path only has to let the macros find their tables.
            cursor.execute("SET search_path = 'system_rows,main'")
            cursor.execute(
                "SET VARIABLE pg_path = [11::BIGINT]; SET VARIABLE pg_temp = 0::BIGINT;"
                "SET VARIABLE pg_version = 0::BIGINT; SET VARIABLE pg_database = ''; SET VARIABLE pg_superuser = false;"
                "SET VARIABLE pg_bypassrls = false;"
                f"SET VARIABLE pg_reach = {_reach(make_initial_catalog(), '')};"
                "SET VARIABLE pg_grants = CAST(MAP {} AS MAP(VARCHAR, VARCHAR[]));"
                "SET VARIABLE pg_schemas = CAST(MAP {} AS MAP(VARCHAR, BIGINT));"
                "SET VARIABLE pg_relations = CAST(MAP {} AS MAP(VARCHAR, VARCHAR));"
                "SET VARIABLE pg_short_texts = CAST(MAP {} AS MAP(VARCHAR, VARCHAR));"
                "SET VARIABLE pg_objects = CAST(MAP {} AS MAP(VARCHAR, VARCHAR))"
            )
            result = text.replace("{reserved}", reserved).replace("CREATE MACRO ", "CREATE OR REPLACE MACRO main.")
            cursor.execute(result)
        self._ready = True


# Names are looked up in lists, since DuckDB takes 5 to 50 ms to plan each subquery over an outer column.
_SET_SCHEMAS = (
    "SET VARIABLE pg_schemas = (SELECT map(list(s.name), list(s.oid)) FROM"
    " (SELECT nspname AS name, min(oid) AS oid FROM pg_namespace GROUP BY nspname) AS s)"
)
_SET_RELATIONS = (
    "SET VARIABLE pg_relations = (SELECT map(list(s.oid), list(s.name)) FROM"
    " (SELECT CAST(n.oid AS VARCHAR) AS oid, first(n.name) AS name FROM relation_names AS n GROUP BY n.oid) AS s)"
)
_SET_SHORT_TEXTS = (
    "SET VARIABLE pg_short_texts = (SELECT map(list(s.text), list(s.short)) FROM"
    " (SELECT t.text, first(t.short) AS short FROM short_texts AS t GROUP BY t.text) AS s)"
)
# OIDs and names of the objects that stored texts name by OID, by the type of their literals
_SHOWN = {
    "regclass": "SELECT n.oid, n.name FROM relation_names AS n",
    "regtype": "SELECT t.oid, t.name FROM type_names AS t WHERE t.oid >= 16384",
    "regproc": "SELECT p.oid, pg_regproc_name(p.oid) FROM procedure_names AS p WHERE p.oid >= 16384",
    "regprocedure": "SELECT p.oid, pg_regprocedure_name(p.oid) FROM procedure_names AS p WHERE p.oid >= 16384",
    "regnamespace": "SELECT s.oid, sys_quote(s.nspname) FROM pg_namespace AS s",
}
_SET_OBJECTS = (
    "SET VARIABLE pg_objects = (SELECT map(list(o.pinned), list(o.shown)) FROM"
    " (SELECT n.pinned, first(n.shown) AS shown FROM ("
    + " UNION ALL ".join(
        f"SELECT concat('''', k.oid, '''::{item}') AS pinned,"
        f" concat('''', replace(k.name, '''', ''''''), '''::{item}') AS shown FROM ({query}) AS k(oid, name)"
        for item, query in _SHOWN.items()
    )
    + ") AS n GROUP BY n.pinned) AS o)"
)
# Macros that show expressions, in which objects are named by OID
_SHOWS_EXPRESSIONS = re.compile(r"sys_(pretty_)?(expression|constraint|view|index|trigger|function_[ad])")
# Macros that find an object by its name, for which a role needs the right to use its schema.
_LOOKS_UP_NAMES = re.compile(r"pg_to_reg|sys_find_|sys_serial|sys_schema")
# Password verifiers are for superusers only; the views over them hide them.
_GUARDED = {
    "pg_authid": " REPLACE (CASE WHEN rolpassword IS NULL OR getvariable('pg_superuser') THEN rolpassword"
    " ELSE pg_error('42501', 'permission denied for table pg_authid') END AS rolpassword)"
}

# Views over extended statistics objects, which do not exist; their definitions need values of any type.
_EMPTY_VIEWS = frozenset({"pg_stats_ext", "pg_stats_ext_exprs"})

# Relations whose rows of a new database are in the catalog, too.
_REPLACED = {"pg_authid": " WHERE false", "pg_auth_members": " WHERE false"}


def _keep_columns(query: Query, numbers: Sequence[int]) -> tuple[Query, Sequence[int]]:
    """Returns a view's query with some of its columns, from 0, and which these are: all if its rows depend on them."""
    every = range(len(query.columns))
    if not isinstance(query, Select) or query.distinct or query.order_by:
        return query, every
    if any(isinstance(node, SetReturning) for target in query.targets for node in walk(target)):
        return query, every
    kept = numbers or every[:1]
    columns, targets = tuple(query.columns[n] for n in kept), tuple(query.targets[n] for n in kept)
    return replace(query, columns=columns, targets=targets), kept


def _is_superuser(catalog: Catalog, name: str) -> str:
    role = catalog.roles.get(name)
    return "true" if role is not None and role.superuser else "false"


def _bypasses_policies(catalog: Catalog, name: str) -> str:
    role = catalog.roles.get(name)
    return "true" if role is not None and (role.superuser or role.bypassrls) else "false"


def _reach(catalog: Catalog, name: str) -> str:
    """Returns the lists of roles that a role reaches, as a constant of the columns of `role_reach`."""
    lists = list_reached_roles(catalog, name)
    return "{" + ", ".join(f"'{kind}': {list(reached)}::BIGINT[]" for kind, reached in lists.items()) + "}"


def _path(names: Sequence[str], catalog: Catalog) -> tuple[tuple[int, ...], int]:
    """Returns the OIDs of a search path's schemas, and that of the temporary schema (0 for none)."""
    known = map_schema_oids(catalog)
    temporary = next((each for each in names if each.startswith("pg_temp")), "")
    if temporary:
        known.setdefault(temporary, oids.schema(temporary))
    path = [known[each] for each in names if each in known]
    if "pg_catalog" not in names:
        # PostgreSQL searches it implicitly first, after a temporary schema.
        path.insert(1 if temporary and names[0] == temporary else 0, known["pg_catalog"])
    return tuple(dict.fromkeys(path)), known.get(temporary, 0)


def _load(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """Creates the table of a relation with PostgreSQL's rows, or an empty one."""
    columns = get_stored_columns(name)
    target = f"system_rows.{quote_identifier(name)}"
    if name == "procedure_names":
        cursor.register("pg_new_rows", build_procedure_names())
        cursor.execute(f"CREATE TABLE {target} AS FROM pg_new_rows")
        return
    if name == "view_definitions":
        cells = _view_definitions()
    elif pgdata.table_exists(name):
        stored = pgdata.load_table(name)
        cells = {column: stored.column(column) for column, _ in columns}
    else:
        listed = ", ".join(f"{quote_identifier(column)} {item.duckdb}" for column, item in columns)
        cursor.execute(f"CREATE TABLE {target} ({listed})")
        return
    texts = pa.table({column: pa.array(values, type=pa.string()) for column, values in cells.items()})
    conversions = ", ".join(
        f"{_convert(quote_identifier(column), item)} AS {quote_identifier(column)}" for column, item in columns
    )
    cursor.register("pg_new_rows", texts)
    cursor.execute(f"CREATE TABLE {target} AS SELECT {conversions} FROM pg_new_rows")


def _convert(column: str, item: SqlType) -> str:
    if item.element is not None or item.name in {"int2vector", "oidvector"}:
        return f"CAST(from_json({column}, '[\"VARCHAR\"]') AS {item.duckdb})"
    return column if item.duckdb == "VARCHAR" else f"CAST({column} AS {item.duckdb})"


def _view_definitions() -> dict[str, list[str | None]]:
    views = [each for each in load_relations().values() if each.definition is not None]
    return {"oid": [str(view.oid) for view in views], "definition": [view.definition for view in views]}


def _function_tables(text: str) -> list[tuple[str, Columns]]:
    """Returns the functions over the server's state that a statement reads."""
    found: dict[str, Columns] = {}
    for part in text.split(f'"{FUNCTION_PREFIX}')[1:]:
        function = part.partition('"')[0]
        columns = get_function_columns(function)
        assert columns is not None
        found[function] = columns
    return list(found.items())


def _updatable_columns(catalog: Catalog) -> pa.Table:
    """Returns the columns that can be changed through views; 0 marks an updatable view without any."""
    result = []
    for each in catalog.relations.values():
        numbers = updatable_columns(catalog, each) if isinstance(each, View) else None
        if numbers is not None:
            result += [{"oid": each.oid, "number": number} for number in (numbers or {0})]
    return _arrow(get_stored_columns("updatable_columns"), result)


def _arrow(columns: Columns, result: Sequence[Mapping[str, object]]) -> pa.Table:
    arrays = [pa.array([row.get(column) for row in result], type=get_collected_type(item)) for column, item in columns]
    return pa.Table.from_arrays(arrays, names=[column for column, _ in columns])


def _expand_row_functions(definition: str) -> str:
    """Replaces the two functions that take whole rows as arguments in a view's definition."""
    text = definition
    for (function, short), result in _ROWFUNCTION_PREFIXS.items():
        text = text.replace(f"information_schema.{function}({short}.*, t.*)", result.format(a=short))
    return text


_ROWFUNCTION_PREFIXS = {
    (function, short): f"CASE WHEN (t.typtype = 'd'::\"char\") THEN t.{base} ELSE {{a}}.{own} END"
    for function, base, own in (
        ("_pg_truetypid", "typbasetype", "atttypid"), ("_pg_truetypmod", "typtypmod", "atttypmod"))
    for short in ("a",)
}  # fmt: skip
