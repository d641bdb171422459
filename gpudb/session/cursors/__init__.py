"""Cursors: DECLARE, FETCH, MOVE and CLOSE, and their end with the transaction."""

from __future__ import annotations
