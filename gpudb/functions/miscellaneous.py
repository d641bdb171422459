"""Functions without a topic: counts of NULLs, types of values, uuids, human-readable sizes."""

from __future__ import annotations

from gpudb.functions.registry import MISSING, Operands, declare


def _make_null_count(test: str) -> object:
    return lambda operands: "(" + " + ".join(f"CAST({operand} {test} AS INTEGER)" for operand in operands.sql) + ")"


declare("num_nulls", _make_null_count("IS NULL"))  # type: ignore[arg-type]
declare("num_nonnulls", _make_null_count("IS NOT NULL"))  # type: ignore[arg-type]
declare("gen_random_uuid", "uuid()")
declare("pg_size_bytes", "pg_size_bytes({0})")


def _render_typeof(operands: Operands) -> str:
    """Evaluates the operand although its type is known, since it may raise an error."""
    oid = f"CAST({operands.types[0].declared_oid} AS BIGINT)"
    if operands.constants[0] is not MISSING:
        return oid
    return f"(CASE WHEN {operands.sql[0]} IS NULL THEN {oid} ELSE {oid} END)"


declare("pg_typeof", _render_typeof)
