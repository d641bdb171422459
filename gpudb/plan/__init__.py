"""The plan: a bound query as typed nodes, optimised, and cut into the stages that workers run.

`carry` writes a bound query as the text that the planner reads, `planner` (dask-sql) orders and decorrelates it and
gives `nodes`, `optimize/` improves them, `stages` cuts them at exchanges, `display` tells them. A query that no worker
can run is refused here, before anything runs, by `NotCarried`. May import `sql` and what lies below it.
"""
