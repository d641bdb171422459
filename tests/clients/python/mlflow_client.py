"""MLflow: its tracking store in a database: runs, metrics, models, and no trace lost."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["mlflow-skinny", "psycopg2-binary", "sqlalchemy", "alembic", "pandas"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor

os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
import mlflow
from mlflow import MlflowClient
from scenario import check, same, url, version

logging.getLogger("mlflow").setLevel(logging.ERROR)
version(mlflow.__version__)
client = None
with check("connect", "its tables"):
    mlflow.set_tracking_uri(url("postgresql+psycopg2"))
    client = MlflowClient()
    experiment = client.create_experiment("first", artifact_location="artifacts", tags={"team": "a"})
with check("queries", "runs with parameters, metrics and tags"):
    for number in range(3):
        with mlflow.start_run(experiment_id=experiment, run_name=f"run {number}"):
            mlflow.log_params({"n": number, "long": "x" * 500})
            mlflow.log_metrics({"loss": 1 / (number + 1), "nan": float("nan"), "inf": float("inf")})
            for step in range(5):
                mlflow.log_metric("curve", step * number, step=step)
            mlflow.set_tag("é", "😀")
with check("queries", "search of runs"):
    found = client.search_runs([experiment], "metrics.loss < 0.9 and params.n != '1' and tags.`é` = '😀'")
    same([each.data.params["n"] for each in found], ["2"])
    ordered = client.search_runs([experiment], order_by=["metrics.loss ASC", "params.n DESC"])
    same([each.info.run_name for each in ordered], ["run 2", "run 1", "run 0"])
    same([each.value for each in client.get_metric_history(found[0].info.run_id, "curve")], [0.0, 2.0, 4.0, 6.0, 8.0])
with check("transactions", "batches of several threads"):
    run = client.create_run(experiment)

    def log(number: int) -> None:
        """Logs one metric."""
        client.log_metric(run.info.run_id, "together", number, step=number)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(log, range(60)))
    same(len(client.get_metric_history(run.info.run_id, "together")), 60)
    same(client.get_run(run.info.run_id).data.metrics["together"], 59.0)
with check("queries", "models, versions, aliases"):
    client.create_registered_model("m", tags={"a": "b"})
    made = client.create_model_version("m", "artifacts/m", run_id=run.info.run_id)
    client.set_registered_model_alias("m", "champion", made.version)
    same(client.get_model_version_by_alias("m", "champion").run_id, run.info.run_id)
    same([each.name for each in client.search_registered_models("name LIKE 'm%'")], ["m"])
with check("queries", "traces of several threads, none lost"):
    mlflow.set_experiment("first")

    @mlflow.trace
    def answer(number: int) -> int:
        """Makes a trace with a span within."""
        with mlflow.start_span("inner", attributes={"n": number}) as span:
            span.set_outputs({"twice": number * 2})
        return number * 2

    with ThreadPoolExecutor(4) as pool:
        same(list(pool.map(answer, range(40))), [number * 2 for number in range(40)])
    found = client.search_traces(locations=[experiment], max_results=100)
    same(len(found), 40)
    same(sorted(int(each.info.request_preview.split(":")[1].strip(" }")) for each in found), list(range(40)))
with check("queries", "deleted and restored"):
    client.delete_run(run.info.run_id)
    same(len(client.search_runs([experiment])), 3)
    client.restore_run(run.info.run_id)
    same(len(client.search_runs([experiment])), 4)
    client.delete_experiment(experiment)
    same([each.name for each in client.search_experiments()], ["Default"])
