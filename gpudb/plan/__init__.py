"""The plan: a bound query as typed nodes, optimised, and cut into the stages that workers run.

`carry` writes a bound query as the text that the planner reads, subqueries as joins (`unnest`), `planner` (dask-sql)
makes a relational plan of it and `restore` nodes of that, `optimize/` improves them, `stages` cuts them at exchanges,
`display` tells them. A query that no worker can run is refused here, before anything runs, by `NotCarried`. May import
`sql` and what lies below it.
"""
