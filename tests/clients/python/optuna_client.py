"""Optuna: its storage in a database: studies, parallel trials, pruning, attributes, reopened."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["optuna", "psycopg[binary]", "sqlalchemy"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import optuna
from scenario import check, same, url, version

optuna.logging.set_verbosity(optuna.logging.ERROR)
version(optuna.__version__)
storage = None
with check("connect", "its tables, and their version"):
    storage = optuna.storages.RDBStorage(url("postgresql+psycopg"), engine_kwargs={"pool_size": 4})
    same(storage.get_current_version(), storage.get_head_version())


def objective(trial: optuna.Trial) -> float:
    """A function with parameters of all kinds, intermediate values and attributes."""
    x = trial.suggest_float("x", -5, 5)
    n = trial.suggest_int("n", 1, 5)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    trial.set_user_attr("note", {"a": [n, kind]})
    for step in range(3):
        trial.report(x * x + step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return x * x + n


with check("queries", "a study of trials"):
    study = optuna.create_study(study_name="s", storage=storage, direction="minimize")
    study.set_user_attr("owner", "me")
    study.optimize(objective, n_trials=15)
    same(len(study.trials), 15)
with check("transactions", "trials of several threads"):
    study.optimize(objective, n_trials=12, n_jobs=3)
    same(sorted(each.number for each in study.trials), list(range(27)))
with check("queries", "the best one, reopened"):
    again = optuna.load_study(study_name="s", storage=url("postgresql+psycopg"))
    same(again.best_value, min(each.value for each in again.trials if each.state.name == "COMPLETE"))
    same(again.user_attrs, {"owner": "me"})
    same([each.intermediate_values for each in again.trials], [each.intermediate_values for each in study.trials])
with check("queries", "several objectives, infinities, failures"):
    two = optuna.create_study(study_name="t", storage=storage, directions=["minimize", "maximize"])
    two.optimize(lambda trial: (trial.suggest_float("x", 0, 1), float("inf")), n_trials=3)
    two.optimize(lambda trial: (1 / 0, 0), n_trials=1, catch=(ZeroDivisionError,))
    same([each.state.name for each in two.trials], ["COMPLETE"] * 3 + ["FAIL"])
    same(two.trials[0].values[1], float("inf"))
with check("queries", "enqueued trials, ask and tell"):
    study.enqueue_trial({"x": 0.5, "n": 1, "kind": "a"})
    trial = study.ask()
    same(trial.suggest_float("x", -5, 5), 0.5)
    study.tell(trial, 0.25)
with check("metadata", "summaries, copies, deletion"):
    same(sorted(each.study_name for each in optuna.get_all_study_summaries(storage)), ["s", "t"])
    optuna.copy_study(from_study_name="s", from_storage=storage, to_storage=storage, to_study_name="u")
    optuna.delete_study(study_name="s", storage=storage)
    same(sorted(optuna.get_all_study_names(storage)), ["t", "u"])
