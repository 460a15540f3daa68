"""The life of a QuestDB of inrush's own: one jar, run by the Java of this machine, and the file that it reads."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from inrush.engines import greeting, life, maven
from inrush.engines.greeting import Protocol
from inrush.engines.instance import Release
from inrush.engines.own_server import OwnServer, Place
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
#: What inrush sets itself: one port, on the loopback address; what it does not know, it refuses.
OWN = {
    "http.enabled": "false",
    "http.min.enabled": "false",
    "line.tcp.enabled": "false",
    "telemetry.enabled": "false",
    "config.validation.strict": "true",
    # inrush limits its statements itself; as shipped, the server ends them after 60 s and idle sessions after 300 s. In ms: a day.
    "query.timeout": "86400000",
    "pg.net.idle.timeout": "86400000",
}
PORT = "pg.net.bind.to"


class QuestdbLife(OwnServer):
    name = "questdb"
    title = "QuestDB"
    reserved = frozenset({*OWN, PORT, "cairo.root", "pg.user", "pg.password"})

    offers = QUESTDB

    def url_of(self, port: int) -> str:
        return f"questdb://admin@127.0.0.1:{port}/qdb"

    def make(self, place: Place) -> None:
        """The server makes its files itself."""

    def command(self, place: Place) -> Sequence[str | Path]:
        folder = life.own_folder(place.home / "conf", place.user)
        (folder / "server.conf").write_text(config(place))
        (folder / "server.conf").chmod(0o644)
        return [java(), *OPTIONS, "-p", self.program(place.release), "-m", MAIN, "-d", place.home]

    def known_settings(self, release: Release) -> frozenset[str] | None:
        """The server refuses to start with one that it does not know, and says which."""
        return None

    def is_ready(self, place: Place) -> bool:
        """It listens last, when its tables are open."""
        with contextlib.suppress(OSError):
            port = greeting.Port("127.0.0.1", place.port)
            said = greeting.answer(port, greeting.FIRST_WORDS[Protocol.POSTGRESQL], READY_S)
            return said is not None and greeting.protocol_of(said) is Protocol.POSTGRESQL
        return False


def config(place: Place) -> str:
    """The whole configuration; what is left out is as shipped. Pure."""
    own = {**OWN, PORT: f"127.0.0.1:{place.port}"}
    return "".join(f"{name}={value}\n" for name, value in {**own, **place.settings}.items())


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
