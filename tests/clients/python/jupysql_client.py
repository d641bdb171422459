"""JupySQL: magics in IPython, named connections, results as frames, persist, tables and columns."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["jupysql==0.11.1", "ipython>=8.30", "pandas==2.3.3", "sqlalchemy==2.0.44", "psycopg[binary]==3.3.9", "matplotlib", "setuptools<81"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import importlib.metadata

import pandas as pd
from IPython.core.interactiveshell import InteractiveShell
from scenario import check, same, url, version

version(importlib.metadata.version("jupysql"))
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "sql")
shell.run_line_magic("config", "SqlMagic.displaycon = False")
shell.run_line_magic("config", "SqlMagic.feedback = 0")
shell.run_line_magic("config", "SqlMagic.named_parameters = 'enabled'")


def sql(query: str) -> object:
    """The result of a cell."""
    return shell.run_cell_magic("sql", "", query)


with check("connect", "with a password"):
    shell.run_line_magic("sql", url("postgresql+psycopg"))
    same(sql("SELECT 1 AS a").dict(), {"a": (1,)})
with check("queries", "frames"):
    sql("CREATE TABLE t (id int PRIMARY KEY, name text)")
    sql("INSERT INTO t SELECT g, 'n' || g FROM generate_series(1, 100) g")
    same(len(sql("SELECT * FROM t").DataFrame()), 100)
with check("queries", "parameters"):
    shell.user_ns["most"] = 5
    same(len(sql("SELECT * FROM t WHERE id <= :most")), 5)
    same(len(sql("SELECT * FROM t WHERE id <= {{most}}")), 5)
with check("queries", "saved snippets"):
    shell.run_cell_magic("sql", "--save few --no-execute", "SELECT * FROM t WHERE id < 4")
    same(len(shell.run_cell_magic("sql", "--with few", "SELECT * FROM few")), 3)
with check("copy", "persist"):
    shell.user_ns["frame"] = pd.DataFrame({"a": [1, 2]})
    shell.run_line_magic("sql", "--persist frame --no-index")
    same(sql("SELECT sum(a) AS s FROM frame").dict(), {"s": (3,)})
with check("metadata", "tables and columns"):
    same("t" in str(shell.run_line_magic("sqlcmd", "tables")), True)
    same("name" in str(shell.run_line_magic("sqlcmd", "columns -t t")), True)
with check("metadata", "profile"):
    same("count" in str(shell.run_line_magic("sqlcmd", "profile -t t")), True)
