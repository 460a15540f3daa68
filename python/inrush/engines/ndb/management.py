"""The little of the protocol of MySQL Cluster's management server that it takes to see how its data nodes are."""

from __future__ import annotations

import socket

#: Longest wait for one answer, s.
ASK_S = 2.0
STARTED = "STARTED"
#: Lines of one answer end with an empty one.
END = b"\n\n"
MOST_BYTES = 1 << 20


def states(port: int) -> dict[int, str]:
    """Data node -> its state, as the management server on this port of this machine says; empty where none answers."""
    return parse(answer(port, "get status\ntypes: NDB\n", ASK_S))


def stop_nodes(port: int, limit_s: float) -> bool:
    """Ends all data nodes with what they have committed on their disks; whether they have ended so.

    A signal ends a node at once: what was committed since the last global checkpoint, of the last two seconds, would be lost
    where all of them end.
    """
    return "result: Ok" in answer(port, "stop all\nabort: 0\nstop: db\n", limit_s)


def answer(port: int, command: str, limit_s: float) -> str:
    """What the management server says; empty where there is none, or none that says it in time."""
    said = b""
    try:
        with socket.create_connection(("127.0.0.1", port), ASK_S) as connection:
            connection.settimeout(limit_s)
            connection.sendall(f"{command}\n".encode())
            while not said.endswith(END) and len(said) < MOST_BYTES:
                if not (more := connection.recv(1 << 16)):
                    break
                said += more
    except OSError:
        return ""
    return said.decode(errors="replace")


def parse(said: str) -> dict[int, str]:
    """Of lines like `node.2.status: STARTED`. Pure."""
    found = {}
    for line in said.splitlines():
        name, _, value = line.partition(":")
        match name.split("."):
            case ["node", node, "status"] if node.isdigit():
                found[int(node)] = value.strip()
    return found


def all_started(port: int, nodes: int) -> bool:
    of = states(port)
    return len(of) == nodes and all(state == STARTED for state in of.values())
