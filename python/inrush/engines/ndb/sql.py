"""The SQL node of a MySQL Cluster: a `mysqld` with the NDB engine, where one is found. inrush fetches and builds none for it.

It is a process of the cluster's instance, begun behind the data nodes, with files and a port of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from inrush.engines.base.instance import Instance, Release
from inrush.engines.mysql import life as mysql_life
from inrush.engines.mysql.life import FIRST, MysqlLife, folders, greets
from inrush.engines.ndb.release import HOME, SQL_FOLDER, SQL_PROGRAM
from inrush.engines.servers import life, ports, private, secret
from inrush.engines.servers.own_server import ServerPlace, ServerProcess

#: Its role, and the folder of its files below the cluster's.
ROLE = "sql"
PROGRAM = SQL_PROGRAM
#: An option that a `mysqld` without the engine does not have.
HAS_ENGINE = "--ndb-connectstring"
#: Beside the data: it stays over restarts, as the cluster's own does.
PORT = "sql.port"
SOCKET = "mysql.sock"
ACCOUNT = "root"
#: Where a `mysqld` says why it ended.
ERROR = re.compile(r"\[ERROR\] \[MY-\d+\] \[\w*\] (.*)")
#: Of the last word of every `mysqld` that gives up, which names no reason.
ABORTING = "Aborting"
HELP_S = 60.0
#: What it takes of memory as shipped, at least.
BYTES = 400 << 20


def places(release: Release) -> Iterator[tuple[Path, str]]:
    """Folders that are searched, each with what it is."""
    if home := os.environ.get(HOME):
        yield Path(home), HOME
    # Without programs the path is empty, and what lies in the current folder is another's.
    if release.path.is_absolute():
        yield release.path / SQL_FOLDER, "beside the programs of the archive"
    if (mysql := MysqlLife().fetched()) is not None and series(mysql.version) == series(release.version):
        yield mysql.path, "the MySQL that `inrush engines fetch mysql` got"


def series(version: str) -> list[str]:
    return re.findall(r"\d+", version)[:2]


def program(release: Release) -> Path | None:
    """The first one that has the engine."""
    for folder, _ in places(release):
        for path in sorted(folder.rglob(PROGRAM)):
            if path.is_file() and os.access(path, os.X_OK) and has_engine(path, path.stat().st_mtime_ns):
                return path
    return None


@lru_cache(maxsize=64)
def has_engine(path: Path, _changed_ns: int) -> bool:
    try:
        done = subprocess.run(
            [path, "--no-defaults", "--verbose", "--help"],
            capture_output=True, text=True, errors="replace", check=False, timeout=HELP_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return HAS_ENGINE in done.stdout


def refusal(release: Release) -> str:
    """Why a cluster has no SQL node here, in one line."""
    searched = ", ".join(f"{folder} ({what})" for folder, what in places(release))
    return (
        f"ndb,sql=true: there is no {PROGRAM} with the NDB engine in {searched}; name a folder that has one, beside the programs "
        f"of the cluster, by {HOME}, or `inrush engines fetch mysql` where its version is {'.'.join(series(release.version))}; or "
        "start the cluster without it and let a mysqld of your own join by a free API slot: "
        "mysqld --ndbcluster --ndb-connectstring=HOST:PORT of `inrush engines status ndb`"
    )


def url_in(data: Path) -> str:
    """The address of the node of the cluster in this folder."""
    return secret.named(f"mysql://{ACCOUNT}@127.0.0.1:{last_port(data)}/", data)


def client(instance: Instance) -> str:
    """A command of the client that lies beside the node's program, else of an installed one."""
    found = program(instance.release)
    release = replace(instance.release, path=found.parent if found is not None else Path())
    return mysql_life.client("mysql", release, instance.data, last_port(instance.data), ACCOUNT)


def last_port(data: Path) -> int:
    """That of the node in this folder; 0: it had none."""
    file = data / PORT
    return int(file.read_text()) if file.is_file() else 0


def make(place: ServerPlace, found: Path) -> None:
    """Its files, where they are not there, and a port."""
    home, port = place.home / ROLE, last_port(place.data)
    for left in (SOCKET, f"{SOCKET}.lock"):
        private.remove(home / left)  # no server works here: they are a dead one's
    if port == 0:
        # A folder without a port is one of a start that was cut off.
        shutil.rmtree(home, ignore_errors=True)
        private.folder(home, place.user)
        secret.make(place.data)
        alone = [found, *common(found, home), "--ndbcluster=OFF"]
        life.run_as(place.user, [*alone, "--initialize"], home, f"{PROGRAM} --initialize")
        # Apart from the cluster: the engine sends a change of accounts to all nodes, which it has not joined yet.
        alone += ["--skip-networking", "--mysqlx=OFF", f"--socket={SOCKET}", f"--pid-file={home}/server.pid"]
        statements = f"ALTER USER {ACCOUNT}@localhost IDENTIFIED BY '{secret.of(place.data)}';\nSHUTDOWN;\n"
        with private.for_a_while(place.data / FIRST, statements, place.user) as file:
            life.run_as(
                place.user, [*alone, f"--init-file={file}"], home, f"{PROGRAM} with its first password"
            )
    else:
        secret.of(place.data)
    if port == 0 or not ports.is_free(port):
        private.write(place.data / PORT, f"{ports.free_port()}\n")


def process(place: ServerPlace, found: Path, log: Path, node_id: int) -> ServerProcess:
    home, port = place.home / ROLE, last_port(place.data)
    command: list[str | Path] = [
        found, *common(found, home),
        f"--port={port}", "--bind-address=127.0.0.1", f"--socket={SOCKET}", f"--pid-file={home}/server.pid",
        "--skip-log-bin", "--mysqlx=OFF",
        "--ndbcluster", f"--ndb-connectstring=127.0.0.1:{place.port}", f"--ndb-nodeid={node_id}",
    ]  # fmt: skip
    return ServerProcess(command, log, lambda: greets(port) and ports.serves(port, home), ROLE, failure)


def common(found: Path, home: Path) -> Sequence[str | Path]:
    return [*folders(found), f"--datadir={home / 'data'}", f"--tmpdir={home}"]


def failure(lines: Sequence[str]) -> str:
    """Why it ended: the last error that says a reason. Pure."""
    said = [found[1].strip() for line in lines if (found := ERROR.search(line))]
    return next((text for text in reversed(said) if text != ABORTING), "")
