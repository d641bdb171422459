"""SQLAlchemy: its own suite for dialects, over psycopg 3; a check is a class of its tests."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlalchemy==2.1.9", "psycopg[binary]==3.3.9", "pytest==9.1.0"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import psycopg
import sqlalchemy as sa
from scenario import check, note, refused, same, url, version

FEATURES = {
    "Reflection": "metadata",
    "HasTable": "metadata",
    "HasIndex": "metadata",
    "HasSequence": "metadata",
    "QuotedName": "metadata",
    "ComponentReflection": "metadata",
    "Normalized": "metadata",
    "Isolation": "transactions",
    "AutocommitIsolation": "transactions",
    "Prepared": "prepared",
    "ServerSideCursors": "prepared",
    "TableDDL": "migrations",
    "LongNameBlowout": "migrations",
    "FutureTableDDL": "migrations",
}
"""Features of classes by how their names begin; classes with Type, Numeric, Date … are types, all others queries."""
TYPES = (
    "Type",
    "Numeric",
    "Date",
    "Time",
    "Boolean",
    "Integer",
    "String",
    "Text",
    "Unicode",
    "JSON",
    "Interval",
    "Uuid",
    "Enum",
    "Binary",
    "Array",
    "Literal",
)

LACKING = """
async_dialect computed_columns_default_persisted computed_columns_virtual dbapi_lastrowid emulated_lastrowid
emulated_lastrowid_even_with_sequences fetch_percent fetch_offset_with_options foreign_keys_reflect_as_index
json_deserializer_binary legacy_unconditional_json_extract non_updating_cascade nvarchar_types two_phase_transactions
skip_autocommit_rollback materialized_views_reflect_pk datetime_timezone_historic computed_columns repeated_remote_col_foreign_keys
reflect_indexes_with_ascdesc_as_expression
""".split()

LEFT_OUT = {"test_window_range": "expect rows in the order of a window without ORDER BY"}
"""Beginnings of the names of tests that do not run, and why."""
SAMPLED = ("test_get_multi", "test_multi_get")
"""Beginnings of the names of tests of which every twentieth runs: combinations of arguments that take half an hour."""

# Chooses the tests, and ends in time: what has run is reported.
CHOOSING = """
import json
import time
from pathlib import Path

END = time.monotonic() + 780

def pytest_collection_modifyitems(config, items):
    left_out = [each for each in items if each.name.startswith(LEFT_OUT)]
    sampled = [each for each in items if each.name.startswith(SAMPLED)]
    fewer = [each for number, each in enumerate(sampled) if number % 20]
    out = set(left_out + fewer)
    counts = {"left out": len(left_out), "sampled": len(sampled), "fewer": len(fewer)}
    Path("chosen.json").write_text(json.dumps(counts | {"chosen": len(items) - len(out)}))
    config.hook.pytest_deselected(items=list(out))
    items[:] = [each for each in items if each not in out]

def pytest_runtest_teardown(item):
    if time.monotonic() > END:
        item.session.shouldstop = "out of time"
""".replace("LEFT_OUT", repr(tuple(LEFT_OUT))).replace("SAMPLED", repr(SAMPLED))

CONFTEST = """
from sqlalchemy.dialects import registry
import pytest
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
from sqlalchemy.testing.plugin.pytestplugin import *
from sqlalchemy.dialects.postgresql import provision
provision._extensions.clear()  # citext and hstore, for tests outside the suite
"""
SETUP = """
[tool:pytest]
addopts = --tb=line -p no:cacheprovider
python_files = test_*.py
[sqla_testing]
requirement_cls = requirements:Requirements
profile_file = profiles.txt
"""
# Opens what a dialect must ask for, but for what PostgreSQL 16 does not have and what needs another driver.
REQUIREMENTS = """
from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

LACKING = CLOSED

class Requirements(SuiteRequirements):
    def get_isolation_levels(self, config):
        return {"default": "REPEATABLE READ", "supported": LEVELS}

LEVELS = ["AUTOCOMMIT", "READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE"]

for name in dir(SuiteRequirements):
    known = getattr(SuiteRequirements, name)
    if isinstance(known, property) and name not in LACKING:
        rule = known.fget.__get__(SuiteRequirements())
        try:
            skips = rule().skips
        except Exception:
            continue
        if any(isinstance(each, exclusions.BooleanPredicate) and each.value for each in skips):
            setattr(Requirements, name, property(lambda self: exclusions.open()))
""".replace("CLOSED", repr(LACKING))


def sum_up(cases: list[tuple[str, str | None]], chosen: dict[str, int], skipped: int) -> None:
    """Notes how many tests passed, failed and did not run."""
    failed = sum(said is not None for _, said in cases)
    text = f"its own suite for dialects: {len(cases) - failed} passed, {failed} failed, {skipped} skipped by itself"
    if (missing := chosen["chosen"] - len(cases) - skipped) > 0:
        text += f", {missing} not reached in time"
    note(text)
    reasons = "; ".join(LEFT_OUT.values())
    note(f"left out: {chosen['fewer']} of {chosen['sampled']} combinations of arguments of reflection of many tables")
    note(f"left out: {chosen['left out']} tests that {reasons}")


def outcomes(report: Path) -> dict[str, list[tuple[str, str | None]]]:
    """The outcomes of each class of pytest's JUnit report, without what was skipped."""
    found: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for case in ET.parse(report).iter("testcase"):
        name = case.get("classname", "").rpartition(".")[2].partition("_")[0]
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if case.find("skipped") is None:
            said = None if bad is None else f"{case.get('name', '').partition('[')[0]}: {bad.get('message', '')}"
            found[name].append((case.get("name", ""), said))
    return found


def feature(name: str) -> str:
    """The feature that a class of tests is about."""
    for start, known in FEATURES.items():
        if name.startswith(start) or (start in name and known == "metadata"):
            return known
    return "types" if any(part in name for part in TYPES) else "queries"


version(sa.__version__)
engine = sa.create_engine(url("postgresql+psycopg"))
with check("connect", "with a password"), engine.connect() as connection:
    same(connection.scalar(sa.text("SELECT 1")), 1)
with check("tls", "verify-full"):
    secure = sa.create_engine(url("postgresql+psycopg"), connect_args={"sslmode": "verify-full"})
    with secure.connect() as connection:
        same(connection.connection.driver_connection.pgconn.ssl_in_use, True)
    secure.dispose()
with check("queries", "errors"), engine.connect() as connection:
    refused(lambda: connection.execute(sa.text("SELECT * FROM missing")), "42P01")
engine.dispose()
with psycopg.connect(autocommit=True) as prepared:
    prepared.execute("CREATE SCHEMA test_schema")
    prepared.execute("CREATE SCHEMA test_schema_2")
for name, text in {
    "conftest.py": CONFTEST,
    "setup.cfg": SETUP,
    "requirements.py": REQUIREMENTS,
    "choosing.py": CHOOSING,
    "test_suite.py": "from sqlalchemy.testing.suite import *\n",
}.items():
    Path(name).write_text(text, encoding="utf-8")
command = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "--junitxml=report.xml",
    "-p",
    "choosing",
    f"--dburi={url('postgresql+psycopg')}",
    "test_suite.py",
]
done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, timeout=880)
if not Path("report.xml").exists():
    sys.exit(done.stderr[-2000:] or done.stdout[-2000:])
found = outcomes(Path("report.xml"))
skipped = len(list(ET.parse("report.xml").iter("skipped")))
sum_up([case for cases in found.values() for case in cases], json.loads(Path("chosen.json").read_text()), skipped)
for name, cases in sorted(found.items()):
    with check(feature(name), f"suite, {name}"):
        failed = [said for _, said in cases if said is not None]
        if failed:
            raise AssertionError(f"{len(failed)} of {len(cases)} fail: {failed[0]}")
