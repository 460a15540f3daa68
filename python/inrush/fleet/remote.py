"""What a worker of a Dask cluster does for a run: it keeps one client process, and carries its words, events and tables.

The functions here are called on the worker, by `Client.run`: a call is neither a task nor retried nor moved. A client
process that is not called for ends by its leash, whatever has become of the worker, the scheduler or the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import platform
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from inrush.agent.process import Process, left
from inrush.border.events import Event
from inrush.border.words import Document, Word
from inrush.study.files import NO_ROOM

if TYPE_CHECKING:
    from typing_extensions import NotRequired

#: A client process ends when it was not called for so long.
LEASH_S = 2.0
#: A busy machine takes so long to start a program, s.
START_S = 10.0
#: What of tables travels in one answer at most.
BYTES = 8_000_000
#: What is left of a run that no one asked for so long is removed.
FORGOTTEN_S = 15.0
#: Names a file with variables for client processes, `NAME=value` a line; in place of the worker's own environment.
SECRETS = "INRUSH_FLEET_SECRETS"


class WorkerAnswer(TypedDict):
    """What a worker says when it is called for."""

    #: Of its CLOCK_MONOTONIC: when it was asked, and when it answers.
    heard_ns: int
    answered_ns: int
    events: Sequence[Event]
    #: Table -> its bytes behind those that were taken before.
    grown: Mapping[str, bytes]
    #: More of them are there.
    more: bool
    #: Since the process said something, s.
    silent_s: float
    #: Of a process that has ended: how; and of one that said nothing of it, the path of its log there. What is in it may be
    #: secret, and stays.
    code: NotRequired[int]
    log: NotRequired[str]


@dataclass
class Kept:
    """The one client process of this worker."""

    key: str
    #: What runs it: a study on a host.
    owner: str
    folder: Path
    process: Process[Event] | None = None
    events: list[Event] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop | None = None
    #: Its last word; before the first one, until when that is waited for.
    said_at: float = field(default_factory=lambda: time.monotonic() + START_S)
    called_at: float = field(default_factory=time.monotonic)
    ended: bool = False
    #: It has said how it ended, or was killed by us.
    explained: bool = False
    #: Where the log is of one that crashed.
    left: Path | None = None

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def hear(self, event: Event) -> None:
        """On the thread that reads the process."""
        self.said_at = time.monotonic()
        if event["event"] == "ended":
            self.ended = True
        elif event["event"] == "alive":
            return
        else:
            self.explained |= event["event"] in ("finished", "failed")
            self.events.append(of_full_disk(event, self.folder))
        if event["event"] != "progress" and self.loop is not None:
            with contextlib.suppress(RuntimeError):  # the worker itself ends
                self.loop.call_soon_threadsafe(self.news.set)

    def drop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.close()
        shutil.rmtree(self.folder, ignore_errors=True)


#: How the core names tables that it cannot write: without their folder, which is below that of the process.
TABLES = "of the results: "


def of_full_disk(event: Event, folder: Path) -> Event:
    """With what is next, of a failure by the disk that the process of this worker works on: of a server's it knows nothing. Pure."""
    if event["event"] != "failed":
        return event
    message = event["message"]
    mine = str(folder) in message or TABLES in message
    if not mine or not any(os.strerror(number) in message for number in NO_ROOM):
        return event
    return {**event, "message": f"{message}; {more_room(folder)}"}


def more_room(folder: Path) -> str:
    return (
        f"make room in {folder.parent} there, or start the worker with --local-directory DIR on a larger disk"
    )


#: Key -> what this worker keeps: one process at most.
KEPT: dict[str, Kept] = {}


#: What this worker's file had when it was last there: that of a local fleet is gone when all have read it.
READ: dict[str, str] = {}


def variables() -> dict[str, str]:
    """What the environment of this worker lacks and its file has; nothing of a file that is not this user's alone."""
    path = os.environ.get(SECRETS)
    if not path or open_to_others(path):
        return {}
    with contextlib.suppress(FileNotFoundError):
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        READ.clear()
        READ.update(cast("tuple[str, str]", line.split("=", 1)) for line in lines if "=" in line)
    return {**READ}


def open_to_others(path: str) -> bool:
    """Whether other users can read or change a file, as PostgreSQL asks of its file of passwords."""
    with contextlib.suppress(OSError):
        return bool(Path(path).stat().st_mode & 0o077)
    return False


def facts(names: Sequence[str] = (), shown: Sequence[str] = ()) -> dict[str, Any]:
    """What must be the same on all workers, what distinguishes them, and which variables are there. names: of variables that
    are needed, and not shown; shown: of those whose values must be the same."""
    from inrush import _core
    from inrush.machine import host

    known = {**os.environ, **variables()}
    cpus = sorted(os.sched_getaffinity(0))
    return {
        "same": {
            "inrush": host.inrush_version(),
            "core": _core.version(),
            "core build": _core.build_profile(),
            "core file": digest([Path(str(_core.__file__))]),
            "Python sources": sources(),
            "Python": platform.python_version(),
            "distributed": version("distributed"),
        },
        "host": socket.gethostname(),
        "boot": host.boot(),
        "spaces": spaces(),
        "pid": os.getpid(),
        # Workers of one host may have the same ones.
        "cores": min(quota() or len(cpus), len(cpus)),
        "cpus": cpus,
        "machine": host.cpu_facts(),
        "lacks": [name for name in names if name not in known],
        "open": path if (path := os.environ.get(SECRETS, "")) and open_to_others(path) else "",
        "variables": {name: known.get(name, "") for name in shown},
    }


def quota() -> float | None:
    """Cores that a group of the kernel allows."""
    from inrush.machine import host

    with contextlib.suppress(OSError, ValueError):  # no group
        return host.cgroup_cpu_cores()
    return None


#: What containers of one machine have for themselves, or share -> its namespace of the kernel.
SPACES = {"clock": "time", "network": "net", "processes": "pid"}


def spaces() -> dict[str, str]:
    """Of each: equal where two programs share it. The clock is CLOCK_MONOTONIC; the kernel is the machine."""
    from inrush.machine import host

    kernel = host.boot()
    found = {"kernel": kernel}
    for what, namespace in SPACES.items():
        link = Path("/proc/self/ns") / namespace
        # A kernel without namespaces of time has one clock.
        found[what] = f"{kernel} {link.readlink() if link.is_symlink() else ''}"
    return found


async def home(hosts: Sequence[str]) -> dict[str, Any]:
    """Those of these hosts that this one is, by all its addresses, whatever name the worker is known by; and its own name."""
    from inrush.machine.addresses import own_hosts

    return {
        "hosts": await asyncio.to_thread(own_hosts, hosts), "name": socket.gethostname(), "spaces": spaces(),
    }  # fmt: skip


async def room(dask_worker: Any = None) -> dict[str, Any]:
    """Where a client process of this worker makes files: the folder, its free bytes, and what says which disk it is."""
    from inrush.machine import host

    folder = Path(getattr(dask_worker, "local_directory", None) or tempfile.gettempdir())

    def looked_at() -> dict[str, Any]:
        # A number of a device is one of this kernel.
        disk = f"{host.boot()} {folder.stat().st_dev}"
        return {"folder": str(folder), "free": host.read_or_none(host.free_bytes, folder), "disk": disk}

    return await asyncio.to_thread(looked_at)


def sources() -> str:
    import inrush

    return digest(sorted(Path(str(inrush.__file__)).parent.rglob("*.py")))


def digest(paths: Sequence[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


async def rate(seconds: float) -> float:
    """Rows that the core generates in a second of CPU time; the best of three, for a busy machine takes from each."""
    from inrush import _core

    looks = [json.loads(await asyncio.to_thread(_core.calibrate, "rows", seconds)) for _ in range(3)]
    return float(max(look["rows_per_cpu_s"] for look in looks))


def echo() -> tuple[int, int]:
    heard_ns = time.monotonic_ns()
    return heard_ns, time.monotonic_ns()


async def start(key: str, owner: str, document_json: str, dask_worker: Any = None) -> dict[str, str]:
    """{"digest": of what came} of a process that was started, {"busy": owner} of a worker that has another one, {"failed": why} of
    one that cannot."""
    for kept in [*KEPT.values()]:
        if not kept.ended and time.monotonic() - kept.called_at < 2 * LEASH_S:
            return {"busy": kept.owner}
        await forget(kept)
    place = Path(getattr(dask_worker, "local_directory", None) or tempfile.gettempdir())
    folder = place / "inrush-"
    try:
        folder = Path(tempfile.mkdtemp(prefix=folder.name, dir=place))
        kept = KEPT[key] = Kept(key, owner, folder, loop=asyncio.get_running_loop())
        kept.parts.mkdir()
        document: Document = json.loads(document_json)
        document["parts"], document["leash_s"] = str(kept.parts), LEASH_S
        kept.process = Process(document, folder / "log", variables(), hear=kept.hear)
    except OSError as e:
        await discard(key)
        why = f"{folder}: its files cannot be written: {e.strerror or e}"
        return {"failed": f"{why}; {more_room(folder)}" if e.errno in NO_ROOM else why}
    kept.process.send({"do": "alive"})
    watch = asyncio.get_running_loop().create_task(until_forgotten(kept))
    WATCHES.add(watch)
    watch.add_done_callback(WATCHES.discard)
    return {"digest": hashlib.sha256(document_json.encode()).hexdigest()}


#: A task that nothing holds may be collected.
WATCHES: set[asyncio.Task[None]] = set()


async def until_forgotten(kept: Kept) -> None:
    while kept.key in KEPT:
        if time.monotonic() - kept.called_at > FORGOTTEN_S:
            await forget(kept)
        await asyncio.sleep(1.0)


async def poll(key: str, wait_s: float, had: Mapping[str, int]) -> WorkerAnswer | None:
    """None: no such process is here. had: table -> bytes that were taken."""
    heard_ns = time.monotonic_ns()
    kept = KEPT.get(key)
    if kept is None or kept.process is None:
        return None
    kept.called_at = time.monotonic()
    kept.process.send({"do": "alive"})
    if not kept.ended:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(kept.news.wait(), wait_s)
    kept.news.clear()
    ended = kept.ended  # before its tables are looked at: they are whole then
    events, kept.events = kept.events, []
    grown, more = growth(kept.parts, had)
    answer = WorkerAnswer(
        heard_ns=heard_ns,
        answered_ns=0,
        events=events,
        grown=grown,
        more=more,
        silent_s=time.monotonic() - kept.said_at,
    )
    if ended:
        answer["code"] = kept.process.close()
        if not kept.explained:
            # Asked again where more of its tables is to come.
            kept.left = kept.left or left(kept.folder / "log")
            answer["log"] = str(kept.left)
    answer["answered_ns"] = time.monotonic_ns()
    return answer


def growth(parts: Path, had: Mapping[str, int]) -> tuple[dict[str, bytes], bool]:
    """Table -> what it has grown by; whether there is more."""
    found, room = dict[str, bytes](), BYTES
    for path in sorted(parts.iterdir()):
        size, taken = path.stat().st_size, had.get(path.name, 0)
        if size > taken and path.is_file():
            with path.open("rb") as file:
                file.seek(taken)
                found[path.name] = file.read(min(room, size - taken))
            room -= len(found[path.name])
            if room <= 0:
                return found, True
    return found, False


def word(key: str, word: Word) -> None:
    kept = KEPT.get(key)
    if kept is not None and kept.process is not None:
        kept.process.send(word)


def kill(key: str) -> None:
    kept = KEPT.get(key)
    if kept is not None and kept.process is not None:
        kept.explained = True
        kept.process.kill()


async def discard(key: str) -> None:
    kept = KEPT.get(key)
    if kept is not None:
        await forget(kept)


async def forget(kept: Kept) -> None:
    """The worker answers meanwhile: files of a load may be many."""
    KEPT.pop(kept.key, None)
    await asyncio.to_thread(kept.drop)
