"""The life of a PostgreSQL of inrush's own."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from inrush.engines.base.instance import Instance, Release
from inrush.engines.postgresql import release as postgresql_release
from inrush.engines.servers import life, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace
from inrush.errors import UsageError


class PostgresqlLife(OwnServer):
    """initdb, postgres, and a log in the instance's folder."""

    name = "postgresql"
    title = "PostgreSQL"
    #: Data files are the same within a major version.
    series = 1
    home = "cluster"
    account = "postgres"
    #: A fast shutdown: sessions end, a checkpoint is written.
    stop_signal = signal.SIGINT
    with_less_memory = "shared_buffers, maintenance_work_mem"
    unknown_setting = re.compile(r'unrecognized configuration parameter "([^"]+)"')
    reserved = frozenset({"listen_addresses", "port", "unix_socket_directories", "data_directory"})

    def fetch(self, version: str | None = None) -> Release:
        if version is not None:
            raise UsageError(
                f"{self.name}: the version is that of the programs; {postgresql_release.VARIABLE} names others"
            )
        return postgresql_release.fetch()

    def fetched(self, version: str | None = None) -> Release | None:
        return postgresql_release.chosen() or postgresql_release.installed() or postgresql_release.cached()

    def program(self, release: Release) -> Path:
        return release.path / "postgres"

    def url_of(self, port: int) -> str:
        return f"{self.name}://{self.account}@127.0.0.1:{port}/postgres"

    def is_made(self, home: Path) -> bool:
        return (home / "PG_VERSION").is_file()

    def make(self, place: ServerPlace) -> None:
        """An empty database in UTF-8 and plain byte order."""
        options = ["-U", self.account, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]
        initdb = self.program(place.release).parent / "initdb"
        with private.for_a_while(place.data / "first", secret.of(place.data) + "\n", place.user) as password:
            command: list[str | Path] = [initdb, "-D", place.home, *options, f"--pwfile={password}"]
            life.run_as(place.user, command, place.home, "initdb")

    def made_by(self, home: Path) -> str:
        try:
            return (home / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return ""

    def before_launch(self, place: ServerPlace) -> None:
        # No server works here: they are a dead one's, whose id may be another process's by now.
        (place.home / "postmaster.pid").unlink(missing_ok=True)
        for left in place.home.glob(".s.PGSQL.*"):
            left.unlink()

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        options = {
            **place.settings,
            "listen_addresses": "127.0.0.1",
            "port": str(place.port),
            "unix_socket_directories": socket_folder(place),
        }
        argv: list[str | Path] = [self.program(place.release), "-D", place.home]
        for key, value in options.items():
            argv += ["-c", f"{key}={value}"]
        return argv

    def socket_url(self, instance: Instance) -> str | None:
        folder = instance.data / self.home
        if not socket_fits(folder, instance.port):
            return None
        url = f"{self.name}://{self.account}@:{instance.port}/postgres?host={quote(str(folder))}"
        return secret.named(url, instance.data)

    def client(self, instance: Instance, process: str = "") -> str:
        url = instance.url.replace(f"{self.name}://", "postgresql://", 1)
        return f"{life.client_program(instance.release.path, 'psql')} {shlex.quote(url)}"

    def setting_name(self, name: str) -> str:
        return name.lower()

    def known_settings(self, release: Release) -> frozenset[str] | None:
        return None  # the server refuses what it does not know, and names it

    def is_ready(self, place: ServerPlace) -> bool:
        """The server says so in its pid file, and answers."""
        try:
            lines = (place.home / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        from inrush import _core

        target = {"engine": self.name, "url": self.url_in(place.data, place.port), "options": {}}
        try:
            _core.control(json.dumps(target), "SELECT 1", 10.0)
        except _core.CoreFailure:
            return False
        return True


def socket_fits(folder: Path, port: int) -> bool:
    return len(bytes(folder / f".s.PGSQL.{port}")) <= life.SOCKET_PATH_BYTES


def socket_folder(place: ServerPlace) -> str:
    """The server's folder, which no other user enters, as a list of one name; none where a socket's path would be too long, which keeps a server from
    starting: a URL that names that folder is refused with the reason."""
    if not socket_fits(place.home, place.port):
        return ""
    return '"' + str(place.home).replace('"', '""') + '"'
