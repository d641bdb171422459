"""Expressions of tables that call a function: defaults, checks, policies, indexes, generated columns depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudb.catalog.model import Catalog
from gpudb.catalog.pinned_routines import calls_routine
from gpudb.catalog.policies import Policy
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Check, Column, Exclude, Index, Table, Unique
from gpudb.errors import FeatureNotSupported
from gpudb.functions.library import functions_by_name
from gpudb.session.context import Context
from gpudb.session.objects.dependents import Dependent, describe_relation
from gpudb.session.objects.relations import put_relation
from gpudb.sql.bind.dml.checks import parse_expression

Part = Column | Check | Policy | Index | Unique | Exclude
"""What of a table has an expression."""


@dataclass(frozen=True, slots=True)
class ExpressionUser:
    """A part of a table whose expression calls a function."""

    table: Table
    part: Part

    def describe(self, context: Context, on: str) -> Dependent:
        """Names it as messages do."""
        table = describe_relation(context, self.table)
        if isinstance(self.part, Index) or (isinstance(self.part, Unique) and self.part.index):
            return Dependent(f"index {self.part.name}", on)
        if isinstance(self.part, Check | Exclude | Unique):
            return Dependent(f"constraint {self.part.name} on {table}", on)
        if isinstance(self.part, Policy):
            return Dependent(f"policy {self.part.name} on {table}", on)
        kind = "column" if self.part.generated is not None else "default value for column"
        return Dependent(f"{kind} {self.part.name} of {table}", on)


def find_expression_users(catalog: Catalog, routine: Routine) -> list[ExpressionUser]:
    """The users of a function, in order of their tables' creation.

    A name without a schema means the function if it is the only one of that name, and PostgreSQL has none of it.
    """
    alone = sum(each.name == routine.name for each in catalog.routines.values()) == 1
    alone = alone and routine.name not in functions_by_name()
    found = []
    for table in sorted(catalog.tables(), key=lambda each: each.oid):
        parts: list[tuple[Part, str | None]] = [
            (column, column.generated if column.generated is not None else column.default) for column in table.columns
        ]
        parts += [(check, check.expression) for check in table.checks]
        parts += [(each, _join_texts(each)) for each in table.constraints if isinstance(each, Index | Unique | Exclude)]
        parts += [(policy, f"ROW({', '.join(policy.texts)})") for policy in table.policies]
        found += [
            ExpressionUser(table, part)
            for part, text in parts
            if text is not None and routine.name in text and calls_routine(parse_expression(text), routine, alone=alone)
        ]
    return found


def _join_texts(index: Index | Unique | Exclude) -> str | None:
    """The expressions of an index as those of a row; None without any."""
    keys, predicate = (index.keys, index.predicate) if isinstance(index, Exclude) else ((), "")
    if not isinstance(index, Exclude) and index.details is not None:
        keys, predicate = index.details.keys, index.details.predicate
    texts = [text for text in (*(key.expression for key in keys), predicate) if text]
    return f"ROW({', '.join(texts)})" if texts else None


def remove_expressions(context: Context, users: Sequence[ExpressionUser]) -> None:
    """Removes what calls a function; 0A000 for a generated column, which has values."""
    for user in users:
        table = context.transaction.table(user.table.oid)
        if isinstance(user.part, Check | Index | Unique | Exclude):
            kept = tuple(each for each in table.constraints if each.oid != user.part.oid)
            put_relation(context, replace(table, constraints=kept))
            continue
        if isinstance(user.part, Policy):
            put_relation(context, replace(table, policies=tuple(p for p in table.policies if p.oid != user.part.oid)))
            continue
        if user.part.generated is not None:
            message = "DROP … CASCADE of a function that a generated column calls is not supported"
            raise FeatureNotSupported(message, hint=f'Drop column "{user.part.name}" of table "{table.name}" first.')
        columns = tuple(replace(c, default=None) if c.name == user.part.name else c for c in table.columns)
        put_relation(context, replace(table, columns=columns))
