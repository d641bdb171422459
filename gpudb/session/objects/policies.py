"""What policies use beside their table: columns, relations, functions and roles, which they follow or depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.policies import Policy
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.objects.dependents import Dependent, describe_relation, relation_names
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.stored_expressions import deparse_expression
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.bind.policies import list_references
from gpudb.sql.bound import Column, Expr, Scan
from gpudb.sql.traverse import replace_nodes, walk


@dataclass(frozen=True, slots=True)
class PolicyUse:
    """A policy of a table that uses something."""

    table: Table
    policy: Policy

    def describe(self, context: Context, on: str) -> Dependent:
        """Names it as messages about dependents do."""
        return Dependent(self.name(context), on)

    def name(self, context: Context) -> str:
        """The policy and its table as messages name them."""
        return f"policy {self.policy.name} on {describe_relation(context, self.table)}"


def list_policies(catalog: Catalog) -> Iterator[PolicyUse]:
    """Yields every policy, in order of creation."""
    found = [PolicyUse(table, each) for table in catalog.tables() for each in table.policies]
    yield from sorted(found, key=lambda use: use.policy.oid)


def policies_over(catalog: Catalog, relation: Relation) -> list[PolicyUse]:
    """The policies of other tables whose subqueries name a relation."""
    name = relation.schema, relation.name
    return [
        use
        for use in list_policies(catalog)
        if use.table.oid != relation.oid
        and any(relation.name in text and name in relation_names(parse_expression(text)) for text in use.policy.texts)
    ]


def policies_of_column(context: Context, table: Table, name: str) -> list[PolicyUse]:
    """The policies that read a column of a table, their own or another one."""
    index = [column.name for column in table.columns].index(name)
    found = []
    for use in list_policies(context.transaction.catalog):
        for text in use.policy.texts:
            references, test = list_references(context.binder(), use.table, parse_expression(text))
            own = use.table.oid == table.oid and any(column == name for column, _ in references)
            if own or index in _columns_read(test, table):
                found.append(use)
                break
    return found


def _columns_read(test: Expr, table: Table) -> set[int]:
    nodes = list(walk(test))
    scans = {node.rel for node in nodes if isinstance(node, Scan) and node.table.oid == table.oid}
    return {node.index for node in nodes if isinstance(node, Column) and node.rel in scans}


def remove_policies(context: Context, uses: Iterable[PolicyUse]) -> None:
    """Drops policies whose tables still exist."""
    for use in uses:
        table = context.transaction.catalog.find_relation_by_oid(use.table.oid)
        if isinstance(table, Table):
            put_relation(context, replace(table, policies=tuple(p for p in table.policies if p.oid != use.policy.oid)))


# ---- names


def rename_in_policies(context: Context, table: Table, renamed: Table, column: str = "") -> tuple[Policy, ...]:
    """The policies of a table under the new name of the table, or of its column.

    0A000 where a subquery has something else of the new name, so that the reference would be to that.
    """

    def change(text: str | None) -> str | None:
        if text is None:
            return None
        node = parse_expression(text)
        references, before = list_references(context.binder(), table, node)
        if not references:
            return text
        for name, reference in references:
            _rename(reference, table, renamed, column, name)
        _, after = list_references(context.binder(), renamed, node)
        if _without_names(before) != _without_names(after):
            message = "a policy has a subquery in which the new name means something else"
            raise FeatureNotSupported(message, hint="Drop the policy, and create it again after that.")
        return deparse_expression(node)

    return _map_texts(table, change)


def _rename(reference: Any, table: Table, renamed: Table, column: str, name: str) -> None:
    fields = reference.fields
    if column:
        if name == column:
            place = [each.name for each in table.columns].index(column)
            fields[-1].string.sval = renamed.columns[place].name
    elif len(fields) > 1:
        last = fields[-1].string.sval
        del fields[:]
        for part in (renamed.name, last):
            fields.add().string.sval = part


def _without_names(test: Expr) -> Any:
    return replace_nodes(test, lambda node: replace(node, name="") if isinstance(node, Column) and node.name else None)


def _map_texts(table: Table, change: Callable[[str | None], str | None]) -> tuple[Policy, ...]:
    return tuple(replace(each, using=change(each.using), check=change(each.check)) for each in table.policies)
