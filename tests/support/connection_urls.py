"""Connection strings as URLs."""

from __future__ import annotations

from urllib.parse import quote


def to_url(dsn: str) -> str:
    """Converts a connection string to a URL."""
    parts = dict(part.split("=", 1) for part in dsn.split())
    host, port = parts.pop("host"), parts.pop("port", "")
    user, name = parts.pop("user"), parts.pop("dbname")
    if host.startswith("/"):
        return f"postgresql://{user}@/{name}?host={quote(host, safe='')}"
    return f"postgresql://{user}@{host}:{port}/{name}"
