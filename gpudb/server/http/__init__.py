"""HTTP: `/healthz`, `/readyz` and `/metrics`, by Starlette on uvicorn, on a thread and event loop of their own.

`readiness` knows whether clients can be served, `collector` measures what `observe.metrics` names, `application` has
the routes, `server` listens. Imports wire and session; the wire server knows nothing of it.
"""
