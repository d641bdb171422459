"""dbt: seeds, models of all kinds, snapshots, tests, docs, a second and a full run."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["dbt-core==1.11.16", "dbt-postgres==1.11.0"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

from scenario import check, same, version

FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0.0'\nprofile: shop\nmodels:\n  shop:\n    +persist_docs:\n      relation: true\n      columns: true\n",
    "seeds/people.csv": "id,name,born\n1,Ann,1960-01-01\n2,Bob,1970-01-02\n",
    "models/as_table.sql": "{{ config(materialized='table', indexes=[{'columns': ['id'], 'unique': true}]) }} select * from {{ ref('people') }}",
    "models/as_view.sql": "{{ config(materialized='view') }} select id, name from {{ ref('as_table') }}",
    "models/added.sql": (
        "{{ config(materialized='incremental', unique_key='id', on_schema_change='append_new_columns') }} "
        "select id, name, current_timestamp as at from {{ ref('people') }} {% if is_incremental() %} where id > 1 {% endif %}"
    ),
    "models/merged.sql": (
        "{{ config(materialized='incremental', unique_key='id', incremental_strategy='merge') }} select id, name from {{ ref('people') }}"
    ),
    "models/kept.sql": "{{ config(materialized='materialized_view') }} select count(*) as n from {{ ref('as_table') }}",
    "models/within.sql": "{{ config(materialized='ephemeral') }} select 1 as one",
    "models/uses.sql": "select * from {{ ref('within') }}",
    "models/schema.yml": (
        "version: 2\nmodels:\n  - name: as_table\n    description: what's known\n    columns:\n      - name: id\n        description: number\n"
        "        data_tests: [unique, not_null]\n      - name: name\n        data_tests:\n          - accepted_values:\n              arguments:\n                values: [Ann, Bob]\n"
        "  - name: as_view\n    columns:\n      - name: id\n        data_tests:\n          - relationships:\n              arguments:\n                to: ref('as_table')\n                field: id\n"
    ),
    "snapshots/past.sql": (
        "{% snapshot past %}{{ config(target_schema='public', unique_key='id', strategy='check', check_cols=['name']) }}"
        "select * from {{ ref('people') }}{% endsnapshot %}"
    ),
}
for name, text in FILES.items():
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def profile(sslmode: str) -> None:
    """Writes how to connect."""
    target = {
        "type": "postgres",
        "host": os.environ["PGHOST"],
        "port": int(os.environ["PGPORT"]),
        "user": os.environ["PGUSER"],
        "password": os.environ["PGPASSWORD"],
        "dbname": os.environ["PGDATABASE"],
        "schema": "public",
        "threads": 2,
        "sslmode": sslmode,
        "sslrootcert": os.environ["PGSSLROOTCERT"],
    }
    Path("profiles.yml").write_text(json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}))


def dbt(*command: str) -> str:
    """What dbt prints; it must succeed."""
    program = str(Path(sys.executable).with_name("dbt"))
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "NO_COLOR": "1"}
    done = subprocess.run(
        [program, "--no-use-colors", *command, "--profiles-dir", "."],
        capture_output=True,
        text=True,
        timeout=200,
        env=environment,
    )
    if done.returncode:
        lines = [line.split("  ", 1)[-1].strip() for line in done.stdout.splitlines() if "rror" in line]
        raise AssertionError(" / ".join(lines[-3:]) or done.stderr[-200:])
    return done.stdout


version(importlib.metadata.version("dbt-postgres"))
profile("prefer")
with check("connect", "debug"):
    dbt("debug")
with check("tls", "verify-full"):
    profile("verify-full")
    dbt("debug")
    profile("disable")
with check("copy", "seed"):
    dbt("seed")
with check("migrations", "run"):
    dbt("run")
with check("migrations", "run again, changed"):
    Path("models/added.sql").write_text(FILES["models/added.sql"].replace("as at", "as at, 1 as more"))
    dbt("run")
with check("migrations", "run --full-refresh"):
    dbt("run", "--full-refresh")
with check("queries", "test"):
    same("PASS=4" in dbt("test"), True)
with check("transactions", "snapshot, twice"):
    dbt("snapshot")
    Path("seeds/people.csv").write_text("id,name,born\n1,Ann,1960-01-01\n2,Rob,1970-01-02\n")
    dbt("seed", "--full-refresh")
    dbt("snapshot")
    said = dbt("show", "--inline", "select count(*) as n from past", "--output", "json")
    same('"n": 3' in said, True)
with check("metadata", "docs generate"):
    dbt("docs", "generate")
    found = json.loads(Path("target/catalog.json").read_text())["nodes"]["model.shop.as_table"]
    same((found["metadata"]["comment"], list(found["columns"])), ("what's known", ["id", "name", "born"]))
