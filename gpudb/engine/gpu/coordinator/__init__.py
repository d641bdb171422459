"""Runs the stages of a statement on the workers and fetches its result.

Imports `cluster`, `planning` and the layers below them.
"""

from __future__ import annotations
