"""Where QuestDB's HTTP is, and whether it takes the lines that inrush sends. The core asks the same when it connects."""

from __future__ import annotations

import contextlib
import http.client
import json

from inrush.border import address

#: Option of its URLs, and the port as shipped. Twin of HTTP in questdb.rs.
OPTION, USUAL_PORT = "http", 9000
#: Version of the protocol that has floats and lists in binary. Twin of BINARY in ilp.rs.
BINARY = 2
ASK_S = 5.0


def port_of(url: str) -> int:
    return int(address.read(url).options.get(OPTION) or USUAL_PORT)


def takes_lines(url: str) -> bool:
    """True also of a server that encrypts or asks for a password first: then the core says what it finds."""
    place = address.read(url)
    if not place.host or place.options.get("sslmode", "disable") != "disable":
        return True
    connection = http.client.HTTPConnection(place.host, port_of(url), timeout=ASK_S)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/settings")
        response = connection.getresponse()
        return response.status in (401, 403) or said_by(response.read())
    return False


def said_by(body: bytes) -> bool:
    """Whether an answer of `/settings` has the version among those of the protocol. Pure."""
    try:
        said = json.loads(body)["config"]["line.proto.support.versions"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(said, list) and BINARY in said
