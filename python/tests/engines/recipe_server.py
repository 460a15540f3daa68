"""What the recipes of fleets need beside their cluster: a server that asks for a password, and eyes for where it shows."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from inrush.engines import server
from inrush.engines.base.instance import Stop
from inrush.results.store import Results, Store
from tests.strategies import ENVIRONMENT

from .servers import SETTINGS, need, own_server

#: What a recipe takes at most, s: a busy machine starts Python slowly.
LIMIT_S = 400
USER = "recipe"


@dataclass(frozen=True)
class Asking:
    """A PostgreSQL that lets one user in with a password alone."""

    #: Without the password.
    url: str
    password: str
    programs: Path

    def psql(self, user: str, password: str | None) -> int:
        parts = urlsplit(self.url)
        command = [
            str(self.programs / "psql"), "-w", "-h", str(parts.hostname), "-p", str(parts.port), "-U", user, "-d", "postgres",
            "-c", "SELECT 1",
        ]  # fmt: skip
        env = {**os.environ, **({"PGPASSWORD": password} if password else {})}
        return subprocess.run(command, env=env, capture_output=True, check=False, timeout=60).returncode


@contextlib.contextmanager
def asking_server(folder: Path) -> Iterator[Asking]:
    need("postgresql")
    instance = own_server("postgresql").start(folder / "postgresql", SETTINGS["postgresql"])
    try:
        parts = urlsplit(instance.url)
        password = f"a-secret-{secrets.token_hex(12)}"
        programs = next(
            p for p in (Path(f"/proc/{instance.pid}/exe").resolve().parent,) if (p / "psql").exists()
        )
        create = (
            f"CREATE ROLE {USER} SUPERUSER LOGIN PASSWORD '{password}'; CREATE DATABASE bench OWNER {USER}"
        )
        for statement in create.split("; "):
            subprocess.run(
                [str(programs / "psql"), "-w", "-q", "-d", instance.url, "-c", statement],
                check=True,
                timeout=60,
            )
        access = next((folder / "postgresql").rglob("pg_hba.conf"))
        access.write_text(f"host all {USER} all scram-sha-256\n{access.read_text()}")
        subprocess.run(
            [str(programs / "psql"), "-w", "-q", "-d", instance.url, "-c", "SELECT pg_reload_conf()"],
            check=True, timeout=60, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        found = Asking(f"postgresql://{USER}@{parts.hostname}:{parts.port}/bench", password, programs)
        end = time.monotonic() + 30
        while found.psql(USER, None) == 0:
            assert time.monotonic() < end, "the server lets in without a password"
            time.sleep(0.1)
        assert found.psql(USER, password) == 0
        yield found
    finally:
        own_server("postgresql").stop(instance, Stop.CLEAN)


@dataclass
class Eyes:
    """Looks at the command lines of all processes, and into files that do not stay, while a recipe runs."""

    secret: bytes
    folders: tuple[Path, ...] = ()
    seen: set[str] = field(default_factory=set)
    #: Programs of the fleet that were seen: a look that saw nothing would find no secret either.
    words: set[str] = field(default_factory=set)

    def look(self) -> None:
        for path in (path for folder in self.folders for path in folder.rglob("*")):
            with contextlib.suppress(OSError):
                if path.is_file() and self.secret in path.read_bytes():
                    self.seen.add(str(path))
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = entry.read_bytes()
                if self.secret in line:
                    self.seen.add(line.replace(b"\0", b" ").decode(errors="replace"))
                words = {word.rpartition(b"/")[2].decode(errors="replace") for word in line.split(b"\0")}
                self.words |= words & {"ssh", "srun", "drive"}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        over = threading.Event()

        def go_on() -> None:
            while not over.wait(0.05):
                self.look()

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def pasted(script: str, home: Path, typed: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The script in a bash of its own, with what is typed at its questions."""
    file = home / "pasted.sh"
    file.write_text(f"set -e\n{script}")
    whole = {**ENVIRONMENT, "HOME": str(home), "INRUSH_RESULTS": str(home / "results"), **env}
    # A reader's shell, and those of the hosts, have what the page sets.
    ours = ("DASK_", "INRUSH_FLEET", *server("postgresql").client_variables, "PGPASSWORD")
    whole = {name: value for name, value in whole.items() if not name.startswith(ours) or name in env}
    return subprocess.run(
        ["bash", str(file)], input=f"{typed}\n", env=whole, cwd=home, text=True, check=False, timeout=LIMIT_S,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def tried(line: str) -> str:
    """The command, again where it was refused: on a busy machine a worker's core may look slow, and nothing has run then."""
    return (
        f"for again in 1 2 3; do\ncode=0\n{line.rstrip()} || code=$?\n[ $code = 2 ] || break\ndone\n"
        # 3: the machine was busy, or the core is a debug build.
        "[ $code = 0 ] || [ $code = 3 ]\n"
    )


def proven(home: Path, clients: int) -> Results:
    """The one study of the recipe: done, right, by so many workers."""
    (study,) = Store(home / "results").studies()
    assert study.doc["status"] == "done", study.doc
    found = Results(study.path)
    sealed = found.runs[-1]
    measured = [r for r in sealed.table("repetitions").to_pylist() if r["role"] == "clients"]
    assert measured and all(r["wrong"] == r["errors"] == 0 and r["ok"] > 0 for r in measured), measured
    proofs = sealed.table("proofs").to_pylist()
    assert proofs and all(p["holds"] for p in proofs), proofs
    assert (
        sealed.doc["clients"]["count"] == clients == len({w["pid"] for w in sealed.doc["clients"]["workers"]})
    )
    return found


def files_with(secret: str, *folders: Path) -> list[Path]:
    return [
        path for folder in folders for path in folder.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]  # fmt: skip


def gone(pid: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while (
        Path(f"/proc/{pid}").exists()
        and "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]
    ):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
