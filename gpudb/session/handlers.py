"""Statement handlers by kind of statement, of which most processes need few: `dispatch` imports them when asked."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.session.context import Context, Handler
from gpudb.session.copy.copy_statement import copy
from gpudb.session.cursors import statements as cursors
from gpudb.session.ddl import policies, sequences, triggers
from gpudb.session.ddl.databases import databases, extensions, initial_settings, schemas
from gpudb.session.ddl.foreign_data import foreign_objects
from gpudb.session.ddl.foreign_data.register_table import call_procedure
from gpudb.session.ddl.generic import comments, composite_attributes, drop, owned_objects, rename
from gpudb.session.ddl.indexes import indexes
from gpudb.session.ddl.privileges import default_privileges, grant
from gpudb.session.ddl.privileges.default_privileges import apply_default_privileges
from gpudb.session.ddl.roles import role_grants, roles
from gpudb.session.ddl.tables import create_table, foreign_tables
from gpudb.session.ddl.types import domains, types
from gpudb.session.ddl.views import materialized_views, views
from gpudb.session.dml import changes, set_constraints, truncate
from gpudb.session.ownership.checks import CHECKS, authorize_definition
from gpudb.session.results import Result
from gpudb.session.routines import aggregates, alter_drop, create_routine
from gpudb.session.statements import (
    alter_system,
    analyze,
    checkpoint,
    explain,
    maintenance,
    models,
    nodes,
    notify,
    prepared,
    query,
    resource_groups,
    set_show,
    transactions,
)

_HANDLERS: Mapping[str, Handler] = {
    "AlterDatabaseRefreshCollStmt": databases.refresh_collation_version,
    "AlterDatabaseSetStmt": initial_settings.alter_database_set,
    "AlterDatabaseStmt": databases.alter_database,
    "AlterDefaultPrivilegesStmt": default_privileges.alter_default_privileges,
    "AlterDomainStmt": domains.alter_domain,
    "AlterEnumStmt": types.alter_enum,
    "AlterExtensionStmt": extensions.alter_extension,
    "AlterFdwStmt": foreign_objects.alter_wrapper,
    "AlterForeignServerStmt": foreign_objects.alter_server,
    "AlterFunctionStmt": alter_drop.alter_routine,
    "AlterObjectSchemaStmt": rename.set_schema,
    "AlterOwnerStmt": schemas.change_owner,
    "AlterPolicyStmt": policies.alter_policy,
    "AlterRoleSetStmt": initial_settings.alter_role_set,
    "AlterRoleStmt": roles.alter_role,
    "AlterSeqStmt": sequences.alter_sequence,
    "AlterSystemStmt": alter_system.alter_system,
    "AlterTableStmt": composite_attributes.alter_table_or_type,
    "AlterUserMappingStmt": foreign_objects.alter_user_mapping,
    "CallStmt": call_procedure,
    "CheckPointStmt": checkpoint.checkpoint,
    "ClosePortalStmt": cursors.close,
    "ClusterStmt": maintenance.cluster,
    "CommentStmt": comments.comment,
    "CompositeTypeStmt": types.create_composite,
    "ConstraintsSetStmt": set_constraints.set_constraints,
    "CopyStmt": copy,
    "CreateDomainStmt": domains.create_domain,
    "CreateEnumStmt": types.create_enum,
    "CreateExtensionStmt": extensions.create_extension,
    "CreateFdwStmt": foreign_objects.create_wrapper,
    "CreateForeignServerStmt": foreign_objects.create_server,
    "CreateForeignTableStmt": foreign_tables.create_foreign_table,
    "CreateFunctionStmt": create_routine.create_routine,
    "CreateRoleStmt": roles.create_role,
    "CreatePolicyStmt": policies.create_policy,
    "CreateSchemaStmt": schemas.create_schema,
    "CreateSeqStmt": sequences.create_sequence,
    "CreateStmt": create_table.create_table,
    "CreateTableAsStmt": prepared.create_table_as,
    "CreateTrigStmt": triggers.create_trigger,
    "CreateUserMappingStmt": foreign_objects.create_user_mapping,
    "CreatedbStmt": databases.create_database,
    "DeallocateStmt": prepared.deallocate,
    "DeclareCursorStmt": cursors.declare,
    "DefineStmt": aggregates.define,
    "DeleteStmt": changes.update_delete_or_merge,
    "DiscardStmt": set_show.discard,
    "DoStmt": create_routine.do,
    "DropOwnedStmt": owned_objects.drop_owned,
    "DropRoleStmt": roles.drop_role,
    "DropStmt": drop.drop,
    "DropUserMappingStmt": foreign_objects.drop_user_mapping,
    "DropdbStmt": databases.drop_database,
    "ExecuteStmt": prepared.execute,
    "ExplainStmt": explain.explain,
    "FetchStmt": cursors.fetch,
    "GrantRoleStmt": role_grants.grant_or_revoke_role,
    "GrantStmt": grant.grant,
    "ImportForeignSchemaStmt": foreign_tables.import_foreign_schema,
    "IndexStmt": indexes.create_index,
    "InsertStmt": changes.insert,
    "ListenStmt": notify.listen,
    "LockStmt": transactions.lock,
    "MergeStmt": changes.update_delete_or_merge,
    "ModelStmt": models.change_model,
    "NodeStmt": nodes.change_node,
    "NotifyStmt": notify.notify,
    "PrepareStmt": prepared.prepare,
    "ReassignOwnedStmt": owned_objects.reassign_owned,
    "RefreshMatViewStmt": materialized_views.refresh,
    "ReindexStmt": maintenance.reindex,
    "RenameStmt": rename.rename,
    "ResourceGroupStmt": resource_groups.change_resource_group,
    "SelectStmt": query.select,
    "TransactionStmt": transactions.transaction,
    "TruncateStmt": truncate.truncate,
    "UnlistenStmt": notify.unlisten,
    "UpdateStmt": changes.update_delete_or_merge,
    "VacuumStmt": analyze.vacuum,
    "VariableSetStmt": set_show.set_variable,
    "VariableShowStmt": set_show.show,
    "ViewStmt": views.create_view,
}
"""Handlers by the parse tree's name for a kind of statement, without the checks of `ownership`."""


def _authorized(handler: Handler) -> Handler:
    """The handler of a definition, which only runs if the current role may define it; 42501.

    What it creates gets the privileges that the role's defaults demand.
    """

    def run(context: Context) -> Result:
        authorize_definition(context)
        before = context.transaction.catalog
        result = handler(context)
        apply_default_privileges(context, before)
        return result

    return run


HANDLERS: Mapping[str, Handler] = {
    kind: _authorized(handler) if kind in CHECKS else handler for kind, handler in _HANDLERS.items()
}
"""Handlers by the parse tree's name for a kind of statement."""
