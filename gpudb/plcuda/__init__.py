"""PL/CUDA: functions whose bodies are device code, the text of a C++ function with the declared types.

`source` writes the function around a body, for kernels and for the host; `host_compiler` compiles it for the host,
where `calls` runs it in child processes, which serve `child`. May import processes, types and errors.
"""
