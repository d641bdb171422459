"""What runs in a worker process: its partition of tables, the stages of statements, and its limits."""

from __future__ import annotations
