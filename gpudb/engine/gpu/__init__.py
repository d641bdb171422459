"""The engine on a cluster of workers: stages of a plan as Polars lazy frames, on GPUs by cudf-polars, or on CPUs.

`lower/` turns a stage into a lazy frame, `resident` keeps tables' columns on the workers, `worker` runs stages,
`coordinator` sends them and moves what they give, `engine` is the face that sessions see. The twin engine is the same
on CPU workers, with Polars' own engine in the place of cudf-polars.
"""
