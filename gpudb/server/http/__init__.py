"""HTTP: `/healthz`, `/readyz`, `/metrics` and an Iceberg REST catalog, by Starlette on uvicorn.

`readiness` knows whether clients can be served, `collector` measures what `observe.metrics` names, `application` has
the routes, `iceberg` those of the catalog, `server` listens on a thread and event loop of its own. Imports wire and
session; the wire server knows nothing of it.
"""
