"""The life of a QuestDB of inrush's own: one jar, run by the Java of this machine, and the file that it reads."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from inrush.engines.base import protocol_probe as greeting
from inrush.engines.base.instance import Instance, Release
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.servers import life, maven, ports, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace
from inrush.errors import TargetError

#: The least version of Java that runs it.
JAVA = 17
INSTALL = f"QuestDB runs on Java {JAVA} or later (on Debian: apt-get install maven brings Java too)"
SHA256 = "939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062"
QUESTDB = {"9.3": maven.Artifact("questdb", "org.questdb", "questdb", "9.3.4", SHA256, INSTALL)}
#: Garbage collector as its own launcher has it. Rows do not lie in Java's heap.
OPTIONS = ("-XX:+UseParallelGC", "-Xmx1g")
MAIN = "io.questdb/io.questdb.ServerMain"
#: Longest wait for an answer of a server that may not be ready yet, s.
READY_S = 0.5
#: What inrush sets itself: two ports, on the loopback address; what it does not know, it refuses. Lines go into tables and
#: columns that are there: a misspelt one is a refusal, as by SQL.
OWN = {
    "http.enabled": "true",
    "http.min.enabled": "false",
    "line.auto.create.new.tables": "false",
    "line.auto.create.new.columns": "false",
    "line.tcp.enabled": "false",
    "telemetry.enabled": "false",
    "config.validation.strict": "true",
    # inrush limits its statements itself; as shipped, the server ends them after 60 s and idle sessions after 300 s. In ms: a day.
    "query.timeout": "86400000",
    "pg.net.idle.timeout": "86400000",
}
USERS = ("pg.user", "pg.password", "http.user", "http.password")
PORT, HTTP = "pg.net.bind.to", "http.bind.to"


class QuestdbLife(OwnServer):
    name = "questdb"
    title = "QuestDB"
    account = "admin"
    reserved = frozenset({*OWN, *USERS, PORT, HTTP, "cairo.root"})

    unknown_setting = re.compile(r"^\s*\* ([\w.]+)$", re.MULTILINE)
    offers = QUESTDB

    def url_of(self, port: int) -> str:
        return f"questdb://{self.account}@127.0.0.1:{port}/qdb"

    def url_in(self, data: Path, port: int) -> str:
        return secret.named(f"{self.url_of(port)}?http={http_port(data / self.home)}", data)

    def make(self, place: ServerPlace) -> None:
        """The server makes its files itself."""

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        # As before, where it is free: a run that restarts its server knows it by this port.
        last = http_port(place.home)
        http = last if last and ports.is_free(last) else ports.free_port()
        private.folder(place.home / "conf", place.user)
        private.write(config_file(place.home), config(place, http, secret.of(place.data)), place.user)
        return [java(), *OPTIONS, "-p", self.program(place.release), "-m", MAIN, "-d", place.home]

    def known_settings(self, release: Release) -> frozenset[str] | None:
        """The server refuses to start with one that it does not know, and says which."""
        return None

    def is_ready(self, place: ServerPlace) -> bool:
        """It listens last, when its tables are open: for HTTP, then for PostgreSQL's protocol."""
        login = (self.account, secret.of(place.data))
        if life.http_answer(http_port(place.home), "/ping", login)[0] != 204:
            return False
        with contextlib.suppress(OSError):
            port = greeting.Port("127.0.0.1", place.port)
            said = greeting.answer(port, greeting.FIRST_WORDS[Protocol.POSTGRESQL], READY_S)
            return said is not None and greeting.protocol_of(said) is Protocol.POSTGRESQL
        return False

    def client(self, instance: Instance, process: str = "") -> str:
        address = f"http://127.0.0.1:{http_port(instance.data / self.home)}/exec?query=SELECT+build()"
        return secret.to_curl(instance.data, self.account, address)


def config_file(home: Path) -> Path:
    return home / "conf" / "server.conf"


def config(place: ServerPlace, http: int, password: str) -> str:
    """The whole configuration; what is left out is as shipped. http: the port of HTTP. Pure."""
    login = {name: password if name.endswith("password") else QuestdbLife.account for name in USERS}
    own = {**OWN, **login, PORT: f"127.0.0.1:{place.port}", HTTP: f"127.0.0.1:{http}"}
    return "".join(f"{name}={value}\n" for name, value in {**own, **place.settings}.items())


def http_port(home: Path) -> int:
    """The port of HTTP that the last server with these files had; 0: there was none."""
    file = config_file(home)
    text = file.read_text() if file.is_file() else ""
    found = re.search(rf"^{re.escape(HTTP)}=.*:(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


def java() -> str:
    """This machine's Java. Raises TargetError for one that is too old."""
    program = life.program("java", INSTALL)
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    if too_old(said):
        raise TargetError(f"{program} is {said.splitlines()[0] if said else 'no Java'}; {INSTALL}")
    return program


def too_old(said: str) -> bool:
    """Of what `java -version` says. Pure."""
    found = re.search(r'version "(\d+)', said)
    return found is None or int(found[1]) < JAVA
