"""DBeaver: the statements that it sends for the catalog and for data, without the program."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["psycopg[binary]==3.3.9"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

from scenario import check, version
from statement_list import run_all

run_all("dbeaver", check, version)
