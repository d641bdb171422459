"""Calls between the coordinator and its workers: connections, messages and errors."""

from __future__ import annotations
