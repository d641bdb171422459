"""Plans queries for the workers: from a bound query to the stages that the workers run.

`logical` builds a plan of typed nodes (`tree`) block by block, with dask-sql as its planner (`dask`). `optimize`
rewrites the plan by rules. `physical` adds exchanges and cuts the plan at them into stages. `cost` estimates rows.

A query that no worker can run is refused here, before anything runs, with `NotSupportedOnWorkers`. May import `sql` and
the rooms below it. Inside the room: errors → tree → cost, dask → logical, optimize → physical.
"""
