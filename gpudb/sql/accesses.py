"""What a statement accesses: the relations and columns that it reads and changes, its routines and its schemas.

The binder records it while names are resolved, as PostgreSQL's parser records its RTEPermissionInfo: rewriting may
remove a column or a relation that the statement names, and the right to name it is still needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpudb.catalog.relations import Relation, View
from gpudb.catalog.routines import Routine
from gpudb.functions.row_addresses import ROW_ADDRESS
from gpudb.sql.bound import Call, Column, Expr
from gpudb.sql.traverse import walk

NamedExprs = Sequence[tuple[str, Expr]]
ADDRESS = "ctid"
"""The system column of the address of a row: none is to be granted, so reading one needs the right to all columns."""


@dataclass(slots=True)
class RelationAccess:
    """One mention of a relation: `privileges` (letters of `values.acl`) on it, and the columns that each is about.

    A system relation is its name. The privileges are those of the role `role`, None for the current one.
    """

    relation: Relation | str
    role: str | None
    privileges: set[str]
    selected: set[str] = field(default_factory=set)
    inserted: set[str] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)

    def select(self, name: str) -> None:
        """Records that a column is read."""
        self.privileges.add("r")
        self.selected.add(name)


@dataclass(slots=True)
class _Layer:
    """A relation of a target and its columns over the table that is changed."""

    access: RelationAccess
    columns: NamedExprs


@dataclass(slots=True)
class Accesses:
    """The accesses of one statement in the order in which it names the relations.

    `invoker` is the role that runs what is being bound: the owner of a SECURITY DEFINER routine in its body, else None
    for the current role. `role` is the one whose privileges on relations count: a view's owner in its query, else the
    invoker. `schemas` are those that qualify a name; `check_schema` raises if one may not be used. `addressed` are the
    relations of which the addresses of rows are read.
    """

    relations: list[RelationAccess] = field(default_factory=list)
    routines: list[tuple[Routine, str | None]] = field(default_factory=list)
    schemas: set[str] = field(default_factory=set)
    role: str | None = None
    invoker: str | None = None
    paused: bool = False
    addressed: set[int] = field(default_factory=set)
    check_schema: Callable[[str], None] = lambda name: None
    _columns: dict[int, tuple[RelationAccess, tuple[str, ...]]] = field(default_factory=dict)
    _targets: dict[int, list[_Layer]] = field(default_factory=dict)
    _derived: dict[int, tuple[int, Sequence[Expr]]] = field(default_factory=dict)

    @contextmanager
    def run_as(self, owner: str | None) -> Iterator[None]:
        """Records what a routine does: with its owner's privileges, or with None with those of the role that calls."""
        before = self.role, self.invoker
        self.invoker = owner if owner is not None else self.invoker
        self.role = self.invoker
        try:
            yield
        finally:
            self.role, self.invoker = before

    @contextmanager
    def below(self, view: Relation) -> Iterator[None]:
        """Records what a view's query reads, or the defaults and conditions of a change through a view."""
        before = self.role
        self.role = self._get_view_role(view)
        try:
            yield
        finally:
            self.role = before

    def _get_view_role(self, view: Relation) -> str | None:
        """Returns the role that reads what a view's query names."""
        return self.invoker if isinstance(view, View) and view.security_invoker else view.owner

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Records nothing: what is bound now is not part of the statement."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def add_schema(self, name: str) -> None:
        """Records a schema that qualifies a name of the statement itself, not of a view's text."""
        if name and not self.paused and self.role is None:
            self.schemas.add(name)
            self.check_schema(name)

    def add_routine(self, routine: Routine, role: str | None = None) -> None:
        """Records a call, for which `role` needs the right, or with None the role that runs what is being bound."""
        if not self.paused:
            self.routines.append((routine, role or self.invoker))

    def add_relation(
        self, relation: Relation | str, privileges: str, rel: int = 0, names: Sequence[str] = ()
    ) -> RelationAccess:
        """Records a mention of a relation, whose columns are those of relation number `rel` if it is not 0."""
        access = RelationAccess(relation, self.role, set(privileges))
        if not self.paused:
            self.relations.append(access)
            if rel:
                self._columns[rel] = access, tuple(names)
        return access

    def add_target(self, rel: int, layers: Sequence[tuple[Relation, NamedExprs]], privileges: str) -> RelationAccess:
        """Records the target of a change: a table, or a view and the relations below it, with the exprs of each over
        relation `rel`. The relations below a view are accessed as the view's owner.
        """
        found: list[_Layer] = []
        role = self.role
        for relation, columns in layers:
            access = RelationAccess(relation, role, set(privileges))
            found.append(_Layer(access, columns))
            if not self.paused:
                self.relations.append(access)
            role = self._get_view_role(relation) if relation.kind == "v" else role
        if not self.paused:
            self._targets[rel] = found
        return found[0].access

    def add_target_rows(self, rel: int, target: int, layers: Sequence[tuple[Relation, NamedExprs]]) -> None:
        """Lets relation `rel` stand for rows of a target, with its relations' columns over `rel`."""
        known = self._targets.get(target)
        if known is not None:
            self._targets[rel] = [
                _Layer(layer.access, columns) for layer, (_, columns) in zip(known, layers, strict=False)
            ]

    def find_access(self, rel: int) -> RelationAccess | None:
        """Returns the access of the table that relation `rel` stands for, below a view if the statement names one."""
        if rel in self._columns:
            return self._columns[rel][0]
        layers = self._targets.get(rel)
        return layers[-1].access if layers else None

    def add_columns(self, rel: int, access: RelationAccess, names: Sequence[str]) -> None:
        """Lets relation `rel` stand for the rows of an accessed relation."""
        self._columns[rel] = access, tuple(names)

    def add_derived(self, rel: int, exprs: Sequence[Expr], first: int = 0) -> None:
        """Lets the columns of relation `rel`, from number `first` on, stand for expressions over other relations."""
        self._derived[rel] = first, exprs

    def lock(self, rel: int) -> None:
        """Records that the rows of a relation are locked, which needs the right to update it."""
        if not self.paused and rel in self._columns:
            self._columns[rel][0].privileges.add("w")

    def require(self, rel: int, privileges: str) -> None:
        """Adds to the privileges that a change needs on its target."""
        for layer in self._targets.get(rel, ()):
            layer.access.privileges.update(privileges)

    def select(self, expr: Expr) -> None:
        """Records that an expression to which a name was resolved is read."""
        if self.paused:
            return
        for node in (expr,) if isinstance(expr, Column) else walk(expr):
            if isinstance(node, Column):
                self._select_column(node, expr)

    def select_system_column(self, rel: int, name: str) -> None:
        """Records that a system column of a relation is read."""
        access = None if self.paused else self.find_access(rel)
        if access is not None:
            access.select(name)

    def _select_column(self, column: Column, named: Expr) -> None:
        first, derived = self._derived.get(column.rel, (0, ()))
        if first <= column.index < first + len(derived):
            self.select(derived[column.index - first])
        elif (known := self._columns.get(column.rel)) is not None:
            access, names = known
            access.select(names[column.index] if column.index < len(names) else ADDRESS)
        elif (layers := self._targets.get(column.rel)) is not None:
            self._select_target(layers, named)
            if isinstance(named, Call) and named.function.name == ROW_ADDRESS:
                layers[-1].access.select(ADDRESS)

    def _select_target(self, layers: Sequence[_Layer], expr: Expr) -> None:
        """Records that a column of a target is read: in a view, also the columns below that it is computed from."""
        wanted = [expr]
        for layer in layers:
            names = [name for name, each in layer.columns if any(each is one or each == one for one in wanted)]
            for name in names:
                layer.access.select(name)
            wanted = [node for one in wanted for node in walk(one)]

    def select_below(self, rel: int, exprs: Sequence[Expr]) -> None:
        """Records that the conditions of a view read columns of the relations below it."""
        layers = self._targets.get(rel, [])[1:]
        for expr in exprs:
            for node in walk(expr):
                if isinstance(node, Column):
                    self._select_target(layers, node)

    def assign(self, rel: int, names: Sequence[str], *, insert: bool) -> None:
        """Records that a change assigns to columns of a target, by the names that the statement has for them."""
        layers = self._targets.get(rel)
        if not layers or self.paused:
            return
        wanted = [expr for name, expr in layers[0].columns if name in names]
        for layer in layers:
            assigned = {name for name, each in layer.columns if any(each is one or each == one for one in wanted)}
            (layer.access.inserted if insert else layer.access.updated).update(assigned)
