"""Fused pipelines: the part of a plan that one kernel computes in a single pass over packed columns.

    planning/        finds such parts in a plan and binds them to columns and build sides
    translate/       translates their expressions, aggregates and build sides
    ir/              the result: a typed, immutable pipeline of expressions, steps and a sink
    codegen/         generates the pipeline's kernel as CUDA C++
    cuda/            compiles the kernel with NVRTC and launches it with CuPy
    numpy_backend/   runs the same pipeline with NumPy, on CPU workers and as the kernels' reference
    columns/         the packed columns that both read
    packed_cache/    a worker's cache of packed columns
    runner           runs fused parts on a worker

The layers are linted (pyproject.toml); only `cuda` and `runner.KernelRunner` need a GPU.
"""
