"""The engine that runs plans on a cluster of GPU or CPU workers.

A plan is cut into stages. Each worker lowers a stage to a Polars lazy frame and computes it with cudf-polars on a GPU,
or with Polars on the host. The twin engine is the same code on CPU workers.

`engine` implements the engine protocol for sessions. `planning`, `coordinator` and `cluster` run in the server's
process; `worker`, `exchange` and `cache` in each worker's; `stage` executes one stage, in both; `fastpath` and
`finalize` serve small results; `backend`, `lower`, `fused` and `cudf` compute. The package imports from the rooms below
`engine` and from `engine.protocol`; import-linter keeps the order of its own layers.
"""
