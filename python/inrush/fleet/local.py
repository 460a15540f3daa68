"""A fleet on this machine: a scheduler and its workers, each a process of Dask's own program, for one study.

Its nodes listen on loopback alone, without HTTP. They let in whoever has the certificate that is made for this one fleet,
which lies in its folder: other users of the machine cannot read it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.agent.process import AGENT, Process
from inrush.border.events import Event
from inrush.border.words import Document
from inrush.errors import TargetError
from inrush.fleet.address import LOOPBACK
from inrush.fleet.link import Link, Lost
from inrush.fleet.remote import SECRETS
from inrush.machine.secret_files import self_signed, write_secret

#: Of the folder of a fleet, and of the file in it that the inrush that owns it has locked.
PREFIX, OWNER = "inrush-fleet-", "owner"
#: The program of a node.
NODE = AGENT
#: A busy machine takes long to start them.
READY_S = 120.0
#: What Dask would do on the side while sessions are measured: nothing of it is of use here.
QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "False",
    # Every 20 and 500 ms, of each process: half of all that a scheduler and three workers use.
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
}
#: A node has the port of Dask's own protocol, and no other.
NO_HTTP = "inrush.fleet.no_http"


@dataclass(frozen=True)
class LocalFleet:
    #: The scheduler's.
    address: str
    #: Of this user alone, and gone with the fleet.
    folder: Path

    @property
    def variables(self) -> Path:
        """The file from which its workers read variables. It is there while a run begins."""
        return self.folder / "variables"

    @property
    def certificate(self) -> Path:
        """The certificate of all nodes and of inrush, with its private key. It is its own authority."""
        return self.folder / "certificate.pem"

    def environment(self) -> Mapping[str, str]:
        """What each of its nodes needs: paths, and nothing secret."""
        return {
            **QUIET,
            **tls_variables(self.certificate),
            "DASK_DISTRIBUTED__SCHEDULER__PRELOAD": NO_HTTP,
            "DASK_DISTRIBUTED__WORKER__PRELOAD": NO_HTTP,
            "DASK_TEMPORARY_DIRECTORY": str(self.folder),
            SECRETS: str(self.variables),
        }

    def link(self) -> Link:
        return Link(self.address, certificate=self.certificate)


def tls_variables(certificate: Path) -> dict[str, str]:
    """Dask's settings, as it reads them from the environment. They replace those of the user, which belong to another fleet."""
    files = {f"{role}__{what}": str(certificate) for role in ROLES for what in ("CERT", "KEY")}
    tls = {"CA_FILE": str(certificate), **files}
    return {
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        **{f"DASK_DISTRIBUTED__COMM__TLS__{name}": path for name, path in tls.items()},
    }


#: As Dask's settings name those that speak with each other.
ROLES = ("SCHEDULER", "WORKER", "CLIENT")


@contextlib.contextmanager
def started(workers: int) -> Iterator[LocalFleet]:
    remove_left(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, contextlib.ExitStack() as held:
        folder = Path(name)  # of this user alone
        held.enter_context(owned(folder))
        fleet = LocalFleet("", folder)
        write_secret(fleet.certificate, "".join(self_signed([LOOPBACK])))  # Dask looks for no name in it

        def start(log: str, *words: str) -> Process[Event]:
            started = node(folder, log, words, fleet.environment())
            held.callback(started.close)
            held.callback(started.kill)
            return started

        said = folder / "scheduler.json"
        scheduler = start(
            "scheduler.log", "scheduler", "--protocol", "tls", "--host", LOOPBACK, "--port", "0", "--no-dashboard",
            "--no-show", "--scheduler-file", str(said),
        )  # fmt: skip
        until(lambda: address_of(said) != "", [scheduler], folder)
        fleet = LocalFleet(address_of(said), folder)
        nodes = [scheduler] + [
            start(
                f"worker-{n}.log", "worker", fleet.address, "--host", LOOPBACK, "--nworkers", "1", "--nthreads", "1",
                "--no-nanny", "--no-dashboard", "--memory-limit", "0", "--name", f"{n:03}", "--local-directory",
                str(folder), "--death-timeout", "10",
            )
            for n in range(1, workers + 1)
        ]  # fmt: skip
        link = fleet.link()
        try:
            until(lambda: len(link.workers()) == workers, nodes, folder)
        except Lost as e:
            raise TargetError(str(e)) from None
        finally:
            link.close()
        yield fleet


def node(folder: Path, log: str, words: Sequence[str], environment: Mapping[str, str]) -> Process[Event]:
    """A scheduler or a worker, by the first of the words; the others are for Dask."""
    document: Document = {"does": "node", "parts": str(folder), "arguments": words}
    return Process(document, folder / log, environment, command=NODE)


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """A lock on a file in it, which the kernel lets go of with this process, however it ends."""
    unlocked = folder / f"{OWNER}.new"
    with unlocked.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        unlocked.rename(folder / OWNER)  # it is locked when it is seen
        yield


def remove_left(temporary: Path) -> None:
    """Folders of fleets of this user whose inrush is gone: it was killed, and could not."""
    for folder in temporary.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / OWNER).open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def write_variables(path: Path, variables: dict[str, str]) -> None:
    """Read by this user alone."""
    write_secret(path, "".join(f"{name}={value}\n" for name, value in variables.items()))


def address_of(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError):
        return ""  # not there, or not written to its end


def until(ready: Callable[[], bool], nodes: list[Process[Event]], folder: Path) -> None:
    """Raises TargetError with the end of the log of one that ended."""
    end = time.monotonic() + READY_S
    while not ready():
        for node in nodes:
            if node.event(0.0) is not None:  # it says but one thing: that it has ended
                raise TargetError(f"a process of the local fleet ended\n{last_lines(node.log)}")
        if time.monotonic() > end:
            raise TargetError(f"the local fleet was not there after {READY_S:g} s; its logs: {folder}")
        time.sleep(0.05)


def last_lines(log: Path | None) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-8:]) if log is not None else ""
