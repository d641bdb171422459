"""PL/Python: bodies of functions, procedures and DO blocks in Python, run in a process of the session's own.

`child` is what that process serves: it compiles bodies (`procedures`), converts values (`objects`), and gives them the
module `plpy` (`plpy_module`), whose questions the session answers (`questions`). The server's process imports
`definitions` and `questions` alone. May import processes, values, types and errors.
"""
