"""Finds the parts of a plan that one kernel computes, and binds them to columns and build sides.

`matching` runs on the coordinator, `prepare` on a worker; both return a `prepared_pipeline`. `top_n` implements ORDER
BY … LIMIT. Imports `translate` and the layers below it.
"""
