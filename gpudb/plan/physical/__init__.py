"""Where rows are computed: distributions, exchanges, stages, and the rules that need them."""

from __future__ import annotations
