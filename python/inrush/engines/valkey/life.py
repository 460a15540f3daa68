"""The life of a Valkey of inrush's own, and the file that it reads."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from inrush.engines.base import protocol_probe as greeting
from inrush.engines.base.instance import Instance, Release
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.servers import debian, life, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace

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
    account = "default"
    reserved = frozenset(
        {
            "bind",
            "port",
            "dir",
            "daemonize",
            "logfile",
            "pidfile",
            "supervised",
            "requirepass",
            "user",
            "aclfile",
        }
    )
    unknown_setting = re.compile(r">>> '([\w.-]+) .*'\s+Bad directive")
    offers = PACKAGES
    programs = ("valkey-server", "redis-server")

    def url_of(self, port: int) -> str:
        return f"valkey://127.0.0.1:{port}/"

    def make(self, place: ServerPlace) -> None:
        """The server makes its files itself."""

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        file = place.data / "valkey.conf"
        private.write(file, config(place, secret.of(place.data)), place.user)
        return [self.program(place.release), file]

    def known_settings(self, release: Release) -> frozenset[str] | None:
        """The server refuses to start with one that it does not know, and says which."""
        return None

    def is_ready(self, place: ServerPlace) -> bool:
        """Not while it still reads its files: then it answers `-LOADING`."""
        with contextlib.suppress(OSError):
            port = greeting.Port("127.0.0.1", place.port)
            first = f"AUTH {secret.of(place.data)}\r\n".encode() + greeting.FIRST_WORDS[Protocol.RESP]
            said = greeting.answer(port, first, READY_S)
            return said is not None and said.startswith(b"+OK\r\n+PONG")
        return False

    def client(self, instance: Instance, process: str = "") -> str:
        program = life.client_program(instance.release.path, "valkey-cli")
        return secret.to_variable(instance.data, "REDISCLI_AUTH", f"{program} -p {instance.port}")


def config(place: ServerPlace, password: str) -> str:
    """The whole configuration; what is left out is as shipped. It has the password's hash alone. Pure."""
    hashed = hashlib.sha256(password.encode()).hexdigest()
    own = {"bind": "127.0.0.1", "port": str(place.port), "dir": str(place.home), "daemonize": "no"}
    own["user"] = f"default on #{hashed} ~* &* +@all"
    return "".join(f"{name} {value or EMPTY}\n" for name, value in {**own, **place.settings}.items())
