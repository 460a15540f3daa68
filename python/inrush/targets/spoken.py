"""Does a port speak the protocol of the engine that a URL names? Asked before a client of the wrong one waits in vain."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from inrush.engines.base import protocol_probe as greeting
from inrush.engines.base.twin import Twin


def foreign_protocols(servers: Sequence[tuple[Twin, str]]) -> list[str | None]:
    """Of each (engine, URL without a password) why it is none of the engine's, None where nothing speaks against it.

    Asked of all at once, as one that is silent takes seconds.
    """
    if not servers:
        return []
    with ThreadPoolExecutor(len(servers)) as pool:
        return list(pool.map(lambda pair: foreign_protocol(*pair), servers))


def foreign_protocol(twin: Twin, url: str) -> str | None:
    if twin.protocol is None:
        return None
    port = greeting.port_of(url)
    if port is None:
        return None
    try:
        heard = greeting.heard(port, twin.protocol)
    except TimeoutError:
        return f"{url}: no answer within {greeting.CONNECT_S:g} s; check host, port and firewall"
    except greeting.NoGreeting:
        return (
            f"{url}: port {port.number} takes connections and says nothing within {greeting.SILENT_S:g} s; check the port, and "
            f"that {twin.name} answers there"
        )
    except OSError:
        return None  # the core says it in its own words
    if heard in (None, twin.protocol):
        return None
    return (
        f"{url}: port {port.number} answers in the protocol of {heard.value}, and {twin.name} speaks {twin.protocol.value}; "
        "check scheme and port"
    )
