"""Statements that obey row level security, as PostgreSQL's rewriter adds it to them (get_row_security_policies).

The conditions of a table's policies are added to WHERE, or a scan of it becomes a subquery with them: behind an outer
join, and as a barrier where another condition could tell of a hidden row. A change gets checks of the rows that it
writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from gpudb.catalog.policies import DELETE, INSERT, SELECT, UPDATE
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.authorization.row_security.applicable import (
    Condition,
    has_row_security,
    list_checks,
    list_policies,
    list_using,
    make_filtered_error,
)
from gpudb.session.authorization.row_security.parts import describe_violation, list_kept_scans, scan_old_rows
from gpudb.session.context import Context
from gpudb.sql.accesses import Accesses, RelationAccess
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.on_conflict import scan_proposed
from gpudb.sql.bind.dml.row_checks import build_row_check
from gpudb.sql.bind.dml.targets import ROW_ID
from gpudb.sql.bind.expressions.operators import conjunction, disjunction
from gpudb.sql.bind.policies import bind_stored_condition
from gpudb.sql.bind.query.sources import build_barrier, table_columns
from gpudb.sql.bound import (
    ROW_NUMBER,
    SUBQUERIES,
    Column,
    Constant,
    Delete,
    Derived,
    Expr,
    Insert,
    Merge,
    RowCheck,
    Scan,
    Select,
    Statement,
    Update,
    WithChanges,
)
from gpudb.sql.fallibility import has_leaky_conditions
from gpudb.sql.traverse import has_subquery, replace_nodes, walk
from gpudb.types import BOOL, INT8

_NEW = "new row violates row-level security policy{policy} for table {table}"
_CONFLICTING = "new row violates row-level security policy{policy} (USING expression) for table {table}"
_TARGET = "target row violates row-level security policy{policy} (USING expression) for table {table}"


class RowSecurity:
    """Adds policies to the statement of a context. `added` is what they access, `cacheable` whether the result may be
    kept for as long as the catalog stays the same.

    42501 while row_security is off and a policy would restrict rows, 42P17 for policies that read each other's tables.
    """

    def __init__(self, context: Context, statement: Statement, accesses: Accesses) -> None:
        self._context = context
        self._catalog = context.transaction.catalog
        self._accesses = accesses
        self._statement = statement
        self._is_enforced = context.session.settings["row_security"] == "on"
        self._binder: Binder | None = None
        self._expanding: list[int] = []
        self._leaks: bool | None = None
        self.cacheable = True
        self.added: list[Accesses] = []

    def apply(self) -> Statement:
        """Returns the statement under policies; itself where no table that it names has any."""
        named = (each.relation for each in self._accesses.relations)
        if not any(isinstance(each, Table) and each.row_security for each in named):
            return self._statement
        result: Statement = self._change(self._statement)
        return result

    def _change(self, statement: Any) -> Any:
        match statement:
            case WithChanges():
                parts, after = (
                    tuple((name, self._change(part)) for name, part in each)
                    for each in (statement.parts, statement.after)
                )
                return WithChanges(parts, self._change(statement.statement), after)
            case Insert():
                return self._add_insert_checks(self._filter(statement, (), self._accesses), statement)
            case Update():
                return self._add_update_check(self._filter(statement, (UPDATE,), self._accesses), statement)
            case Delete():
                return self._filter(statement, (DELETE,), self._accesses)
            case Merge():
                return self._add_merge_checks(self._filter(statement, (SELECT,), self._accesses), statement)
        return self._filter(statement, (), self._accesses)

    # ---- rows that are read

    def _filter(self, node: Any, commands: tuple[str, ...], accesses: Accesses) -> Any:
        """Returns a tree in which scans see what policies let them see.

        Those of rows to change do by the policies of `commands`, and without any see all: checks follow.
        """

        made: dict[int, Any] = {}
        kept: list[int] = []

        def change(each: Any) -> Any:
            if isinstance(each, Select) and not self._has_leaks():
                if id(each) in made:  # None while it is made; a tree may have one subquery at several places
                    return made[id(each)]
                tests: dict[int, list[Expr]] = {}
                for scan in list_kept_scans(each.source):
                    if found := self._find_tests(scan, commands, accesses, scan.rel):
                        tests[id(scan)] = found
                made[id(each)] = None
                if tests:
                    kept.extend(tests)
                    inner = replace_nodes(each, change)
                    del kept[-len(tests) :]
                    own = () if inner.where is None else (inner.where,)
                    made[id(each)] = replace(inner, where=conjunction((*chain(*tests.values()), *own)))
                return made[id(each)]
            if isinstance(each, Scan) and id(each) not in kept:
                return self._filter_scan(each, commands, accesses)
            return None

        return replace_nodes(node, change)

    def _filter_scan(self, scan: Scan, commands: tuple[str, ...], accesses: Accesses) -> Derived | None:
        """Returns a subquery of the rows that policies let a scan see; None if none applies."""
        inside = self._get_binder().new_rel()
        tests = self._find_tests(scan, commands, accesses, inside)
        if not tests:
            return None
        columns = (*table_columns(scan.table), *(ROW_ID if scan.row_ids else ()))
        values = tuple(Column(inside, place, each.type, each.name) for place, each in enumerate(columns))
        query = Select(columns, values, replace(scan, rel=inside), conjunction(tests))
        return Derived(scan.rel, build_barrier(query) if self._has_leaks() else query)

    def _find_tests(self, scan: Scan, commands: tuple[str, ...], accesses: Accesses, rel: int) -> list[Expr]:
        """Returns the conditions of policies on a scan, over its columns as those of relation `rel`."""
        if scan.is_target and not commands:
            return []
        table = self._get_definition(scan.table)
        access = accesses.find_access(scan.rel) or RelationAccess(table, None, {"r"})
        role = self._get_role(access)
        if not self._applies(table, role):
            return []
        commands = commands if scan.is_target else (SELECT,)
        wanted = [SELECT] if "r" in access.privileges and SELECT not in commands else []
        wanted += commands
        if not scan.is_target and "w" in access.privileges:
            wanted.append(UPDATE)  # FOR UPDATE and its like
        conditions: list[Condition] = []
        for command in wanted:
            found = list_using(list_policies(self._catalog, role, table, command))
            conditions += [each for each in found if each not in conditions]
        values = tuple(Column(rel, n, each.type, each.name) for n, each in enumerate(table_columns(scan.table)))
        known = self._match_columns(table, scan.table, values)
        return [self._bind(table, known, each, role) for each in conditions]

    def _get_definition(self, table: Table) -> Table:
        """Returns a table with its policies of now, if a statement reads an earlier snapshot."""
        found = self._catalog.find_relation_by_oid(table.catalog_oid) if table.past_of else table
        return found if isinstance(found, Table) else table

    @staticmethod
    def _match_columns(table: Table, scanned: Table, values: Sequence[Column]) -> list[Column | None]:
        """Returns the columns of a scan that are a table's, which in an earlier snapshot may have other names."""
        if scanned.oid == table.oid:
            return list(values[: len(table.columns)])
        places = {column.field_id: place for place, column in enumerate(scanned.columns)}
        return [values[places[each.field_id]] if each.field_id in places else None for each in table.columns]

    def _has_leaks(self) -> bool:
        """Whether engines could apply a condition of the statement before a policy that must precede it."""
        if self._leaks is None:
            self._leaks = has_leaky_conditions(self._statement)
        return self._leaks

    # ---- rows that are written

    def _add_insert_checks(self, changed: Insert, bound: Insert) -> Insert:
        access = self._find_target(bound)
        role = self._get_role(access)
        if not self._applies(bound.table, role):
            return changed
        reads = "r" in access.privileges
        selected = self._list(bound.table, role, SELECT, using=True) if reads else []
        check = self._check(bound.table, role, [*self._list(bound.table, role, INSERT), *selected], _NEW)
        conflict = changed.on_conflict
        if conflict is not None and conflict.update:
            old = [*self._list(bound.table, role, UPDATE, using=True), *selected]
            new = [*self._list(bound.table, role, UPDATE), *selected]
            conflict = replace(
                conflict,
                old_check=self._check(bound.table, role, old, _CONFLICTING, stored=True),
                new_check=self._check(bound.table, role, new, _NEW),
            )
        return replace(changed, check=check, on_conflict=conflict)

    def _add_update_check(self, changed: Update, bound: Update) -> Update:
        access = self._find_target(bound)
        role = self._get_role(access)
        if not self._applies(bound.table, role):
            return changed
        conditions = self._list(bound.table, role, UPDATE)
        if "r" in access.privileges:
            conditions += self._list(bound.table, role, SELECT, using=True)
        return replace(changed, check=self._check(bound.table, role, conditions, _NEW))

    def _add_merge_checks(self, changed: Merge, bound: Merge) -> Merge:
        access = self._find_target(bound)
        role, table = self._get_role(access), bound.table
        if not self._applies(table, role):
            return changed
        updating = self._list(table, role, UPDATE)
        if "r" in access.privileges:
            updating += self._list(table, role, SELECT, using=True)
        updated, deleted = (self._list(table, role, each, using=True) for each in (UPDATE, DELETE))
        events = bound.events
        return replace(
            changed,
            insert_check=self._check(table, role, self._list(table, role, INSERT), _NEW)
            if "INSERT" in events
            else None,
            update_check=self._check(table, role, updating, _NEW) if "UPDATE" in events else None,
            updated_check=self._check(table, role, updated, _TARGET, stored=True) if "UPDATE" in events else None,
            deleted_check=self._check(table, role, deleted, _TARGET, stored=True) if "DELETE" in events else None,
        )

    def _find_target(self, bound: Any) -> RelationAccess:
        return self._accesses.find_access(bound.target) or RelationAccess(bound.table, None, set("r"))

    def _list(self, table: Table, role: str, command: str, *, using: bool = False) -> list[Condition]:
        return list_checks(list_policies(self._catalog, role, table, command), using=using)

    def _check(
        self, table: Table, role: str, conditions: Sequence[Condition], message: str, *, stored: bool = False
    ) -> RowCheck:
        """Returns the check of new rows, or of `stored` ones, by conditions in their order."""
        binder = self._get_binder()
        rel, distinct = binder.new_rel(), list(dict.fromkeys(conditions))
        columns = [Column(rel, place, each.type, each.name) for place, each in enumerate(table.columns)]
        tests = [self._bind(table, columns, each, role) for each in distinct]
        number, source = Column(rel, len(table.columns), INT8, ROW_NUMBER), scan_proposed(rel, table)
        errors = tuple(describe_violation(message, table, each.policy) for each in distinct)
        if stored:
            return build_row_check(*scan_old_rows(binder, rel, table), tests, errors)
        return build_row_check(source, number, tests, errors)

    # ---- conditions

    def _applies(self, table: Table, role: str) -> bool:
        if not has_row_security(self._catalog, role, table):
            return False
        if not self._is_enforced:
            raise make_filtered_error(self._catalog, role, table)
        return True

    def _get_role(self, access: RelationAccess) -> str:
        return access.role or self._context.session.user

    def _bind(self, table: Table, columns: Sequence[Column | None], condition: Condition, role: str) -> Expr:
        """Binds a condition over the columns of a table; what its subqueries read is under policies too."""
        binder, tests = self._get_binder(), []
        for text in condition.texts:
            binder.accesses = Accesses(role=role)
            test = bind_stored_condition(binder, table, text, columns)
            self.added.append(binder.accesses)
            tests.append(self._filter_subqueries(table, test, binder.accesses))
        self.cacheable &= binder.cacheable
        return disjunction(tests) if tests else Constant(False, BOOL)

    def _filter_subqueries(self, table: Table, test: Expr, accesses: Accesses) -> Expr:
        if not has_subquery(test):
            return test
        if table.catalog_oid in self._expanding:
            message = f'infinite recursion detected in policy for relation "{table.name}"'
            raise SqlError.of("invalid_object_definition", message)
        self._expanding.append(table.catalog_oid)
        before = self._leaks
        self._leaks = any(has_leaky_conditions(each.query) for each in walk(test) if isinstance(each, SUBQUERIES))
        try:
            result: Expr = self._filter(test, (), accesses)
        finally:
            self._expanding.pop()
            self._leaks = before
        return result

    def _get_binder(self) -> Binder:
        if self._binder is None:
            self._binder = self._context.binder()
            self._binder.arguments = None
            self._binder.number_after(self._statement)
        return self._binder
