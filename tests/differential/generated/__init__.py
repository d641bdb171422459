"""Generated statements, compared with a real PostgreSQL; `differences.toml` lists intended differences."""
