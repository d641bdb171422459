"""Order of the test files in a run of several processes: the longest first, so that all processes end together.

`SECONDS` holds measured times of files that take five or more; an outdated entry only makes the run a little longer.
"""

from __future__ import annotations

import pytest

SECONDS = {
    "fuzz/test_sql.py": 113,
    "engine/gpu/test_case_files.py": 94,
    "differential/test_extended.py": 77,
    "differential/test_differential.py": 73,
    "functions/test_manual.py": 54,
    "differential/test_cases.py": 52,
    "engine/gpu/cluster/test_faults.py": 42,
    "engine/gpu/fused/test_codegen.py": 40,
    "storage/test_types.py": 39,
    "differential/test_benchmarks.py": 35,
    "crash/test_server.py": 31,
    "cli/test_serve.py": 29,
    "engine/gpu/test_random_plans.py": 29,
    "engine/gpu/test_random_exact.py": 27,
    "engine/gpu/test_distribution.py": 25,
    "fuzz/test_files.py": 24,
    "storage/test_crash.py": 21,
    "differential/generated/test_generated.py": 20,
    "engine/gpu/fastpath/test_two_phase.py": 19,
    "benchmarks/test_beside.py": 17,
    "benchmarks/test_tpcds.py": 17,
    "engine/gpu/fused/test_plan_shapes.py": 17,
    "demo/test_demo.py": 16,
    "engine/gpu/fused/test_corpus.py": 13,
    "engine/gpu/test_benchmarks.py": 13,
    "engine/gpu/cluster/test_random_faults.py": 13,
    "engine/gpu/cluster/test_shutdown.py": 13,
    "engine/test_engines.py": 13,
    "session/test_many_clients.py": 13,
    "catalog/test_psql.py": 12,
    "engine/gpu/fused/test_fast_path_cluster.py": 12,
    "engine/gpu/worker/test_batching.py": 12,
    "benchmarks/test_machine.py": 11,
    "benchmarks/test_speedup.py": 11,
    "catalog/test_statements.py": 11,
    "cli/test_sql.py": 11,
    "engine/gpu/fused/test_packing.py": 10,
    "cli/test_load.py": 9,
    "engine/gpu/fused/test_benchmarks.py": 9,
    "values/test_columns.py": 9,
    "api/test_connection.py": 8,
    "api/test_values.py": 8,
    "session/test_copy_from.py": 8,
    "demo/test_taxi.py": 7,
    "engine/gpu/fused/test_raw_text.py": 7,
    "engine/gpu/cluster/test_joined_workers.py": 7,
    "engine/gpu/lower/test_windows.py": 7,
    "oracle/test_compare.py": 7,
    "session/test_cancel.py": 7,
    "storage/copy/test_readers.py": 7,
    "catalog/test_relations.py": 6,
    "engine/gpu/test_engine.py": 6,
    "engine/gpu/test_random_stars.py": 6,
    "engine/gpu/exchange/test_client.py": 6,
    "session/test_copy_files.py": 6,
    "session/test_memory.py": 6,
    "storage/test_compaction.py": 6,
    "storage/test_scan.py": 6,
    "catalog/test_clients.py": 5,
    "engine/cpu/test_values_tables.py": 5,
    "engine/gpu/exchange/test_ucx_server.py": 5,
    "engine/gpu/lower/test_host_fallback.py": 5,
    "functions/test_numeric.py": 5,
    "session/test_types.py": 5,
    "sql/test_names.py": 5,
    "storage/test_transactions.py": 5,
}
"""The seconds of a file's tests with two cores, by its path below `tests`."""


def longest_first(items: list[pytest.Item]) -> None:
    """Sorts tests by the time of their files; a file's own tests stay in order."""
    items.sort(key=lambda item: -SECONDS.get(item.nodeid.partition("::")[0].removeprefix("tests/"), 0))
