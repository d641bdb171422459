"""Tests of gpudb. Folders mirror gpudb/; `oracle` and `differential` compare gpudb with a real PostgreSQL."""
