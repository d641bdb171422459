"""Each server over a catalog is a coordinator of the cluster, and CREATE NODE names it."""

from __future__ import annotations

from tests.support.coordinators import Connection, catch_up, read_state
from tests.support.server_program import Program
from tests.support.sessions import wait_until

NODES = "SELECT node_name, node_host, node_port FROM pgxc_node WHERE node_type = 'C' ORDER BY node_port"


def test_every_running_coordinator_is_a_node(
    servers: tuple[Program, Program], one: Connection, two: Connection
) -> None:
    ports = sorted(each.port for each in servers)
    for connection in (one, two):
        found = connection.execute(NODES).fetchall()
        assert [(host, port) for _, host, port in found] == [("127.0.0.1", port) for port in ports]
        assert len({name for name, _, _ in found}) == 2
    data_nodes = "SELECT node_name FROM pgxc_node WHERE node_type = 'D'"
    assert one.execute(data_nodes).fetchall() == [("datanode_1",)]


def test_create_node_names_a_coordinator(servers: tuple[Program, Program], one: Connection, two: Connection) -> None:
    here, there = (each.port for each in servers)
    one.execute("CREATE NODE first WITH (TYPE = 'coordinator')")
    one.execute(f"CREATE NODE second WITH (TYPE = 'coordinator', HOST = 'localhost', PORT = {there})")
    one.execute("CREATE NODE third WITH (TYPE = 'coordinator', HOST = 'elsewhere.example', PORT = 5433)")
    catch_up(two)
    expected = {("first", "127.0.0.1", here), ("second", "localhost", there), ("third", "elsewhere.example", 5433)}
    for connection in (one, two):
        assert set(connection.execute(NODES).fetchall()) == expected
    assert read_state(two, "CREATE NODE first WITH (TYPE = 'coordinator', PORT = 1)") == "42710"
    assert read_state(two, "EXECUTE DIRECT ON (second) 'SELECT 1'") == "0A000"
    two.execute("ALTER NODE third WITH (PORT = 5434); DROP NODE first; DROP NODE second")
    catch_up(one)
    found = one.execute(NODES).fetchall()
    assert ("third", "elsewhere.example", 5434) in found
    assert {port for _, _, port in found} == {here, there, 5434}
    one.execute("DROP NODE third")


def test_a_coordinator_that_stops_is_no_node(servers: tuple[Program, Program], one: Connection) -> None:
    servers[1].end()
    wait_until(lambda: len(one.execute(NODES).fetchall()) == 1, "it is gone")
