"""CREATE, ALTER, DROP and COMMENT ON POLICY, and ALTER TABLE … ROW LEVEL SECURITY."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.policies import ALL, DELETE, INSERT, PUBLIC, SELECT, UPDATE, Policy
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError, UndefinedTable
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.authorization.role_specs import resolve_role
from gpudb.session.context import Context
from gpudb.session.objects.names import (
    check_not_system,
    range_text,
    resolve_range,
    schema_path,
    truncate_identifier,
)
from gpudb.session.objects.relations import lock_table, put_relation
from gpudb.session.objects.stored_expressions import deparse_expression
from gpudb.session.results import Result
from gpudb.sql.bind.dml.checks import qualify_expression
from gpudb.sql.bind.policies import bind_policy_condition
from gpudb.sql.bound import Column
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import inner, present, strings

_COMMANDS = {"all": ALL, "select": SELECT, "insert": INSERT, "update": UPDATE, "delete": DELETE}


def create_policy(context: Context) -> Result:
    """CREATE POLICY name ON table …; 42710, 42601, 42809."""
    node: Any = context.statement.node
    context.check_writable("CREATE POLICY")
    command = _COMMANDS[node.cmd_name]
    if command in (SELECT, DELETE) and present(node.with_check):
        raise SqlError.of("syntax_error", "WITH CHECK cannot be applied to SELECT or DELETE")
    if command == INSERT and present(node.qual):
        raise SqlError.of("syntax_error", "only WITH CHECK expression allowed for INSERT")
    roles = _read_roles(context, node.roles)
    table = _find_table(context, node.table)
    using, check = (_read_condition(context, table, each) for each in (node.qual, node.with_check))
    name = truncate_identifier(node.policy_name)
    if any(each.name == name for each in table.policies):
        raise SqlError.of("duplicate_object", f'policy "{name}" for table "{table.name}" already exists')
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    policy = Policy(oid, name, command, node.permissive, roles, using, check)
    put_relation(context, replace(table, policies=(*table.policies, policy)))
    return Result("CREATE POLICY")


def alter_policy(context: Context) -> Result:
    """ALTER POLICY name ON table [TO …] [USING …] [WITH CHECK …]; 42704, 42601."""
    node: Any = context.statement.node
    context.check_writable("ALTER POLICY")
    roles = _read_roles(context, node.roles) if len(node.roles) else None
    table = _find_table(context, node.table)
    old = find_policy(table, node.policy_name)
    using, check = (_read_condition(context, table, each) for each in (node.qual, node.with_check))
    if old.command in (SELECT, DELETE) and check is not None:
        raise SqlError.of("syntax_error", "only USING expression allowed for SELECT, DELETE")
    if old.command == INSERT and using is not None:
        raise SqlError.of("syntax_error", "only WITH CHECK expression allowed for INSERT")
    altered = replace(old, roles=old.roles if roles is None else roles)
    _replace(context, table, old, replace(altered, using=using or old.using, check=check or old.check))
    return Result("ALTER POLICY")


def rename_policy(context: Context, node: Any, new: str) -> Result:
    """ALTER POLICY name ON table RENAME TO new; 42704, 42710."""
    table = _find_table(context, node.relation)
    if any(each.name == new for each in table.policies):
        raise SqlError.of("duplicate_object", f'policy "{new}" for table "{table.name}" already exists')
    old = find_policy(table, node.subname)
    _replace(context, table, old, replace(old, name=new))
    return Result("ALTER POLICY")


def drop_policies(context: Context, node: Any) -> Result:
    """DROP POLICY [IF EXISTS] name ON table."""
    for each in node.objects:
        *path, name = strings(inner(each).items)
        table = _find_named(context, tuple(path), missing_ok=node.missing_ok)
        if table is None:
            continue
        if node.missing_ok and all(policy.name != name for policy in _list_policies(table)):
            context.notice(f'policy "{name}" for relation "{table.name}" does not exist, skipping')
            continue
        found = find_policy(table, name)
        assert isinstance(table, Table)
        lock_table(context, table)
        table = _read(context, table)
        put_relation(context, replace(table, policies=tuple(p for p in table.policies if p.oid != found.oid)))
    return Result("DROP POLICY")


def comment_on_policy(context: Context, names: tuple[str, ...], text: str | None) -> Result:
    """COMMENT ON POLICY name ON table."""
    table = _find_named(context, names[:-1], missing_ok=False)
    assert table is not None
    found = find_policy(table, names[-1])
    assert isinstance(table, Table)
    _replace(context, table, found, replace(found, comment=text))
    return Result("COMMENT")


_SWITCHES: dict[str, dict[str, Any]] = {
    "EnableRowSecurity": {"row_security": True},
    "DisableRowSecurity": {"row_security": False},
    "ForceRowSecurity": {"forces_row_security": True},
    "NoForceRowSecurity": {"forces_row_security": False},
}
SWITCHING = frozenset(_SWITCHES)
"""The actions of ALTER TABLE that switch row level security on and off."""
_SPOKEN = {
    "EnableRowSecurity": "ENABLE ROW SECURITY",
    "DisableRowSecurity": "DISABLE ROW SECURITY",
    "ForceRowSecurity": "FORCE ROW SECURITY",
    "NoForceRowSecurity": "NO FORCE ROW SECURITY",
}
_PLURALS = {"v": "views", "m": "materialized views", "f": "foreign tables", "S": "sequences"}


def switch_row_security(context: Context, relation: Relation, action: str) -> None:
    """[NO] FORCE, ENABLE or DISABLE ROW LEVEL SECURITY; 42809 for what is no table."""
    if not isinstance(relation, Table) or relation.kind not in ("r", "p"):
        message = f'ALTER action {_SPOKEN[action]} cannot be performed on relation "{relation.name}"'
        detail = f"This operation is not supported for {_PLURALS[relation.kind]}."
        raise SqlError.of("wrong_object_type", message, detail=detail)
    lock_table(context, relation)
    put_relation(context, replace(_read(context, relation), **_SWITCHES[action]))


# ---- parts


def _find_table(context: Context, node: Any) -> Table:
    """The table of a policy, which the current role owns; 42P01, 42501, 42809."""
    if node.schemaname:
        context.session.check_schema(node.schemaname)
    relation = resolve_range(context, node)
    if relation is None:
        check_not_system(context, node.schemaname, node.relname)
        raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
    check_owner(context.transaction.catalog, get_current_role(context), relation)
    if not isinstance(relation, Table) or relation.kind not in ("r", "p"):
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
    lock_table(context, relation)
    return _read(context, relation)


def _find_named(context: Context, path: tuple[str, ...], *, missing_ok: bool) -> Relation | None:
    found = context.transaction.catalog.find(path[-1], schema_path(context, "".join(path[-2:-1])))
    if found is None:
        message = f'relation "{".".join(path)}" does not exist'
        if not missing_ok:
            raise UndefinedTable(message)
        context.notice(f"{message}, skipping")
        return None
    check_owner(context.transaction.catalog, get_current_role(context), found, "relation")
    return found


def _read(context: Context, table: Table) -> Table:
    """A table as the catalog has it: a partitioned one without files."""
    found = context.transaction.catalog.find_relation_by_oid(table.oid)
    assert isinstance(found, Table)
    return found


def _list_policies(relation: Relation) -> tuple[Policy, ...]:
    return relation.policies if isinstance(relation, Table) else ()


def find_policy(relation: Relation, name: str) -> Policy:
    """The policy of a relation; 42704."""
    for each in _list_policies(relation):
        if each.name == name:
            return each
    raise SqlError.of("undefined_object", f'policy "{name}" for table "{relation.name}" does not exist')


def _replace(context: Context, table: Table, old: Policy, new: Policy) -> None:
    table = _read(context, table)
    policies = tuple(new if each.oid == old.oid else each for each in table.policies)
    put_relation(context, replace(table, policies=policies))


def _read_roles(context: Context, nodes: Any) -> tuple[int, ...]:
    """The OIDs of roles; PUBLIC alone if it is among them."""
    specs = [inner(each) for each in nodes]
    if any(spec.roletype == pg.ROLESPEC_PUBLIC for spec in specs):
        if len(specs) > 1:
            hint = "All roles are members of the PUBLIC role."
            message = "ignoring specified roles other than PUBLIC"
            context.notice(message, severity="WARNING", sqlstate="22023", hint=hint)
        return (PUBLIC,)
    catalog = context.transaction.catalog
    return tuple(dict.fromkeys(resolve_role(context.session, catalog, spec).oid for spec in specs)) or (PUBLIC,)


def _read_condition(context: Context, table: Table, node: Any) -> str | None:
    """A condition as SQL text that means the same under any search path; None without one."""
    if not present(node):
        return None
    binder = context.binder()
    binder.expansions = Expansions()
    rel = binder.new_rel()
    columns = [Column(rel, place, each.type, each.name) for place, each in enumerate(table.columns)]
    bind_policy_condition(binder, table, node, columns)
    if binder.parameters:
        raise SqlError.of("undefined_parameter", "there is no parameter $1")
    return deparse_expression(qualify_expression(binder, node))
