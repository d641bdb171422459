"""CREATE, ALTER, DROP NODE and EXECUTE DIRECT among other statements."""

from __future__ import annotations

import pytest

from gpudb.errors import GpudbError
from gpudb.sql.parse.node_statements import NodeStatement
from gpudb.sql.parse.parser import parse


def test_they_stand_among_others() -> None:
    text = "SELECT 'x; DROP NODE q'; create node D0 with (host = 'a''b', TYPE=datanode, port=1, PRIMARY);\n-- c\nDROP NODE \"D 1\"; SELECT 2"
    kinds = [each.kind for each in parse(text)]
    assert kinds == ["SelectStmt", "NodeStmt", "NodeStmt", "SelectStmt"]
    options = (("host", "a'b"), ("type", "datanode"), ("port", "1"), ("primary", "true"))
    assert parse(text)[1].node_statement == NodeStatement("create", "d0", options)
    assert parse(text)[2].node_statement == NodeStatement("drop", "D 1")


@pytest.mark.parametrize("quoted", ["'SELECT ''a'' FROM t'", "$$SELECT 'a' FROM t$$"])
def test_execute_direct_is_its_statement(quoted: str) -> None:
    (found,) = parse(f"EXECUTE DIRECT ON (d1) {quoted}")
    assert (found.kind, found.direct_node, found.text) == ("SelectStmt", "d1", "SELECT 'a' FROM t")


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("EXECUTE DIRECT ON (a, b) 'SELECT 1'", "42601"),
        ("EXECUTE DIRECT ON () 'SELECT 1'", "42601"),
        ("EXECUTE DIRECT ON (a) 'SELECT 1; SELECT 2'", "0A000"),
        ("EXECUTE DIRECT ON (a) 'DROP TABLE t'", "0A000"),
        ("CREATE NODE a WITH (port =)", "42601"),
        ("DROP NODE a WITH (port = 1)", "42601"),
        ("CREATE NODE", "42601"),
    ],
)
def test_what_is_refused(text: str, state: str) -> None:
    with pytest.raises(GpudbError) as refused:
        parse(text)
    assert refused.value.sqlstate == state
