"""Catalog objects as statements name, find, describe and remove them; shared by DDL, routines and TRUNCATE."""

from __future__ import annotations
