"""Finds the parts of a plan that one kernel computes, and binds them to columns and build sides.

`matching` runs on the coordinator, `prepare` on a worker; `prepared_pipeline` is what they produce, `top_n` the plan of
ORDER BY … LIMIT. Imports `translate` and what lies below it.
"""
