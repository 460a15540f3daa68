"""The life of an InfluxDB 1 of inrush's own, and the file that it reads."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from inrush.engines.base.instance import Instance, Release
from inrush.engines.servers import debian, life, ports, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace
from inrush.errors import TargetError

INFLUXDB = {
    "1.6": debian.Packages(
        "influxdb", "influxdb-1.6", "bookworm", ("influxdb",), "usr/bin/influxd", ("version",)
    )
}
FOLDERS = ("meta", "data", "wal")
SHOW = "/query?q=SHOW+DATABASES"
#: What a server without an account answers.
FIRST = b"create admin user first"

#: Section of the file -> its name among the settings that the server reports.
SHOWN_SECTIONS = {"http": "httpd"}


class InfluxdbLife(OwnServer):
    name = "influxdb"
    title = "InfluxDB"
    series = 1
    account = "inrush"
    left_open = "its port for backups, on the loopback address, asks for no password: every user of this machine can copy its data"
    reserved = frozenset(
        {"bind-address", "http.bind-address", "http.auth-enabled", "meta.dir", "data.dir", "data.wal-dir"}
    )

    offers = INFLUXDB

    def url_of(self, port: int) -> str:
        return f"influxdb://{self.account}@127.0.0.1:{port}/"

    def make(self, place: ServerPlace) -> None:
        for folder in FOLDERS:
            private.folder(place.home / folder, place.user)

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        file = place.data / "influxdb.conf"
        private.write(file, config(place, ports.free_port()), place.user)
        return [self.program(place.release), "run", "-config", file]

    def setting_name(self, name: str) -> str:
        section, _, own = name.partition(".")
        return f"config-{SHOWN_SECTIONS.get(section, section)}.{own}"

    def known_settings(self, release: Release) -> frozenset[str] | None:
        """The server passes over what it does not know; the names are those of the file that it prints."""
        program = self.program(release)
        output = subprocess.run([program, "config"], capture_output=True, text=True, check=False)
        return names(output.stdout)

    def is_ready(self, place: ServerPlace) -> bool:
        """A new server lets every user make the first account, and do nothing else before: it is made here.

        Raises TargetError where another user was faster: then that server is theirs, and it has no data of ours.
        """
        if life.http_answer(place.port, "/ping")[0] != 204:
            return False
        password = secret.of(place.data)
        status, body = life.http_answer(place.port, SHOW, (self.account, password))
        if status == 403 and FIRST in body:
            made = f"CREATE USER {self.account} WITH PASSWORD '{password}' WITH ALL PRIVILEGES"
            life.http_answer(place.port, "/query", form={"q": made})
            status, body = life.http_answer(place.port, SHOW, (self.account, password))
        if status == 401:
            raise TargetError(
                f"{self.title} in {place.data}: its account is not the one of this folder; another user of this machine may have "
                "made the first one; choose another --data"
            )
        return status == 200

    def client(self, instance: Instance, process: str = "") -> str:
        return secret.to_curl(instance.data, self.account, f"http://127.0.0.1:{instance.port}{SHOW}")


def config(place: ServerPlace, between: int) -> str:
    """The whole configuration. `between`: the port of backups, on the loopback address too."""
    own = {
        "reporting-disabled": "true",
        "bind-address": f"127.0.0.1:{between}",
        "meta.dir": f"{place.home}/meta",
        "data.dir": f"{place.home}/data",
        "data.wal-dir": f"{place.home}/wal",
        "http.bind-address": f"127.0.0.1:{place.port}",
        "http.auth-enabled": "true",
        # Its pages are shown without a log-in, and hold what lies in the memory.
        "http.pprof-enabled": "false",
        "http.log-enabled": "false",
        "data.query-log-enabled": "false",
    }
    return toml({**own, **place.settings})


def toml(settings: Mapping[str, str]) -> str:
    """Settings named section.key as sections of a file. Pure."""
    sections: dict[str, list[str]] = {"": []}
    for name, value in settings.items():
        section, _, key = name.rpartition(".")
        sections.setdefault(section, []).append(f"{key} = {literal(value)}")
    blocks = [*sections[""]]
    for section, lines in sections.items():
        blocks += [f"[{section}]", *lines] if section else []
    return "\n".join(blocks) + "\n"


def literal(value: str) -> str:
    """A whole number or a truth value as it is, all else as a text."""
    return value if re.fullmatch(r"-?\d+|true|false", value) else json.dumps(value)


def names(printed: str) -> frozenset[str]:
    """Names in a configuration file that a server printed, as section.key. Pure."""
    found, section = set(), ""
    for line in printed.splitlines():
        if header := re.fullmatch(r"\s*\[+([\w.-]+)\]+\s*", line):
            section = header[1] + "."
        elif entry := re.match(r"\s*([\w-]+)\s*=", line):
            found.add(section + entry[1])
    return frozenset(found)
