"""Calls between the coordinator and its workers: connections, messages and errors.

Imports nothing else of this package.
"""

from __future__ import annotations
