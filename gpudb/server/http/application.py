"""The routes: whether the process lives, whether it is ready, its metrics, its tables as an Iceberg catalog, and the
console.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gpudb.server.http.collector import ServerCollector
from gpudb.server.http.console import routes as console_routes
from gpudb.server.http.console.console import Console
from gpudb.server.http.console.static_files import StaticFiles
from gpudb.server.http.iceberg.routes import make_routes
from gpudb.server.http.readiness import Readiness


def make_application(readiness: Readiness, collector: ServerCollector, console: Console) -> Starlette:
    """Returns the application; a scrape runs on a thread, so that probes are answered meanwhile."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)

    def check_health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    def check_readiness(request: Request) -> Response:
        obstacle = readiness.find_obstacle()
        if obstacle is not None:
            return PlainTextResponse(f"{obstacle}\n", status_code=503)
        return PlainTextResponse("ready\n")

    def list_metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={"content-type": content_type})

    return Starlette(
        routes=[
            Route("/healthz", check_health),
            Route("/readyz", check_readiness),
            Route("/metrics", list_metrics),
            *make_routes(collector.find_sources),
            *console_routes.make_routes(console, StaticFiles()),
        ],
        exception_handlers={ClientDisconnect: _end_quietly},
    )


def _end_quietly(request: Request, error: Exception) -> Response:
    """Ends a request whose client went away before its body was complete: nobody reads the answer."""
    return Response(status_code=400)
