"""Requests to the engine: built, sent, and sent again in other layouts of numerics; moments that they evaluate first.

May import `session_calls`, `system` and `foreign_data` of `execution`, whose rows requests bring along.
"""

from __future__ import annotations
