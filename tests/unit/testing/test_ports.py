"""Free ports are free, and distinct."""

import socket

from tailrace.testing.ports import free_ports, is_listening


def test_free_ports_are_distinct_and_nobody_listens() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert not any(is_listening(port) for port in ports)


def test_a_port_with_a_server_is_listening() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert is_listening(server.getsockname()[1])
