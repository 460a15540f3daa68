"""Servers that comparisons work on: named by `INRUSH_<ENGINE>_URL`, or started for as long as the bench lasts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Instance
from inrush.engines.clickhouse.life import native_port
from inrush.engines.servers import secret

#: Started for the bench, by engine.
INSTANCES: dict[str, Instance] = {}


def offer(instance: Instance) -> None:
    """From now on comparisons find this server."""
    INSTANCES[instance.engine] = instance
    os.environ[f"INRUSH_{instance.engine.upper()}_URL"] = instance.url


def url_of(engine: str) -> str | None:
    """A server that may be written to."""
    return os.environ.get(f"INRUSH_{engine.upper()}_URL")


def host_and_port(engine: str) -> tuple[str, int]:
    parts = urlsplit(str(url_of(engine)))
    assert parts.port is not None, "a URL of a bench names its port"
    return parts.hostname or "127.0.0.1", parts.port


def socket_of(engine: str) -> str | None:
    """The file of a MySQL's or MariaDB's socket, where its URL names one."""
    return dict(parse_qsl(urlsplit(str(url_of(engine))).query)).get("socket")


@contextmanager
def by_socket(engine: str) -> Iterator[None]:
    """Both sides reach the server that was started for the bench by its Unix socket."""
    own = server(engine).lifecycle
    assert own is not None
    url = own.socket_url(INSTANCES[engine])
    assert url is not None, "a bench's folder is short enough for a socket"
    variable = f"INRUSH_{engine.upper()}_URL"
    before, os.environ[variable] = os.environ[variable], url
    try:
        yield
    finally:
        os.environ[variable] = before


def user_of(engine: str) -> str:
    return urlsplit(str(url_of(engine))).username or "root"


def program(engine: str, name: str) -> str | None:
    """A peer's program: of the release that runs, else one that is installed."""
    instance = INSTANCES.get(engine)
    own = instance.release.path / "usr" / "bin" / name if instance else None
    return str(own) if own and own.is_file() else shutil.which(name)


def client_words(engine: str) -> tuple[list[str], dict[str, str]]:
    """How the engine's own client reaches the server: words of its command line, and variables. Its program takes a password
    from a file only where that is libpq."""
    url = str(url_of(engine))
    if engine == "postgresql":
        return [url], {}
    host, port = host_and_port(engine)
    password = password_of(engine)
    if engine == "clickhouse":
        native = native_port(INSTANCES[engine].data) if engine in INSTANCES else 9000
        return [f"--host={host}", f"--port={native}", *([f"--password={password}"] if password else [])], {}
    words = [f"--host={host}", f"--port={port}", "--protocol=tcp", f"--user={user_of(engine)}"]
    if database := urlsplit(url).path.strip("/"):
        words.append(f"--database={database}")
    return words, {"MYSQL_PWD": password} if password else {}


def password_of(engine: str) -> str:
    """Of a server that inrush started; of another one what its URL says, or nothing."""
    url = str(url_of(engine))
    file = secret.file_in(url)
    return (secret.in_file(Path(file)) if file else urlsplit(url).password) or ""


def ask(engine: str, statement: str, limit_s: float = 60.0) -> list[list[object]]:
    """Rows of a statement, off every clock."""
    target = {"engine": engine, "url": str(url_of(engine)), "options": {}}
    rows: list[list[object]] = json.loads(_core.control(json.dumps(target), statement, limit_s))["rows"]
    return rows


def call(command: list[str], variables: Mapping[str, str] | None = None) -> str:
    """What a peer prints. Raises RuntimeError with its own words."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} failed: {(done.stdout + done.stderr).strip()[-400:]}")
    return done.stdout
