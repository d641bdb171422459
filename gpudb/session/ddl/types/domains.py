"""CREATE DOMAIN and ALTER DOMAIN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Check, Column, Table
from gpudb.catalog.type_replacement import contains_type
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.context import Context
from gpudb.session.ddl.parse_nodes import definition_field
from gpudb.session.ddl.query_columns import check_column_type
from gpudb.session.ddl.types.types import find_type, reserve_type
from gpudb.session.execution.requests.requests import run_on_engine
from gpudb.session.objects.stored_expressions import deparse_expression
from gpudb.session.results import Result
from gpudb.sql.bind.dml.checks import qualify_text
from gpudb.sql.bind.dml.targets import bind_default
from gpudb.sql.bind.types.domains import bind_check, bind_stored_check, find_definition
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.bound import Column as Reference
from gpudb.sql.bound import Constant, Expr, OutputColumn, Scan, Select
from gpudb.sql.bound import Constrained as BoundConstrained
from gpudb.sql.bound import Test as NullTest
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import inner, present, strings
from gpudb.types import INT4, SqlType, type_exists

_NOT_POSSIBLE = {
    "UNIQUE": "unique",
    "PRIMARY": "primary key",
    "EXCLUSION": "exclusion",
    "FOREIGN": "foreign key",
}


def create_domain(context: Context) -> Result:
    """CREATE DOMAIN name [AS] type [DEFAULT …] [[CONSTRAINT name] NOT NULL | NULL | CHECK (…)] …"""
    node: Any = context.statement.node
    context.check_writable("CREATE DOMAIN")
    binder = context.binder()
    if node.HasField("coll_clause") and strings(node.coll_clause.collname)[-1] not in {"C", "POSIX", "default"}:
        raise FeatureNotSupported("collations other than C are not supported")
    base = resolve_type_name(node.type_name, binder)
    if base.category == "P":
        shown = strings(node.type_name.names)[-1]
        raise SqlError.of("datatype_mismatch", f'"{shown}" is not a valid base type for a domain')
    check_column_type("value", base)
    user, catalog = reserve_type(context, strings(node.domainname), "d")
    parent = base.domain.oid if base.domain is not None and base.domain.base == base.name else 0
    if base.domain is not None and not parent:
        raise FeatureNotSupported("domains over arrays of domains are not supported")
    plain = replace(base, domain=None)
    below = find_definition(binder, parent)
    inherited = below.default if below is not None else None
    definition = TypeDefinition(
        user.oid, user.schema, user.name, context.session.user, replace(plain, domain=replace(user, base=plain.name)),
        parent=parent,
    )  # fmt: skip
    nullable: bool | None = None
    for each in node.constraints:
        constraint = inner(each)
        what = pg.ConstrType.Name(constraint.contype).removeprefix("CONSTR_")
        match what:
            case "DEFAULT":
                if definition.default is not None:
                    raise SqlError.of("syntax_error", "multiple default expressions")
                definition = replace(definition, default=_default(context, constraint.raw_expr, base))
            case "NOTNULL" | "NULL":
                if nullable is not None and nullable is not (what == "NULL"):
                    raise SqlError.of("syntax_error", "conflicting NULL/NOT NULL constraints")
                nullable = what == "NULL"
                definition = replace(definition, not_null=what == "NOTNULL")
            case "CHECK":
                definition, catalog = _with_check(context, catalog, definition, constraint)
            case _ if what in _NOT_POSSIBLE:
                message = f"{_NOT_POSSIBLE[what]} constraints not possible for domains"
                raise SqlError.of("syntax_error", message)
            case _:
                message = "specifying constraint deferrability not supported for domains"
                raise FeatureNotSupported(message)
    if definition.default is None:
        definition = replace(definition, default=inherited)
    context.transaction.set_catalog(catalog.put(definition))
    return Result("CREATE DOMAIN")


def _default(context: Context, node: Any, base: SqlType) -> str | None:
    text = deparse_expression(node)
    binder = context.binder()
    binder.expansions = Expansions()
    expr = bind_default(binder, text, Column("value", base))
    return None if isinstance(expr, Constant) and expr.value is None else qualify_text(binder, text)


def _with_check(
    context: Context, catalog: Catalog, definition: TypeDefinition, constraint: Any
) -> tuple[TypeDefinition, Catalog]:
    name = constraint.conname
    taken = {each.name for each in definition.checks}
    if name in taken:
        message = f'constraint "{name}" for domain "{definition.name}" already exists'
        raise SqlError.of("duplicate_object", message)
    if not name:
        name, number = f"{definition.name}_check", 1
        while name in taken:
            name, number = f"{definition.name}_check{number}", number + 1
    text = deparse_expression(constraint.raw_expr)
    binder = context.binder()
    binder.expansions = Expansions()
    bind_check(binder, text, replace(definition.type, domain=None))
    text = qualify_text(binder, text)
    oid, catalog = catalog.allocate_oid()
    # PostgreSQL checks them in order of name.
    checks = sorted((*definition.checks, Check(oid, name, text)), key=lambda each: each.name)
    return replace(definition, checks=tuple(checks)), catalog


def alter_domain(context: Context) -> Result:
    """ALTER DOMAIN name SET | DROP DEFAULT, SET | DROP NOT NULL, ADD | DROP | VALIDATE CONSTRAINT."""
    node: Any = context.statement.node
    context.check_writable("ALTER DOMAIN")
    definition = _find_domain(context, strings(node.type_name))
    change = _CHANGES.get(node.subtype)
    if change is None:
        raise FeatureNotSupported("this form of ALTER DOMAIN is not supported")
    change(context, definition, node)
    return Result("ALTER DOMAIN")


def _find_domain(context: Context, names: tuple[str, ...]) -> TypeDefinition:
    if len(names) == 1 and type_exists(names[0]):
        raise SqlError.of("wrong_object_type", f"{SqlType(names[0])} is not a domain")
    definition = find_type(context, names)
    if definition.user.kind != "d":
        raise SqlError.of("wrong_object_type", f"{definition.user} is not a domain")
    return definition


def _store(context: Context, definition: TypeDefinition, catalog: Catalog | None = None) -> None:
    context.transaction.set_catalog((catalog or context.transaction.catalog).put(definition))


def _set_default(context: Context, definition: TypeDefinition, node: Any) -> None:
    text = None
    if present(definition_field(node)):
        text = _default(context, definition_field(node), replace(definition.type, domain=None))
    _store(context, replace(definition, default=text))


def _set_not_null(context: Context, definition: TypeDefinition, node: Any) -> None:
    _store(context, replace(definition, not_null=True))
    for table, column, index in _domain_columns(context, definition):
        value = Reference(1, index, column.type, column.name)
        if _holds_for_any_row(context, table, NullTest(value, "NULL")):
            message = f'column "{column.name}" of table "{table.name}" contains null values'
            raise SqlError.of("not_null_violation", message)


def _drop_not_null(context: Context, definition: TypeDefinition, node: Any) -> None:
    _store(context, replace(definition, not_null=False))


def _add_constraint(context: Context, definition: TypeDefinition, node: Any) -> None:
    constraint = inner(definition_field(node))
    if constraint.contype != pg.CONSTR_CHECK:
        what = pg.ConstrType.Name(constraint.contype).removeprefix("CONSTR_")
        if what in _NOT_POSSIBLE:
            message = f"{_NOT_POSSIBLE[what]} constraints not possible for domains"
            raise SqlError.of("syntax_error", message)
        raise FeatureNotSupported(f"ALTER DOMAIN … ADD {what} is not supported")
    if constraint.skip_validation:
        raise FeatureNotSupported("ALTER DOMAIN … ADD CONSTRAINT … NOT VALID is not supported")
    changed, catalog = _with_check(context, context.transaction.catalog, definition, constraint)
    (added,) = (each for each in changed.checks if each not in definition.checks)
    _store(context, changed, catalog)
    binder = context.binder()
    check = bind_stored_check(binder, added.expression, replace(definition.type, domain=None))
    for table, column, index in _domain_columns(context, definition):
        value = Reference(1, index, replace(column.type, domain=None), column.name)
        try:
            _holds_for_any_row(
                context, table, NullTest(BoundConstrained(value, (("", check),), False, column.type), "NULL")
            )
        except SqlError as error:
            if error.sqlstate != "23514":
                raise
            message = f'column "{column.name}" of table "{table.name}" contains values that violate the new constraint'
            raise SqlError.of("check_violation", message) from None


def _drop_constraint(context: Context, definition: TypeDefinition, node: Any) -> None:
    if all(each.name != node.name for each in definition.checks):
        message = f'constraint "{node.name}" of domain "{definition.name}" does not exist'
        if not node.missing_ok:
            raise UndefinedObject(message)
        context.notice(message + ", skipping")
        return
    _store(context, replace(definition, checks=tuple(each for each in definition.checks if each.name != node.name)))


def _validate(context: Context, definition: TypeDefinition, node: Any) -> None:
    """No effect: every constraint was checked against the rows when it was added."""
    if all(each.name != node.name for each in definition.checks):
        raise UndefinedObject(f'constraint "{node.name}" of domain "{definition.name}" does not exist')


_CHANGES: dict[str, Callable[[Context, TypeDefinition, Any], None]] = {
    "T": _set_default,
    "O": _set_not_null,
    "N": _drop_not_null,
    "C": _add_constraint,
    "X": _drop_constraint,
    "V": _validate,
}


def rename_domain_constraint(context: Context, node: Any) -> Result:
    """ALTER DOMAIN … RENAME CONSTRAINT … TO …"""
    definition = _find_domain(context, strings(inner(node.object).items))
    if all(each.name != node.subname for each in definition.checks):
        raise UndefinedObject(f'constraint "{node.subname}" for domain {definition.user} does not exist')
    if any(each.name == node.newname for each in definition.checks):
        message = f'constraint "{node.newname}" for domain {definition.user} already exists'
        raise SqlError.of("duplicate_object", message)
    renamed = (replace(each, name=node.newname) if each.name == node.subname else each for each in definition.checks)
    _store(context, replace(definition, checks=tuple(sorted(renamed, key=lambda each: each.name))))
    return Result("ALTER DOMAIN")


def _domain_columns(context: Context, definition: TypeDefinition) -> list[tuple[Table, Column, int]]:
    """The table columns of a domain or of a domain over it; 0A000 if another type contains it."""
    over = {definition.oid}
    for each in context.transaction.catalog.types.values():
        if each.parent in over:
            over.add(each.oid)
    found = []
    for table in context.transaction.catalog.tables():
        for index, column in enumerate(table.columns):
            column_domain = column.type.domain
            if column_domain is not None and column_domain.oid in over and column_domain.base == column.type.name:
                found.append((table, column, index))
            elif contains_type(column.type, definition.user) and table.files:
                raise FeatureNotSupported(
                    f"changing domain {definition.user}, which is inside of other types, is not supported"
                )
    return found


def _holds_for_any_row(context: Context, table: Table, test: Expr) -> bool:
    """Whether a condition on relation 1, the table, holds for one of its rows."""
    if not table.files:
        return False
    one = (OutputColumn("found", INT4),)
    query = Select(one, (Constant(1, INT4),), Scan(1, table), test, limit=Constant(1, INT4))
    stream = run_on_engine(context, query)
    try:
        return any(batch.num_rows for batch in stream)
    finally:
        stream.close()
