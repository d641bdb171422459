"""Names of constraints and indexes, fresh OIDs, and the foreign keys that reference a table."""

from __future__ import annotations

from dataclasses import replace

from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import find_inherited_key, is_same_key, list_partitions
from gpudb.catalog.postgres.indexes import make_names_unique
from gpudb.catalog.tables import Exclude, ForeignKey, Index, IndexDetails, Table, Unique
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.parse.parser import inner, kind, strings


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


def list_key_names(constraint: Unique | Index | Exclude) -> tuple[str, ...]:
    """The names of an index's keys, for the name of an index: columns, and those of functions, or expr."""
    details = IndexDetails(constraint.keys) if isinstance(constraint, Exclude) else constraint.details
    if details is None:
        return constraint.columns
    keys = (key.column or get_expression_name(key.expression) for key in details.keys)
    return tuple(make_names_unique([*keys, *details.included]))


def get_expression_name(expression: str) -> str:
    """The name of an index's key that is an expression: that of its function, or expr."""
    node = parse_expression(expression)
    return strings(inner(node).funcname)[-1] if kind(node) == "func_call" else "expr"


def allocate_oid(context: Context) -> int:
    """Allocates an OID in the transaction's catalog."""
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    return oid


def referencing_keys(catalog: Catalog, oid: int, *, inherited: bool = False) -> list[tuple[Table, ForeignKey]]:
    """The foreign keys that reference a table, each with its owner.

    Without `inherited`, those of partitions that their partitioned table has too are left out.
    """
    found = [(table, foreign) for table in catalog.tables() for foreign in table.foreign_keys if foreign.table == oid]
    return [each for each in found if inherited or find_inherited_key(catalog, *each) is None]


def without_foreign_key(catalog: Catalog, oid: int, foreign: ForeignKey) -> Catalog:
    """The catalog without a foreign key of a table, and of the partitions that have it from there."""
    table = catalog.find_relation_by_oid(oid)
    assert isinstance(table, Table)
    for each in (table, *list_partitions(catalog, table)):
        kept = tuple(
            held
            for held in each.constraints
            if not (isinstance(held, ForeignKey) and (held.oid == foreign.oid or is_same_key(held, foreign)))
        )
        catalog = catalog.put(replace(each, constraints=kept))
    return catalog
