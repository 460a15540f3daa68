"""The life of a Valkey of inrush's own, and the file that it reads."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from inrush.engines import debian, greeting
from inrush.engines.greeting import Protocol
from inrush.engines.instance import Release
from inrush.engines.own_server import OwnServer, ServerPlace

PACKAGES = {
    "8.1": debian.Packages(
        "valkey", "valkey-8.1", "trixie", ("valkey-server", "valkey-tools"), "usr/bin/valkey-server"
    )
}
#: Longest wait for an answer of a server that may not be ready yet, s.
READY_S = 0.5
#: A value without characters, as the file has it.
EMPTY = '""'


class ValkeyLife(OwnServer):
    name = "valkey"
    title = "Valkey"
    reserved = frozenset({"bind", "port", "dir", "daemonize", "logfile", "pidfile", "supervised"})
    unknown_setting = re.compile(r">>> '([\w.-]+) .*'\s+Bad directive")
    offers = PACKAGES

    def url_of(self, port: int) -> str:
        return f"valkey://127.0.0.1:{port}/"

    def make(self, place: ServerPlace) -> None:
        """The server makes its files itself."""

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        file = place.data / "valkey.conf"
        file.write_text(config(place))
        file.chmod(0o644)
        return [self.program(place.release), file]

    def known_settings(self, release: Release) -> frozenset[str] | None:
        """The server refuses to start with one that it does not know, and says which."""
        return None

    def is_ready(self, place: ServerPlace) -> bool:
        """Not while it still reads its files: then it answers `-LOADING`."""
        with contextlib.suppress(OSError):
            port = greeting.Port("127.0.0.1", place.port)
            said = greeting.answer(port, greeting.FIRST_WORDS[Protocol.RESP], READY_S)
            return said is not None and said.startswith((b"+PONG", b"-NOAUTH"))
        return False


def config(place: ServerPlace) -> str:
    """The whole configuration; what is left out is as shipped. Pure."""
    own = {"bind": "127.0.0.1", "port": str(place.port), "dir": str(place.home), "daemonize": "no"}
    return "".join(f"{name} {value or EMPTY}\n" for name, value in {**own, **place.settings}.items())
