"""Fused pipelines: the part of a plan that one kernel computes in a single pass over a table's packed columns.

`match` finds such parts in a plan, `prepare` binds one to the columns and build sides that a worker holds, as a
`pipeline` of integers and floats; `generate` writes that as CUDA C++, `nvrtc` compiles it, `launch` runs it. `twin`
runs the same pipeline with NumPy, which proves all but the kernels where there is no GPU.
"""
