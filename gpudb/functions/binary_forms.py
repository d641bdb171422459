"""Values in the binary form in which the protocol sends them: int8send and its like."""

from __future__ import annotations

from gpudb.functions.registry import declare

declare("boolsend", "CASE {0} WHEN true THEN '\\x01'::BLOB WHEN false THEN '\\x00'::BLOB END")
declare("textsend varcharsend bpcharsend namesend json_send", "encode({0})")
declare("jsonb_send", "('\\x01'::BLOB || encode({0}))")
declare("byteasend", "{0}")
declare("uuid_send", "unhex(replace(CAST({0} AS VARCHAR), '-', ''))")
for _function, _type in (
    ("int2send", "int2"),
    ("int4send", "int4"),
    ("int8send", "int8"),
    ("oidsend", "oid"),
    ("float4send", "float4"),
    ("float8send", "float8"),
    ("date_send", "date"),
    ("time_send", "time"),
    ("timestamp_send", "timestamp"),
    ("timestamptz_send", "timestamptz"),
    ("interval_send", "interval"),
):
    declare(_function, f"pg_send_{_type}({{0}})")
