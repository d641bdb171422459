"""Plans of the SQL in a body: what a fragment was bound to, for the variables' types at hand.

An expression that Python can compute becomes a Python function, any other a query that the session runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpudb.errors import GpudbError, SqlError
from gpudb.functions.resolve import can_coerce
from gpudb.plpgsql.expressions import Code, Emitter, Names, NotSimple, is_too_deep, simple_target
from gpudb.plpgsql.host import Bound, Host
from gpudb.plpgsql.records import Record, show_value
from gpudb.plpgsql.references import NeedsRecord, References
from gpudb.plpgsql.scope import Fragment, Variable
from gpudb.sql.bind.expressions.records import get_field
from gpudb.sql.bind.types.coercion import coerce_to_column
from gpudb.sql.bound import (
    Call,
    Column,
    Constant,
    Derived,
    Expr,
    OutputColumn,
    Parameter,
    Query,
    Row,
    ScalarSubquery,
    Select,
)
from gpudb.sql.traverse import walk
from gpudb.types import SqlType, widen
from gpudb.values import parse_text

_MAX_PLANS = 64
_ARGUMENTS = re.compile(r"\btg_argv\s*\[", re.IGNORECASE)


def shift_arguments(text: str) -> str:
    """Returns SQL in which the subscripts of TG_ARGV, which begin at 0, begin at 1."""
    return _ARGUMENTS.sub(r"\g<0>1 + ", text)


@dataclass(slots=True)
class Plan:
    """How a fragment is computed: by `python` from the variables' values, or by `bound` with parameters.

    `used` lists what the parameters are: a variable's place among the fragment's, and a field's place or -1. `shown` is
    whether CONTEXT has a line for it. `keeps` holds what its key identifies.
    """

    python: Callable[..., object] | None = None
    bound: Bound | None = None
    used: tuple[tuple[int, int], ...] = ()
    columns: tuple[tuple[str, SqlType], ...] = ()
    is_row: bool = False
    shown: bool = True
    keeps: tuple[object, ...] = ()


@dataclass(slots=True, eq=False)
class Sql:
    """A fragment of a body, ready to be bound.

    `variables` are those that its text may name, in the order in which their values are handed over. `prefix` makes the
    fragment a statement. `context` is its line of CONTEXT, which an expression without subqueries lacks.
    """

    fragment: Fragment
    variables: tuple[Variable, ...]
    prefix: str
    conflict: str
    context: str
    is_expression: bool = False
    plans: dict[object, Plan] = field(default_factory=dict)
    version: object = None

    @property
    def text(self) -> str:
        """The statement. Its subscripts of TG_ARGV begin at 1, as those of every array in gpudb, not at 0."""
        is_trigger = any(each.name == "tg_argv" for each in self.variables)
        return self.prefix + (shift_arguments(self.fragment.text) if is_trigger else self.fragment.text)

    def find_plan(self, host: Host, values: Sequence[object]) -> Plan:
        """Returns the plan for these values' types; binds it first if it is not known."""
        version = host.version()
        if version != self.version or len(self.plans) > _MAX_PLANS:
            self.plans.clear()
            self.version = version
        records = [(place, each) for place, each in enumerate(values) if isinstance(each, Record)]
        key = tuple([(place, id(each.names), id(each.types)) for place, each in records]) if records else ()
        plan = self.plans.get(key)
        if plan is None:
            plan = self._bind(host, values)
            if plan.bound is None or plan.bound.cacheable:
                self.plans[key] = plan
            plan.keeps = tuple((each.names, each.types) for _, each in records)
        return plan

    def references(self, values: Sequence[object] | None, *, as_constants: bool = False) -> References:
        """Returns the names that the binder sees; without values, records have no fields yet."""
        known = None
        if values is not None:
            known = {each.number: value for each, value in zip(self.variables, values, strict=True)}
        records = None
        if known is not None:
            records = {number: value if isinstance(value, Record) else None for number, value in known.items()}
        return References("", (), (), [], self.fragment.scope, self.conflict, records, known if as_constants else None)

    def _bind(self, host: Host, values: Sequence[object]) -> Plan:
        names = self.references(values)
        try:
            bound = host.bind(self.text, names)
        except GpudbError as error:
            if error.sqlstate == "55000" or error.message.startswith("record "):
                error.where = self.context  # PostgreSQL knows no position of it in the query
            raise
        if bound.query is None:
            return Plan(None, bound)
        places = {each.number: place for place, each in enumerate(self.variables)}
        used = tuple((places[variable.number], place) for variable, place in names.used)
        target = simple_target(bound.query)
        shown = (
            not self.is_expression
            or target is None
            or any(isinstance(each, ScalarSubquery | Derived) for each in walk(target))
        )
        columns = tuple((each.name, each.type) for each in bound.query.columns)
        plan = Plan(None, bound, used, columns, shown=shown)
        is_null = isinstance(target, Constant) and target.value is None
        if target is not None and self.prefix and target.type.fields and not target.type.element and not is_null:
            plan.bound = host.prepare_query(_expand(bound.query))
            plan.bound.cacheable = bound.cacheable
            assert plan.bound.query is not None
            plan.columns = tuple((each.name, each.type) for each in plan.bound.query.columns)
            plan.is_row = True
        elif target is not None and names.used:
            plan.python = self._compile(target, names)
        plan.shown = plan.shown or not names.used
        return plan

    def _compile(self, target: Expr, names: References) -> Callable[..., object] | None:
        globals_ = Names()
        try:
            code = emit(target, names, globals_, _refuse)
        except (NotSimple, RecursionError):
            return None
        if is_too_deep(code.source):
            return None
        arguments = ", ".join(each.local for each in self.variables)
        namespace = dict(globals_.globals)
        exec(f"def run({arguments}):\n return {code.source}", namespace)
        run: Callable[..., object] = namespace["run"]  # type: ignore[assignment]
        return run


def _refuse(call: Call, args: Sequence[Code]) -> Code:
    raise NotSimple


def emit(target: Expr, names: References, globals_: Names, call: Callable[[Call, Sequence[Code]], Code]) -> Code:
    """Returns a bound expression as Python over the local names of variables."""
    return Emitter(globals_, parameter_codes(names), call).emit(target)


def parameter_codes(names: References) -> dict[int, Code]:
    """Returns the Python of each parameter."""
    return {
        number: Code(variable.local if place < 0 else f"{variable.local}.values[{place}]")
        for number, (variable, place) in enumerate(names.used, 1)
    }


def _expand(query: Query) -> Query:
    """Returns a query of the fields of a query's only column, a row, and of whether that is NULL."""
    assert isinstance(query, Select)
    target = query.targets[0]
    if isinstance(target, Row):
        names = [name for name, _ in target.type.fields]
        columns = tuple(OutputColumn(name, each.type) for name, each in zip(names, target.items, strict=True))
        return replace(query, columns=columns, targets=target.items)
    rel = 3_000_000
    value = Column(rel, 0, target.type, query.columns[0].name)
    columns = tuple(OutputColumn(name, item) for name, item in target.type.fields)
    fields = tuple(get_field(value, index) for index in range(len(columns)))
    return Select(columns, fields, Derived(rel, query))


# ---- conversions


@dataclass(slots=True)
class Converter:
    """Conversion of values from one type to another, as an assignment does."""

    python: Callable[[Any], object] | None
    bound: Bound | None
    source: SqlType
    target: SqlType

    def convert(self, host: Host, value: object) -> object:
        """Converts a value."""
        if self.python is not None:
            return self.python(value)
        if self.bound is not None:
            return run_single(host, self.bound, [value], self.target)
        if value is None:
            return None
        text = show_value(self.source, value, host.timezone)
        assert text is not None
        return parse_text(widen(self.target), text, host.timezone)


def run_single(host: Host, bound: Bound, parameters: Sequence[object], item: SqlType) -> object:
    """Returns the value of a query of one row and one column."""
    from gpudb.plpgsql.records import column_values

    outcome = host.run(bound, parameters)
    try:
        for batch in outcome.batches:
            if batch.num_rows:
                return column_values(item, batch.column(0), host.timezone)[0]
    finally:
        outcome.close()
    return None


def make_converter(host: Host, source: SqlType, target: SqlType) -> Converter:
    """Returns the conversion of an assignment; through text where PostgreSQL has no cast."""
    names = Names()
    try:
        code = Emitter(names, {}, _refuse).convert(Code("a"), source, target)
        namespace = dict(names.globals)
        exec(f"def run(a):\n return {code.source}", namespace)
        return Converter(namespace["run"], None, source, target)  # type: ignore[arg-type]
    except NotSimple:
        pass
    if source.name == "unknown" or not (can_coerce(source.plain, target.plain, "a") or target.domain is not None):
        return Converter(None, None, source, target)
    try:
        expr = coerce_to_column(host.binder(), Parameter(1, source.plain), "", target)
    except GpudbError:
        return Converter(None, None, source, target)
    query = Select((OutputColumn("c", expr.type),), (expr,))
    return Converter(None, host.prepare_query(query), source, target)


def bind_statically(sql: Sql, host: Host) -> tuple[Query, References] | None:
    """Binds a fragment before its body runs; None if that needs a record's value or fails for now."""
    names = sql.references(None)
    try:
        bound = host.bind(sql.text, names)
    except (NeedsRecord, GpudbError):
        return None
    return None if bound.query is None else (bound.query, names)


def null_value_error(name: str) -> SqlError:
    """Returns the error for NULL in a variable that is declared NOT NULL."""
    message = f'null value cannot be assigned to variable "{name}" declared NOT NULL'
    return SqlError.of("null_value_not_allowed", message)
