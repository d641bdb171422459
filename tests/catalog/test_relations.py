"""Relations of pg_catalog and information_schema: all exist, with PostgreSQL's columns and built-in rows."""

from __future__ import annotations

import pytest

from gpudb.catalog.postgres.relations import load_relations
from tests.support import catalog_differences
from tests.support.catalog_sides import Side

_NAMES = sorted(f"{schema}.{name}" for schema, name in load_relations())

# Equal in every database: built-in rows of the server's version.
_FIXED = (
    "pg_aggregate pg_amop pg_amproc pg_cast pg_opclass pg_operator pg_opfamily pg_range pg_ts_config_map pg_tablespace"
).split()
_ANYARRAY, _ROWS_OF_PG_STATISTIC = 2277, 10028


def test_no_relation_is_missing(postgresql: Side) -> None:
    """Neither PostgreSQL nor gpudb has a relation in these schemas that the other lacks."""
    listed = postgresql.client.execute(
        "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
        " WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v')"
    )
    assert sorted(str(row[0]) for row in listed.rows) == _NAMES


@pytest.mark.parametrize("name", _NAMES)
def test_columns(name: str, postgresql: Side, gpudb: Side) -> None:
    """The relation can be read; its columns have PostgreSQL's names and types."""
    sql = f"SELECT * FROM {name} WHERE false"
    expected, actual = postgresql.client.execute(sql), gpudb.client.execute(sql)
    assert (actual.sqlstate, actual.message) == (None, "")
    # Only pg_statistic needs the type anyarray for values in PostgreSQL.
    types = tuple(_ANYARRAY if oid == _ROWS_OF_PG_STATISTIC else oid for oid in expected.oids)
    later = catalog_differences.LATER_COLUMNS.get(name, ())
    columns = (*expected.columns, *(column for column, _ in later))
    assert (tuple(actual.columns), tuple(actual.oids)) == (columns, (*types, *(oid for _, oid in later)))


@pytest.mark.parametrize("name", _FIXED)
def test_fixed_rows(name: str, postgresql: Side, gpudb: Side) -> None:
    """The rows are PostgreSQL's built-in rows, and those that gpudb adds."""
    sql = f"SELECT * FROM {name} ORDER BY 1, 2, 3"
    expected, actual = postgresql.client.execute(sql), gpudb.client.execute(sql)
    assert actual.sqlstate is None, actual.message
    built_in = [row for row in actual.rows if not catalog_differences.is_added(row)]
    assert sorted(built_in, key=repr) == sorted(expected.rows, key=repr)
