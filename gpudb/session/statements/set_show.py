"""SET, RESET, SHOW and DISCARD."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported
from gpudb.session.authorization.session_role import ROLE_SETTINGS, change_role_setting, set_session_authorization
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import close_all
from gpudb.session.ddl.tables.temporary_tables import drop_relations
from gpudb.session.execution.locks_and_snapshots.advisory_locks import unlock_all
from gpudb.session.execution.locks_and_snapshots.shared_snapshots import import_snapshot
from gpudb.session.results import Result, ResultColumn, text_result
from gpudb.session.settings.catalog import find_setting
from gpudb.session.settings.constants import constant_text, read_value
from gpudb.session.state.sequence_cache import SequenceCache
from gpudb.session.statements.transactions import apply_modes, warn_of_serializable
from gpudb.sql.parse.parser import inner
from gpudb.types import TEXT

_ISOLATION = ("transaction_isolation", "default_transaction_isolation")


def set_variable(context: Context) -> Result:
    """SET, SET LOCAL, SET TRANSACTION, RESET."""
    node: Any = context.statement.node
    settings = context.session.settings
    how = pg.VariableSetKind.Name(node.kind)
    if how == "VAR_RESET_ALL":
        settings.reset_all()
        return Result("RESET")
    if how == "VAR_SET_MULTI":
        if node.name == "TRANSACTION":
            if not context.session.transactions.explicit and not context.level:
                message = "SET TRANSACTION can only be used in transaction blocks"
                context.notice(message, severity="WARNING", sqlstate="25P01")
            apply_modes(context, node.args)
        elif node.name == "SESSION CHARACTERISTICS":
            _set_characteristics(context, node.args)
        elif node.name == "TRANSACTION SNAPSHOT":
            import_snapshot(context, constant_text(node.args[0], node.name))
        else:
            raise FeatureNotSupported(f"SET {node.name} is not supported")
        return Result("SET")
    in_block = context.session.transactions.explicit or context.level > 0
    if node.is_local and not in_block and how == "VAR_SET_VALUE":
        context.notice("SET LOCAL can only be used in transaction blocks", severity="WARNING", sqlstate="25P01")
    if node.name in ROLE_SETTINGS:
        name = constant_text(node.args[0], node.name) if len(node.args) else None
        change_role_setting(context.session, context.transaction.catalog, node.name, name, local=node.is_local)
        return Result("RESET" if how == "VAR_RESET" else "SET")
    if how in {"VAR_RESET", "VAR_SET_DEFAULT"}:
        settings.set(node.name, None, local=node.is_local)
        return Result("RESET" if how == "VAR_RESET" else "SET")
    if how == "VAR_SET_CURRENT":
        settings.set(node.name, settings[node.name], local=node.is_local)
        return Result("SET")
    value = read_value(node.args, node.name)
    if node.name in _ISOLATION:
        warn_of_serializable(context, value.lower())
    settings.set(node.name, value, local=node.is_local)
    return Result("SET")


def _set_characteristics(context: Context, options: Any) -> None:
    for each in options:
        option = inner(each)
        constant = inner(option.arg)
        if option.defname == "transaction_isolation":
            level = constant.sval.sval
            warn_of_serializable(context, level)
            context.session.settings.set("default_transaction_isolation", level)
        elif option.defname == "transaction_read_only":
            value = "on" if constant.ival.ival else "off"
            context.session.settings.set("default_transaction_read_only", value)
        elif option.defname == "transaction_deferrable":
            value = "on" if constant.ival.ival else "off"
            context.session.settings.set("default_transaction_deferrable", value)


def show_columns(name: str) -> tuple[ResultColumn, ...]:
    """The result columns of SHOW."""
    if name == "all":
        return tuple(ResultColumn(each, TEXT) for each in ("name", "setting", "description"))
    return (ResultColumn(find_setting(name).name if "." not in name else name, TEXT),)


def show(context: Context) -> Result:
    """SHOW name and SHOW ALL."""
    node: Any = context.statement.node
    settings = context.session.settings
    columns = show_columns(node.name)
    names = tuple(column.name for column in columns)
    if node.name == "all":
        return text_result("SHOW", names, [tuple(row) for row in settings.show_all()])
    return text_result("SHOW", names, [(settings[node.name],)])


def discard(context: Context) -> Result:
    """DISCARD ALL, PLANS, TEMP, SEQUENCES."""
    node: Any = context.statement.node
    what = pg.DiscardMode.Name(node.target).removeprefix("DISCARD_")
    if what == "ALL":
        context.check_no_block("DISCARD ALL")
        close_all(context.session)
        set_session_authorization(context.session, context.transaction.catalog, None)
        context.session.settings.reset_all()
        context.session.prepared.clear()
        unlock_all(context.session)
        context.session.mailbox.unlisten(None)
    if what in {"ALL", "TEMP"}:
        drop_relations(context)
    if what in {"ALL", "SEQUENCES"}:
        context.session.sequences = SequenceCache()
    return Result(f"DISCARD {what}")
