"""PL/CUDA: scalar functions whose bodies are device code, the text of a C++ function with the declared types.

`source` writes the function around a body, `compiling` compiles it, with NVRTC to check it and with the system's C++
compiler to run it on the host, and `child` is what the process of a session serves. May import engine, processes,
types and errors; the server's process imports `source` alone.
"""
