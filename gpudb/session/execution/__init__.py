"""Execution of bound queries: binding, requests to the engine, session calls, and rows of system functions."""

from __future__ import annotations
