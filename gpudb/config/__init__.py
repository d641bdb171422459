"""Settings of the server program and of embedded databases: `GPUDB_*` variables and a TOML file.

Each room has the settings that it reads as a frozen dataclass in a module of its own; `program.Settings` is all of
them, and is passed on as it is. Only `program` imports pydantic, which an embedded database does not wait for.
"""
