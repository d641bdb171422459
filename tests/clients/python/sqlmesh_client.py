"""SQLMesh: plans of models into environments: full, incremental by time and key, views, seeds, audits."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["sqlmesh[postgres]"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import logging
import os
from importlib.metadata import version as installed
from pathlib import Path

os.environ["SQLMESH__DISABLE_ANONYMIZED_ANALYTICS"] = "true"
os.environ["MAX_FORK_WORKERS"] = "1"
from scenario import check, same, version
from sqlmesh import Context
from sqlmesh.core.config import Config, GatewayConfig, ModelDefaultsConfig, PostgresConnectionConfig

logging.disable(logging.CRITICAL)
version(installed("sqlmesh"))
for name in ("models", "seeds", "audits", "macros", "tests"):
    Path(name).mkdir()
Path("seeds/items.csv").write_text("id,name,day\n1,a,2024-01-01\n2,b,2024-01-02\n3,c,2024-01-03\n")
Path("models/items.sql").write_text(
    "MODEL (name shop.items, kind SEED (path '../seeds/items.csv'), columns (id INT, name TEXT, day DATE), grain id);"
)
Path("models/full.sql").write_text(
    "MODEL (name shop.full, kind FULL, audits (not_null(columns := (id)), unique_values(columns := (id))));\n"
    "SELECT id, upper(name) AS name, day FROM shop.items"
)
Path("models/incremental.sql").write_text(
    "MODEL (name shop.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), start '2024-01-01', cron '@daily');\n"
    "SELECT day::date AS day, count(*)::int AS n FROM shop.items WHERE day BETWEEN @start_ds AND @end_ds GROUP BY day"
)
Path("models/keyed.sql").write_text(
    "MODEL (name shop.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id));\nSELECT id, name FROM shop.items"
)
Path("models/seen.sql").write_text("MODEL (name shop.seen, kind VIEW);\nSELECT sum(n)::int AS n FROM shop.daily")
connection = PostgresConnectionConfig(
    host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
    password=os.environ["PGPASSWORD"], database=os.environ["PGDATABASE"],
)  # fmt: skip


def context() -> Context:
    """Opens the project."""
    gateway = GatewayConfig(connection=connection)
    return Context(
        paths=".", config=Config(gateways={"g": gateway}, model_defaults=ModelDefaultsConfig(dialect="postgres"))
    )


def rows(sql: str) -> list[tuple[object, ...]]:
    """Returns the rows of a query."""
    return context().engine_adapter.fetchall(sql)


with check("connect", "with a password"):
    same(context().engine_adapter.fetchone("SELECT 1"), (1,))
with check("migrations", "a plan for production"):
    context().plan(auto_apply=True, no_prompts=True, skip_tests=True)
    same(rows("SELECT id, name FROM shop.full ORDER BY id"), [(1, "A"), (2, "B"), (3, "C")])
    same(rows("SELECT n FROM shop.seen"), [(3,)])
    same(rows("SELECT count(*) FROM shop.keyed"), [(3,)])
with check("queries", "a changed model in another environment"):
    path = Path("models/full.sql")
    path.write_text(path.read_text().replace("upper(name) AS name", "name || '!' AS name"))
    context().plan("dev", auto_apply=True, no_prompts=True, skip_tests=True, include_unmodified=True)
    same(rows("SELECT name FROM shop__dev.full ORDER BY id"), [("a!",), ("b!",), ("c!",)])
    same(rows("SELECT name FROM shop.full ORDER BY id"), [("A",), ("B",), ("C",)])
with check("queries", "promoted, restated, audited"):
    context().plan(auto_apply=True, no_prompts=True, skip_tests=True)
    same(rows("SELECT name FROM shop.full ORDER BY id")[0], ("a!",))
    context().plan(restate_models=["shop.daily"], auto_apply=True, no_prompts=True, skip_tests=True)
    same(rows("SELECT sum(n) FROM shop.daily"), [(3,)])
    context().audit("2024-01-01", "2024-01-04")
with check("metadata", "columns, table diff, invalidation"):
    same(list(context().engine_adapter.columns("shop.keyed")), ["id", "name"])
    context().table_diff("prod", "dev", on=["id"], select_models={"shop.full"}, show=False)
    context().invalidate_environment("dev", sync=True)
    same(rows("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'shop__dev'"), [(0,)])
