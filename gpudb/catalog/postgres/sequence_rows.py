"""Rows of pg_class, pg_attribute, pg_sequence and pg_depend for sequences."""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.column_rows import add_hidden_columns
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Table


def add_sequence(rows: SystemRows, sequence: Sequence, namespace: int, owner: int) -> None:
    """Adds the rows of one sequence and its three columns; PostgreSQL gives it no row type."""
    rows.add(
        "pg_class", oid=sequence.oid, relname=sequence.name, relnamespace=namespace, reltype=0, relowner=owner, relam=0,
        relfilenode=sequence.file, relpages=1, reltuples=1.0, relkind="S", relnatts=len(sequence.columns),
        relpersistence="t" if sequence.temporary else "p", relreplident="n", relacl=show_acl(sequence.acl),
    )  # fmt: skip
    for number, column in enumerate(sequence.columns, 1):
        boolean = column.type.name == "bool"
        rows.add(
            "pg_attribute", attrelid=sequence.oid, attname=column.name, atttypid=column.type.oid, attnum=number,
            attlen=1 if boolean else 8, attbyval=True, attalign="c" if boolean else "d", attstorage="p",
            attnotnull=True,
        )  # fmt: skip
    add_hidden_columns(rows, sequence.oid)
    rows.add(
        "pg_sequence", seqrelid=sequence.oid, seqtypid=sequence.type.oid, seqstart=sequence.start,
        seqincrement=sequence.increment, seqmax=sequence.maximum, seqmin=sequence.minimum, seqcache=sequence.cache,
        seqcycle=sequence.cycle,
    )  # fmt: skip
    rows.describe(oids.PG_CLASS, sequence.oid, 0, sequence.comment)
    rows.depend(oids.PG_CLASS, sequence.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")


def add_sequence_dependencies(rows: SystemRows, catalog: Catalog) -> None:
    """Adds the dependencies of sequences on their owning columns, and of defaults on sequences."""
    tables = {table.oid: table for table in catalog.tables()}
    for sequence in catalog.sequences():
        if sequence.owned_by is not None and (table := tables.get(sequence.owned_by[0])) is not None:
            number = _get_column_number(table, sequence.owned_by[1])
            kind = "i" if sequence.identity else "a"
            rows.depend(oids.PG_CLASS, sequence.oid, 0, oids.PG_CLASS, table.oid, number, kind)
    drawn = {f"'{sequence.oid}'::regclass": sequence.oid for sequence in catalog.sequences()}
    for table in tables.values():
        for number, column in enumerate(table.columns, 1):
            if column.default is not None and not column.identity and "::regclass" in column.default:
                for reference, oid in drawn.items():
                    if reference in column.default:
                        default_oid = oids.default(table.oid, number)
                        rows.depend(oids.PG_ATTRDEF, default_oid, 0, oids.PG_CLASS, oid, 0, "n")


def _get_column_number(table: Table, name: str) -> int:
    return [column.name for column in table.columns].index(name) + 1
