"""Catalog objects: names, dependents, removal and stored expressions, shared by DDL, routines and TRUNCATE."""

from __future__ import annotations
