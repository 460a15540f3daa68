"""The lives of a MySQL and of a MariaDB of inrush's own."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from inrush.engines.base.instance import Instance, Release
from inrush.engines.servers import debian, life, private, secret
from inrush.engines.servers.own_server import OwnServer, ServerPlace

MYSQL = {
    "9": debian.Packages(
        "mysql", "mysql-sid", "sid", ("mysql-server-core", "mysql-client-core"), "usr/sbin/mysqld"
    )
}
MARIADB = {
    "11.8": debian.Packages(
        "mariadb",
        "mariadb-11.8",
        "trixie",
        ("mariadb-server-core", "mariadb-client-core"),
        "usr/sbin/mariadbd",
    ),
    "10.11": debian.Packages(
        "mariadb",
        "mariadb-10.11",
        "bookworm",
        ("mariadb-server-core", "mariadb-client-core"),
        "usr/sbin/mariadbd",
    ),
}
#: The account that runs log in by, from this machine alone.
ACCOUNT = "inrush"
#: Statements that a server runs before it takes connections.
FIRST = "first.sql"
#: For tables that `inrush load` makes: its URL names a database.
DATABASE = "inrush"
#: First byte of the greeting that a server sends to each client that connects.
PROTOCOL = 10
GREETING_S = 5.0
SOCKET = "mysql.sock"
#: Options with which a server says no by its name.
SWITCHED_OFF = {"off", "0", "false"}


class MysqlLife(OwnServer):
    name = "mysql"
    title = "MySQL"
    home = "data"
    account = ACCOUNT
    #: What takes away accounts that its installer made beside root@localhost.
    fewer_accounts: ClassVar[tuple[str, ...]] = ()
    unknown_setting = re.compile(r"unknown (?:variable|option) '-*([^'=]+)")
    reserved = frozenset(
        {
            "port",
            "bind_address",
            "datadir",
            "basedir",
            "socket",
            "pid_file",
            "log_error",
            "tmpdir",
            "init_file",
        }
    )

    offers = MYSQL
    programs: ClassVar[tuple[str, ...]] = ("mysqld",)
    #: Its tables take about 200 MB, whatever the buffer pool is.
    with_less_memory = "performance_schema=OFF, innodb_buffer_pool_size"

    def url_of(self, port: int) -> str:
        return f"{self.name}://{ACCOUNT}@127.0.0.1:{port}/{DATABASE}"

    def make(self, place: ServerPlace) -> None:
        life.run_as(
            place.user,
            [self.program(place.release), *self._common(place), "--initialize"],
            place.home,
            "mysqld --initialize",
        )

    def before_launch(self, place: ServerPlace) -> None:
        for left in (SOCKET, f"{SOCKET}.lock"):
            private.remove(place.home / left)  # no server works here: they are a dead one's

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        self._write_first(place)
        return [self.program(place.release), *self._common(place), *_serve(place), "--mysqlx=OFF"]

    def _common(self, place: ServerPlace) -> list[str]:
        return [*folders(self.program(place.release)), f"--datadir={place.home}", f"--tmpdir={place.home}"]

    def _write_first(self, place: ServerPlace) -> None:
        statements = (*self.fewer_accounts, *first_statements(secret.of(place.data)))
        private.write(place.data / FIRST, "".join(f"{one};\n" for one in statements), place.user)

    def after_launch(self, place: ServerPlace) -> None:
        (place.data / FIRST).unlink(missing_ok=True)

    def socket_url(self, instance: Instance) -> str | None:
        file = instance.data / self.home / SOCKET
        if len(bytes(file)) > life.SOCKET_PATH_BYTES:
            return None
        url = f"{self.name}://{ACCOUNT}@localhost:{instance.port}/{DATABASE}?socket={quote(str(file))}"
        return secret.named(url, instance.data)

    def client(self, instance: Instance, process: str = "") -> str:
        return client(self.name, instance.release, instance.data, instance.port, ACCOUNT)

    def setting_name(self, name: str) -> str:
        return name.replace("-", "_").lower()

    def known_settings(self, release: Release) -> frozenset[str] | None:
        return None  # the server refuses what it does not know, and names it

    def is_ready(self, place: ServerPlace) -> bool:
        """It greets each client that connects: before, its tables are not open."""
        return greets(place.port)


class MariadbLife(MysqlLife):
    name = "mariadb"
    title = "MariaDB"

    offers = MARIADB
    programs = ("mariadbd", "mysqld")
    fewer_accounts = (
        "DELETE FROM mysql.global_priv WHERE User IN ('root', '') AND Host <> 'localhost'",
        "FLUSH PRIVILEGES",
    )
    with_less_memory = "innodb_buffer_pool_size"

    def make(self, place: ServerPlace) -> None:
        base = self.program(place.release).parent.parent
        scripts = (base / "bin/mariadb-install-db", base / "scripts/mariadb-install-db")
        installer = next((path for path in scripts if path.is_file()), scripts[0])
        script: list[str | Path] = ["sh", installer, "--no-defaults", f"--basedir={base}"]
        places = [f"--datadir={place.home}", f"--tmpdir={place.home}"]
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
        life.run_as(place.user, [*script, *places, *options], place.home, "mariadb-install-db")

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        self._write_first(place)
        return [self.program(place.release), *self._common(place), *_serve(place)]


def greets(port: int) -> bool:
    """Whether a server of this family answers on the port."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), GREETING_S) as connection,
    ):
        connection.settimeout(GREETING_S)
        greeting = connection.recv(5)  # length, sequence, protocol
        return len(greeting) == 5 and greeting[4] == PROTOCOL
    return False


def folders(program: Path) -> list[str]:
    """Where the files of a server's release are: as in a package, or as in an archive of its vendor."""
    base = program.parent.parent
    share = next((f for f in (base / "share/mysql", base / "share") if (f / "charsets").is_dir()), None)
    plugin = next((f for f in (base / "lib/mysql/plugin", base / "lib/plugin") if f.is_dir()), None)
    return [
        "--no-defaults",
        f"--basedir={base}",
        *([f"--lc-messages-dir={share}", f"--character-sets-dir={share}/charsets"] if share else []),
        *([f"--plugin-dir={plugin}"] if plugin else []),
        # LOAD DATA INFILE reads what the server's user may read, as COPY of PostgreSQL does: a study names the folder of its
        # files (`server_file`). It takes an account with the right FILE, and none has no password.
        "--secure-file-priv=",
    ]


def _serve(place: ServerPlace) -> list[str | Path]:
    """Loopback only; the log goes where the process writes."""
    return [
        f"--port={place.port}",
        "--bind-address=127.0.0.1",
        f"--socket={SOCKET}",
        f"--pid-file={place.home}/server.pid",
        f"--init-file={place.data / FIRST}",
        "--skip-name-resolve",
        "--local-infile=1",
        *[option(name, value) for name, value in place.settings.items()],
    ]


def first_statements(password: str) -> list[str]:
    """Accounts and the database of runs. Pure."""
    both = [f"{ACCOUNT}@'{host}'" for host in ("127.0.0.1", "localhost")]  # by the network and by the socket
    return [
        f"ALTER USER root@localhost IDENTIFIED BY '{password}'",
        f"CREATE DATABASE IF NOT EXISTS {DATABASE}",
        *(f"CREATE USER IF NOT EXISTS {who} IDENTIFIED BY '{password}'" for who in both),
        *(f"GRANT ALL ON *.* TO {who} WITH GRANT OPTION" for who in both),
    ]


def client(name: str, release: Release, data: Path, port: int, user: str) -> str:
    """A command of its own client. The variable is read by the clients of both, and shown to no other user."""
    program = life.client_program(release.path, name)
    return secret.to_variable(data, "MYSQL_PWD", f"{program} -h 127.0.0.1 -P {port} -u {user}")


def option(name: str, value: str) -> str:
    """A setting as an argument. A log that is switched off is an option of its own: `OFF` would be its file's name."""
    if name == "log_bin" and value.lower() in SWITCHED_OFF:
        return "--skip-log-bin"
    return f"--{name}={value}"
