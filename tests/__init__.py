"""Tests of gpudb. Folders mirror gpudb/; `oracle` and `differential` compare it with a real PostgreSQL."""
