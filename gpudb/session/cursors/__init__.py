"""Cursors: DECLARE, FETCH, MOVE and CLOSE."""

from __future__ import annotations
