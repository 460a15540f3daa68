"""The little of the protocol of MySQL Cluster's management server that it takes to see how its data nodes are."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

#: Longest wait for one answer, s.
ASK_S = 2.0
STARTED = "STARTED"
#: States of a node that has ended, or that nobody hears.
GONE = ("NO_CONTACT", "UNKNOWN")
#: Lines of one answer end with an empty one.
END = b"\n\n"
MOST_BYTES = 1 << 20


def states(port: int) -> dict[int, str]:
    """Data node -> its state, as the management server on this port of this machine says; empty where none answers."""
    return parse(answer(port, "get status\ntypes: NDB\n", ASK_S))


def stop_nodes(port: int, limit_s: float) -> bool:
    """Ends all data nodes with what they have committed on their disks; whether it says that they have ended so.

    A signal ends a node at once: what was committed since the last global checkpoint, of the last two seconds, would be lost
    where all of them end. It waits no longer than until no node is in contact: of a node that was killed a moment before,
    some management servers wait for the answer for ever.
    """
    return "result: Ok" in answer(port, "stop all\nabort: 0\nstop: db\n", limit_s, lambda: in_contact(port))


def in_contact(port: int) -> bool:
    """Whether some data node is, as far as is known: who does not answer has not said that none is."""
    found = states(port).values()
    return not found or any(state not in GONE for state in found)


def answer(port: int, command: str, limit_s: float, go_on: Callable[[], bool] = lambda: True) -> str:
    """What the management server says; empty where there is none, or none that says it in time.

    go_on: asked each `ASK_S` without a word of it, whether to wait for more.
    """
    said, until_s = b"", time.monotonic() + limit_s
    try:
        with socket.create_connection(("127.0.0.1", port), ASK_S) as connection:
            connection.settimeout(min(ASK_S, limit_s))
            connection.sendall(f"{command}\n".encode())
            while not said.endswith(END) and len(said) < MOST_BYTES:
                try:
                    more = connection.recv(1 << 16)
                except TimeoutError:
                    if time.monotonic() >= until_s or not go_on():
                        return ""
                    continue
                if not more:
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
