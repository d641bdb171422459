"""Functions that describe objects: names, types, visibility, definitions, comments, sizes, privileges.

They read pg_catalog's relations through the macros of `gpudb.catalog.postgres`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudb.functions.registry import MISSING, Operands, declare

_REGCLASS = re.compile(r'pg_regclass_name\(([\w."]+)\)')


def _make_macro_call(name: str, count: int | None = None) -> str:
    return f"{name}({', '.join(f'{{{index}}}' for index in range(1 if count is None else count))})"


# ---------------------------------------------------------------------------------------------- names

declare("pg_get_userbyid", _make_macro_call("sys_userbyid"))


def _render_format_type(operands: Operands) -> str:
    if operands.constants[1] is None:
        return f"sys_plain_type({operands.sql[0]})"
    return f"sys_type_name({operands.sql[0]}, {operands.sql[1]})"


declare("format_type", _render_format_type)
declare("pg_encoding_to_char", _make_macro_call("sys_encoding"))
declare("pg_identify_object", _make_macro_call("sys_identify", 3))
declare("to_regclass", _make_macro_call("sys_find_class"))
declare("to_regtype", _make_macro_call("sys_find_type"))
declare("to_regproc", _make_macro_call("sys_find_proc"))
declare("to_regprocedure", _make_macro_call("sys_find_procedure"))
declare("to_regnamespace", _make_macro_call("sys_find_namespace"))
declare("to_regrole", _make_macro_call("sys_find_role"))
declare("to_regcollation", _make_macro_call("sys_find_collation"))

for _what, _macro_name in {
    "table": "table", "type": "type", "function": "function", "operator": "operator", "opclass": "opclass",
    "opfamily": "opfamily", "collation": "collation", "conversion": "conversion", "ts_config": "ts_config",
    "ts_dict": "ts_dict", "ts_parser": "ts_parser", "ts_template": "ts_template",
}.items():  # fmt: skip
    declare(f"pg_{_what}_is_visible", _make_macro_call(f"sys_{_macro_name}_visible"))
# There are no extended statistics objects.
declare("pg_statistics_obj_is_visible", "CAST(NULL AS BOOLEAN)")

# ---------------------------------------------------------------------------------------------- definitions

# An expression is stored as its displayed text, except that sequences are named by OID.
declare("pg_get_expr(pg_node_tree,oid)", _make_macro_call("sys_expression"))


def _render_expression(operands: Operands) -> str:
    """Pretty-printing omits the parentheses of an operation."""
    if operands.constants[2] is not True:
        return f"sys_expression({operands.sql[0]})"
    return f"regexp_replace(sys_expression({operands.sql[0]}), '^\\((.*)\\)$', '\\1', 's')"


declare("pg_get_expr(pg_node_tree,oid,bool)", _render_expression)
declare("pg_get_constraintdef(oid)", "sys_constraint({0})")


def _render_constraint(operands: Operands) -> str:
    constraint, pretty = operands.sql
    if isinstance(operands.constants[1], bool):
        return f"sys_pretty_constraint({constraint})" if operands.constants[1] else f"sys_constraint({constraint})"
    return f"(CASE WHEN {pretty} THEN sys_pretty_constraint({constraint}) ELSE sys_constraint({constraint}) END)"


declare("pg_get_constraintdef(oid,bool)", _render_constraint)
declare("pg_get_indexdef(oid)", _make_macro_call("sys_index"))


def _render_index_definition(operands: Operands) -> str:
    index, number, pretty = operands.sql
    definition = f"(CASE WHEN {pretty} THEN sys_pretty_index({index}) ELSE sys_index({index}) END)"
    if isinstance(operands.constants[2], bool):
        definition = f"sys_pretty_index({index})" if operands.constants[2] else f"sys_index({index})"
    if operands.constants[1] == 0:
        return definition
    return f"(CASE WHEN {number} = 0 THEN {definition} ELSE sys_index_column({index}, {number}, {pretty}) END)"


declare("pg_get_indexdef(oid,int4,bool)", _render_index_definition)
declare("pg_get_viewdef(oid) pg_get_viewdef(oid,bool) pg_get_viewdef(oid,int4)", _make_macro_call("sys_view"))
declare("pg_get_viewdef(text) pg_get_viewdef(text,bool)", "sys_view(pg_to_regrelation({0}))")
declare("pg_get_function_result", _make_macro_call("sys_function_result"))
declare("pg_get_function_arguments", _make_macro_call("sys_function_arguments"))
declare("pg_get_functiondef", _make_macro_call("sys_function_definition"))
declare("pg_get_function_identity_arguments", _make_macro_call("sys_function_identity"))


def _render_serial_sequence(operands: Operands) -> str:
    """Returns the OID from which a table's name was computed: looking the name up again is slow to plan."""
    table, column = operands.sql
    named = _REGCLASS.fullmatch(table)
    return f"sys_sequence_of({named[1]}, {table}, {column})" if named else f"sys_serial_sequence({table}, {column})"


declare("pg_get_serial_sequence", _render_serial_sequence)
declare("pg_get_triggerdef(oid)", "sys_trigger({0})")
declare("pg_get_triggerdef(oid,bool)", "(CASE WHEN {1} THEN sys_pretty_trigger({0}) ELSE sys_trigger({0}) END)")
# gpudb has no rules, extended statistics or functions in other languages.
declare("pg_get_partkeydef", _make_macro_call("sys_partition_key"))
declare("pg_get_partition_constraintdef", _make_macro_call("sys_partition_condition"))
declare(
    "pg_get_ruledef pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions"
    " pg_get_function_sqlbody pg_get_function_arg_default",
    "CAST(NULL AS VARCHAR)",
)
declare("pg_partition_ancestors", _make_macro_call("sys_partition_ancestors"))
declare("pg_partition_root", _make_macro_call("sys_partition_root"))
declare("pg_partition_tree", _make_macro_call("sys_partition_tree"))
declare("pg_relation_is_publishable", "({0} >= 16384)")

# ---------------------------------------------------------------------------------------------- comments


def _render_description(operands: Operands, macro: str) -> str:
    """Returns the class by name; a known one is inserted as its OID."""
    text = operands.constants[1]
    known = _CLASSES.get(text) if isinstance(text, str) else None
    return f"{macro}({operands.sql[0]}, {known if known is not None else f'sys_class({operands.sql[1]})'})"


_CLASSES = {
    "pg_class": 1259, "pg_type": 1247, "pg_namespace": 2615, "pg_constraint": 2606, "pg_proc": 1255,
    "pg_database": 1262, "pg_largeobject": 2613,
    "pg_operator": 2617, "pg_am": 2601, "pg_collation": 3456, "pg_cast": 2605, "pg_authid": 1260, "pg_language": 2612,
    "pg_tablespace": 1213, "pg_trigger": 2620, "pg_policy": 3256, "pg_rewrite": 2618, "pg_extension": 3079,
}  # fmt: skip
declare("obj_description(oid,name)", lambda o: _render_description(o, "sys_description"))
declare("obj_description(oid)", _make_macro_call("sys_any_description"))
declare("shobj_description", lambda o: _render_description(o, "sys_shared_description"))
declare("col_description", _make_macro_call("sys_column_description", 2))

# ---------------------------------------------------------------------------------------------- sizes

declare("pg_relation_size(regclass) pg_table_size pg_total_relation_size", _make_macro_call("sys_bytes"))
declare("pg_relation_size(regclass,text)", "(CASE WHEN {1} = 'main' THEN sys_bytes({0}) ELSE 0 END)")
declare("pg_indexes_size", "(CASE WHEN {0} IS NOT NULL THEN 0::BIGINT END)")
declare("pg_database_size pg_tablespace_size", "(CASE WHEN {0} IS NOT NULL THEN sys_all_bytes() END)")
declare("pg_size_pretty(int8)", _make_macro_call("sys_size_pretty"))
declare("pg_size_pretty(numeric)", "sys_size_pretty(round({0}))")
declare("pg_tablespace_location", "(CASE WHEN {0} IS NOT NULL THEN '' END)")
declare("pg_relation_filenode", "{0}")
declare("pg_relation_filepath", "CAST(NULL AS VARCHAR)")

# ---------------------------------------------------------------------------------------------- privileges


def _render_privilege_test(operands: Operands) -> str:
    """Every role may use what has no access control list in gpudb. NULL operands yield NULL, as in PostgreSQL."""
    tests = [
        f"{operand} IS NOT NULL"
        for operand, value in zip(operands.sql, operands.constants, strict=True)
        if value is MISSING or value is None
    ]
    return f"(CASE WHEN {' AND '.join(tests)} THEN true END)" if tests else "true"


declare(
    "has_tablespace_privilege has_foreign_data_wrapper_privilege has_server_privilege has_parameter_privilege",
    _render_privilege_test,
)
declare("acldefault", _make_macro_call("sys_default_acl", 2))
declare("aclexplode", _make_macro_call("sys_acl_rows"))

# ---------------------------------------------------------------------------------------------- the rest

declare("pg_is_other_temp_schema", "({0} <> getvariable('pg_temp') AND {0} >= 1879048192)")
declare("pg_column_is_updatable", "sys_updatable_column({0}, {1})")
declare("pg_relation_is_updatable", "sys_updatable({0})")
declare(
    "pg_stat_get_live_tuples",
    "sys_rows({0})",
)
declare(
    "pg_char_to_encoding",
    "(CASE lower(replace({0}, '-', '')) WHEN 'utf8' THEN 6 WHEN 'unicode' THEN 6 ELSE -1 END)",
)
declare("getdatabaseencoding", "'UTF8'")
declare(
    "oidvectortypes",
    "(SELECT coalesce(string_agg(sys_plain_type(u.t), ', ' ORDER BY u.i), '')"
    " FROM (SELECT unnest({0}) AS t, generate_subscripts({0}, 1) AS i) AS u)",
)
declare("nameconcatoid", "left({0} || '_' || {1}, 63)")
declare("row_security_active(oid)", "sys_row_security({0})")
declare("row_security_active(text)", "sys_row_security(pg_to_regrelation({0}))")
declare("pg_indexam_progress_phasename", "CAST(NULL AS VARCHAR)")
declare(
    "pg_options_to_table",
    "list_transform({0}, lambda o: struct_pack(option_name := split_part(o, '=', 1), option_value :="
    " CASE WHEN contains(o, '=') THEN substr(o, strpos(o, '=') + 1) END))",
)
# The catalog's versions take the place of the transactions that wrote its rows.
declare("age(xid)", "CAST(coalesce(getvariable('pg_version'), {0}) - {0} AS INTEGER)")
declare(
    "pg_mcv_list_items",
    'CAST([] AS STRUCT("index" INTEGER, "values" VARCHAR[], nulls BOOLEAN[], frequency DOUBLE,'
    " base_frequency DOUBLE)[])",
)
declare(
    "pg_sequence_last_value",
    "(SELECT first(CASE WHEN ss.is_called AND sys_own('r', ss.oid, ['r', 'U']) THEN ss.last_value END)"
    ' FROM "fn gpudb_sequence_states" AS ss WHERE ss.oid = {0})',
)
declare(
    "pg_blocking_pids",
    'coalesce((SELECT list(w.blocker ORDER BY w.blocker) FROM "fn gpudb_lock_waits" AS w WHERE w.pid = {0}),'
    " CAST([] AS INTEGER[]))",
)
declare(
    "pg_listening_channels",
    'coalesce((SELECT list(c.pg_listening_channels) FROM "fn pg_listening_channels" AS c), CAST([] AS VARCHAR[]))',
)
declare("pg_notification_queue_usage", "CAST(0 AS DOUBLE)")
declare("pg_safe_snapshot_blocking_pids", "CAST([] AS INTEGER[])")
declare("pg_sequence_parameters", _make_macro_call("sys_sequence_parameters"))


def _declare_activity(source: str, functions: Mapping[str, str]) -> None:
    """Declares functions of an OID that return a column of a function over the server's state; 0 for another OID."""
    for name, column in functions.items():
        found = f'(SELECT first(a.{column}) FROM "fn {source}" AS a WHERE a.oid = {{0}})'
        declare(name, found if column == "stat_reset_time" else f"coalesce({found}, CAST(0 AS {{t}}))")


_declare_activity(
    "gpudb_table_activity",
    {f"pg_stat_get_tuples_{each}": each for each in ("inserted", "updated", "deleted")},
)
_declare_activity(
    "gpudb_database_activity",
    {
        f"pg_stat_get_db_{each}": each
        for each in (
            *("numbackends", "xact_commit", "xact_rollback", "sessions", "active_time", "stat_reset_time"),
            *("tuples_inserted", "tuples_updated", "tuples_deleted"),
        )
    },
)
# What is not counted has the values of a server that has just started.
declare(
    """pg_stat_get_numscans pg_stat_get_tuples_returned pg_stat_get_tuples_fetched
    pg_stat_get_tuples_hot_updated
    pg_stat_get_tuples_newpage_updated pg_stat_get_dead_tuples pg_stat_get_mod_since_analyze
    pg_stat_get_ins_since_vacuum pg_stat_get_blocks_fetched pg_stat_get_blocks_hit pg_stat_get_vacuum_count
    pg_stat_get_autovacuum_count pg_stat_get_analyze_count pg_stat_get_autoanalyze_count
    pg_stat_get_xact_numscans pg_stat_get_xact_tuples_returned pg_stat_get_xact_tuples_fetched
    pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_updated pg_stat_get_xact_tuples_deleted
    pg_stat_get_xact_tuples_hot_updated pg_stat_get_xact_tuples_newpage_updated
    pg_stat_get_db_blocks_fetched pg_stat_get_db_blocks_hit pg_stat_get_db_tuples_returned
    pg_stat_get_db_tuples_fetched
    pg_stat_get_db_conflict_all pg_stat_get_db_temp_files
    pg_stat_get_db_temp_bytes pg_stat_get_db_deadlocks
    pg_stat_get_db_sessions_abandoned pg_stat_get_db_sessions_fatal pg_stat_get_db_sessions_killed
    pg_stat_get_db_conflict_tablespace pg_stat_get_db_conflict_lock pg_stat_get_db_conflict_snapshot
    pg_stat_get_db_conflict_bufferpin pg_stat_get_db_conflict_startup_deadlock
    pg_stat_get_db_conflict_logicalslot pg_stat_get_function_calls pg_stat_get_xact_function_calls
    pg_stat_get_bgwriter_timed_checkpoints pg_stat_get_bgwriter_requested_checkpoints
    pg_stat_get_bgwriter_buf_written_checkpoints pg_stat_get_bgwriter_buf_written_clean
    pg_stat_get_bgwriter_maxwritten_clean pg_stat_get_buf_written_backend pg_stat_get_buf_fsync_backend
    pg_stat_get_buf_alloc""",
    "CAST(0 AS {t})",
)
declare(
    """pg_stat_get_db_blk_read_time pg_stat_get_db_blk_write_time pg_stat_get_db_session_time
    pg_stat_get_db_idle_in_transaction_time pg_stat_get_checkpoint_write_time
    pg_stat_get_checkpoint_sync_time pg_stat_get_function_total_time pg_stat_get_function_self_time
    pg_stat_get_xact_function_total_time pg_stat_get_xact_function_self_time""",
    "CAST(0 AS {t})",
)
declare(
    """pg_stat_get_lastscan pg_stat_get_last_vacuum_time pg_stat_get_last_autovacuum_time
    pg_stat_get_last_analyze_time pg_stat_get_last_autoanalyze_time
    pg_stat_get_db_checksum_failures
    pg_stat_get_db_checksum_last_failure""",
    "CAST(NULL AS {t})",
)

declare("pg_stat_get_bgwriter_stat_reset_time", session="bgwriter_reset")

# ---------------------------------------------------------------------------------------------- information_schema

declare("_pg_char_max_length", _make_macro_call("sys_char_length", 2))
declare("_pg_char_octet_length", _make_macro_call("sys_octet_length", 2))
declare("_pg_numeric_precision", _make_macro_call("sys_numeric_precision", 2))
declare("_pg_numeric_precision_radix", _make_macro_call("sys_numeric_radix"))
declare("_pg_numeric_scale", _make_macro_call("sys_numeric_scale", 2))
declare("_pg_datetime_precision", _make_macro_call("sys_datetime_precision", 2))
declare("_pg_interval_type", _make_macro_call("sys_interval_fields", 2))
declare("_pg_expandarray", _make_macro_call("sys_expand"))
declare(
    "_pg_index_position",
    "(SELECT list_position(p.indkey, {1}) FROM pg_index AS p WHERE p.indexrelid = {0})",
)
