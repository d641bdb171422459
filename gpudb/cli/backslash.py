"""The shell's backslash commands: each runs SQL over the catalog, or COPY from or to a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from gpudb.api.connection import Connection
from gpudb.api.rows import Rows
from gpudb.errors import GpudbError, SqlError

Show = Callable[[Rows], None]
RunScript = Callable[[Connection, str, Show], None]

HELP = r"""
  \d               tables and views            \d NAME   columns of a table or view
  \dt \dv \dn \du  tables, views, schemas, roles        \l   databases
  \i FILE          run the statements of a file
  \copy TABLE [(columns)] FROM 'FILE' [[WITH] (options)]   load a local file
  \timing          print the time of each statement
  \?               this                        \q        leave
"""

_RELATIONS = """
SELECT n.nspname AS "Schema", c.relname AS "Name",
       CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END AS "Type",
       pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ({kinds}) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
  AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname AS "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "Type",
       CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable"
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = {table}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_SCHEMAS = """
SELECT nspname AS "Name", pg_catalog.pg_get_userbyid(nspowner) AS "Owner"
FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema' ORDER BY 1
"""
_ROLES = """
SELECT r.rolname AS "Role name", pg_catalog.concat_ws(', ',
         CASE WHEN r.rolsuper THEN 'Superuser' END, CASE WHEN NOT r.rolinherit THEN 'No inheritance' END,
         CASE WHEN r.rolcreaterole THEN 'Create role' END, CASE WHEN r.rolcreatedb THEN 'Create DB' END,
         CASE WHEN NOT r.rolcanlogin THEN 'Cannot login' END, CASE WHEN r.rolreplication THEN 'Replication' END,
         CASE WHEN r.rolbypassrls THEN 'Bypass RLS' END) AS "Attributes",
       pg_catalog.array_to_string(ARRAY(
         SELECT g.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON m.roleid = g.oid
         WHERE m.member = r.oid ORDER BY 1), ', ') AS "Member of"
FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1
"""
_DATABASES = """
SELECT datname AS "Name", pg_catalog.pg_get_userbyid(datdba) AS "Owner",
       pg_catalog.pg_encoding_to_char(encoding) AS "Encoding", datcollate AS "Collate", datctype AS "Ctype"
FROM pg_catalog.pg_database ORDER BY 1
"""

_COPY = re.compile(r"\\copy\s+(?P<what>.+?)\s+from\s+'(?P<file>(?:[^']|'')+)'\s*(?P<rest>.*)", re.I | re.S)


def run(connection: Connection, line: str, show: Show, run_script: RunScript) -> None:
    """Runs one command; 42601 for an unknown one. `run_script` runs the statements of a file."""
    word, _, rest = line.rstrip("; ").partition(" ")
    name = rest.strip()
    match word:
        case "\\?":
            print(HELP.strip("\n"))
        case "\\d" if name:
            table = "'" + name.replace("'", "''") + "'"
            show(connection.execute(_COLUMNS.format(table=table)))
        case "\\d":
            show(connection.execute(_RELATIONS.format(kinds="'r', 'p', 'v'")))
        case "\\dt":
            show(connection.execute(_RELATIONS.format(kinds="'r', 'p'")))
        case "\\dv":
            show(connection.execute(_RELATIONS.format(kinds="'v'")))
        case "\\dn":
            show(connection.execute(_SCHEMAS))
        case "\\du":
            show(connection.execute(_ROLES))
        case "\\l":
            show(connection.execute(_DATABASES))
        case "\\i":
            _include(connection, name, show, run_script)
        case "\\copy":
            _copy(connection, line)
        case _:
            raise SqlError.of("syntax_error", f"there is no command {word}", hint="Try \\? for help.")


def _include(connection: Connection, name: str, show: Show, run_script: RunScript) -> None:
    """Runs a file; the position of an error in it is reported as a line."""
    text = _resolve_file(name).read_text(encoding="utf-8")
    try:
        run_script(connection, text, show)
    except GpudbError as error:
        if error.position is not None:
            line_text = f'file "{name}", line {text.count(chr(10), 0, error.position - 1) + 1}'
            error.where = f"{error.where}\n{line_text}" if error.where else line_text
            error.position = None
        raise


def _copy(connection: Connection, line: str) -> None:
    match = _COPY.match(line.strip().rstrip(";"))
    if match is None:
        hint = "\\copy TABLE [(columns)] FROM 'FILE' [[WITH] (options)]"
        raise SqlError.of("syntax_error", "\\copy takes data from a file", hint=hint)
    path = _resolve_file(match["file"].replace("''", "'"))
    count = connection.copy_from(f"COPY {match['what']} FROM STDIN {match['rest']}", _read_chunks(path))
    print(f"COPY {count}")


def _resolve_file(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise SqlError.of("undefined_file", f'there is no file "{name}"')
    return path


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk
