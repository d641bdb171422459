"""Stages on a GPU: frames computed by cudf-polars where they lie, tables read from Parquet into the GPU's memory.

The only package of the engine that imports CUDA; a worker imports it once it is told that it has a GPU.
"""
