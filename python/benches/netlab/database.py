"""PostgreSQL on a host of a laboratory: at its second address all hosts reach it without delay, at its first by their ways."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from benches.netlab.lab import FAST, SLOW, Host
from inrush.engines.postgresql.life import PostgresqlLife

PORT = 5432
#: PostgreSQL refuses to run as root.
NOBODY = 65534
READY_S = 60.0
SETTINGS = {"shared_buffers": "64MB", "max_wal_size": "512MB", "unix_socket_directories": ""}


@contextlib.contextmanager
def postgresql(host: Host, folder: Path, by_ways: bool = False) -> Iterator[str]:
    """Its URL, with its second address, or by_ways with its first. folder: an empty one, which that user may enter; the programs are fetched where they are not there."""
    life = PostgresqlLife()
    programs = life.program(life.fetch()).parent
    home, log = folder / "cluster", folder / "log"
    folder.mkdir(exist_ok=True)
    os.chown(folder, NOBODY, NOBODY)
    made = host.start(
        [str(programs / "initdb"), "-D", str(home), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"],
        log, cwd=folder, user=NOBODY,
    )  # fmt: skip
    if made.wait(READY_S) != 0:
        raise RuntimeError(f"initdb failed: {log.read_text()[-500:]}")
    with (home / "pg_hba.conf").open("a") as file:
        file.write(f"host all all {SLOW if by_ways else FAST}.0/24 trust\n")
    address = host.address if by_ways else host.fast
    settings = {**SETTINGS, "listen_addresses": address, "port": str(PORT)}
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    server = host.start([str(programs / "postgres"), "-D", str(home), *words], log, cwd=folder, user=NOBODY)
    try:
        end = time.monotonic() + READY_S
        while not is_ready(home):
            if server.code() is not None or time.monotonic() > end:
                raise RuntimeError(f"PostgreSQL did not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        yield f"postgresql://postgres@{address}:{PORT}/postgres"
    finally:
        server.kill()
        server.wait(10.0)


def is_ready(home: Path) -> bool:
    with contextlib.suppress(OSError):
        lines = (home / "postmaster.pid").read_text().splitlines()
        return len(lines) >= 8 and lines[7].strip() == "ready"
    return False
