"""Names of constraints and indexes, fresh OIDs, and the foreign keys that reference a table."""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import ForeignKey, Index, Table, Unique
from gpudb.errors import SqlError
from gpudb.session.context import Context


def constraint_names(table: Table) -> set[str]:
    """The names of a table's constraints."""
    key = {table.key_name} if table.primary_key else set()
    indexes = {c.name for c in table.constraints if isinstance(c, Index) or (isinstance(c, Unique) and c.index)}
    return key | ({c.name for c in table.constraints} - indexes)


def check_constraint_name_free(table: Table, name: str) -> None:
    """42710 if the table has a constraint of that name."""
    if name in constraint_names(table):
        message = f'constraint "{name}" for relation "{table.name}" already exists'
        raise SqlError.of("duplicate_object", message)


def constraint_names_in(catalog: Catalog, table: Table) -> set[str]:
    """The names of constraints in a table's schema, including the table's own, which may not be in the catalog yet."""
    others = (each for each in catalog.tables() if each.schema == table.schema)
    return set().union(constraint_names(table), *(constraint_names(each) for each in others))


def index_names_in(catalog: Catalog, table: Table) -> set[str]:
    """The names of relations in a table's schema, including indexes and the table itself."""
    taken = {table.name, *table.index_names}
    for relation in catalog.relations.values():
        if relation.schema == table.schema:
            taken.add(relation.name)
            taken.update(relation.index_names if isinstance(relation, Table) else ())
    return taken


def allocate_oid(context: Context) -> int:
    """Allocates an OID in the transaction's catalog."""
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    return oid


def referencing_keys(catalog: Catalog, oid: int) -> list[tuple[Table, ForeignKey]]:
    """The foreign keys that reference a table, each with its owner."""
    return [(table, foreign) for table in catalog.tables() for foreign in table.foreign_keys if foreign.table == oid]
