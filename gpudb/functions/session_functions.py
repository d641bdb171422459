"""Functions that the session evaluates from its state; each is declared under the session's key for it.

A key's value is a value of the function's type, or a callable of the call's constant arguments (MISSING for others).
"""

from __future__ import annotations

from gpudb.functions.let_binding import render_error
from gpudb.functions.registry import Operands, declare

for _name in (
    "now transaction_timestamp statement_timestamp clock_timestamp timeofday current_user session_user current_schema"
    " current_schemas current_database version set_config pg_backend_pid inet_client_addr"
    " inet_client_port inet_server_addr inet_server_port pg_postmaster_start_time pg_conf_load_time"
    " txid_current pg_current_xact_id pg_is_in_recovery pg_my_temp_schema current_query pg_trigger_depth"
    " pg_current_logfile pg_client_encoding system_user pg_reload_conf pg_sleep pg_sleep_for pg_sleep_until"
    " pg_stat_reset pg_stat_reset_shared pg_stat_reset_single_table_counters"
    # carried out around the engine: `gpudb.session.execution.session_calls`
    " nextval currval lastval setval pg_cancel_backend pg_terminate_backend pg_stat_statements_reset"
    " pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared"
    " pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared"
    " pg_advisory_unlock pg_advisory_unlock_shared pg_advisory_unlock_all pg_notify pg_export_snapshot"
    " lo_close lo_creat lo_create lo_export lo_from_bytea lo_get lo_import lo_lseek lo_lseek64 lo_open lo_put lo_tell"
    " lo_tell64 lo_truncate lo_truncate64 lo_unlink loread lowrite"
).split():
    declare(_name, session=_name)

declare("pg_is_wal_replay_paused", lambda o: render_error("55000", "'recovery is not in progress'", "BOOLEAN"))
# There is no recovery whose progress they could show.
declare("pg_last_wal_receive_lsn pg_last_wal_replay_lsn", "CAST(NULL AS VARCHAR)")
declare("pg_last_xact_replay_timestamp", "CAST(NULL AS TIMESTAMP)")


# For a column, settings are looked up one by one among those that are shown.
def _render_current_setting(operands: Operands) -> str:
    name, *missing_ok = operands.sql
    value = "first(sys_setting(s.setting, s.unit))"
    setting = f'(SELECT {value} FROM "fn pg_show_all_settings" AS s WHERE lower(s.name) = lower({name}))'
    unknown = render_error("42704", f"'unrecognized configuration parameter \"' || {name} || '\"'", "VARCHAR")
    is_required = f"{name} IS NOT NULL" + "".join(f" AND NOT {flag}" for flag in missing_ok)
    return f"coalesce({setting}, CASE WHEN {is_required} THEN {unknown} END)"


declare("current_setting", _render_current_setting, session="current_setting")
