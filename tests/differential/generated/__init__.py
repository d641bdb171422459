"""Generated statements, compared with a real PostgreSQL; `differences.toml` lists what differs on purpose."""
