"""A worker's packed columns: read from files, packed, cached, merged into segments and pruned by zones.

Imports `planning`, `codegen` and the layers below them; of the other rooms `engine.gpu.cache`.
"""
