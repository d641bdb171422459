"""Rows of functions and relations over the state of session, server and cluster, for the engine to read.

May import `sequence_values` of `execution`.
"""

from __future__ import annotations
