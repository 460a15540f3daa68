"""What every server that inrush starts has in common: a private folder, a free port, an ordinary user, an end.

A server outlives nothing by accident: what a killed inrush left is found by the record beside its data and ended
before the next start, and `stop` returns only when every process of the server has gone.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import fcntl
import http.client
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from inrush.errors import TargetError

#: Servers refuse to run as root; then they run as this user.
SERVANT = "nobody"
LOG_LINES = 15
#: What is read of a long one.
LOG_BYTES = 64 * 1024
POLL_S = 0.02
#: Longest wait for one answer of a server that may not be ready yet.
ASK_S = 5.0
#: The longest path of a Unix socket (rust/engines/src/engine/socket/unix.rs).
SOCKET_PATH_BYTES = 107


@dataclass(frozen=True)
class User:
    """The user that a server runs as; None in both: our own."""

    uid: int | None = None
    gid: int | None = None


def servant() -> User:
    """An ordinary user: ourselves, or `nobody` when we are root."""
    if os.geteuid() != 0:
        return User()
    entry = pwd.getpwnam(SERVANT)
    return User(entry.pw_uid, entry.pw_gid)


def cache_folder() -> Path:
    """Where fetched servers are kept. As root a place that `nobody` can enter, which /root is not."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "inrush"
    return Path("/var/cache/inrush") if os.geteuid() == 0 else Path.home() / ".cache" / "inrush"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other process holds the lock. The kernel takes it from one that dies.

    Who can read the file can hold its lock: it is of this user alone, whatever made it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(opened, 0o600)
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


@contextlib.contextmanager
def starting_in(data: Path) -> Iterator[None]:
    """Of those that start a server in one folder the first goes on. Raises TargetError in the others."""
    folder = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TargetError(
            f"{data}: another inrush is starting a server there; wait for it or choose another --data"
        ) from None
    else:
        yield
    finally:
        os.close(folder)


def closed_above(path: Path, user: User) -> Path | None:
    """The folder on the way to `path` that `user` cannot enter; None where it gets there."""
    if user.uid is None:
        return None
    return next((p for p in path.resolve().parents if not _enters(user.uid, p)), None)


def _enters(uid: int, folder: Path) -> bool:
    found = folder.stat()
    return bool(found.st_mode & (0o100 if found.st_uid == uid else 0o001))


def run_as(user: User, argv: Sequence[str | Path], cwd: Path, what: str) -> str:
    """Output of a program that ends. Raises TargetError with its last lines."""
    done = subprocess.run(
        [str(a) for a in argv],
        cwd=cwd,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        user=user.uid,
        group=user.gid,
        extra_groups=[] if user.uid is not None else None,
    )
    if done.returncode != 0:
        last = "\n  ".join(done.stdout.strip().splitlines()[-LOG_LINES:])
        raise TargetError(f"{what} failed with code {done.returncode}:\n  {last}")
    return done.stdout


#: Servers that we started and have not seen end: a dead child keeps its id until its parent asks for its end.
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


#: Waits for a line before it becomes the program of its arguments.
ADMITTED = ("/bin/sh", "-c", 'read -r line && exec "$@" < /dev/null', "sh")


def launch(
    user: User,
    argv: Sequence[str | Path],
    cwd: Path,
    log: Path,
    admit: Callable[[int], object] | None = None,
) -> subprocess.Popen[bytes]:
    """Starts a server in a session of its own, so that our Ctrl-C is not its own; it writes to `log`.

    admit: gets its process before the server runs in it, to hold it to limits; what it raises is raised, and no server runs.
    """
    # Of us alone: it can hold statements and settings.
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab") as out:
        process = subprocess.Popen(
            [*(() if admit is None else ADMITTED), *(str(a) for a in argv)],
            cwd=cwd,
            env=clean_environment(),
            stdin=subprocess.DEVNULL if admit is None else subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user.uid,
            group=user.gid,
            extra_groups=[] if user.uid is not None else None,
        )
    _CHILDREN[process.pid] = process
    if admit is not None and process.stdin is not None:
        with process.stdin as door:
            admit(process.pid)
            door.write(b"\n")
    return process


def clean_environment() -> Mapping[str, str]:
    """Ours without what would change a server or its programs."""
    kept = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
    return {**{k: os.environ[k] for k in kept if k in os.environ}, "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Launched:
    """A process that may still be on its way to ready."""

    process: subprocess.Popen[bytes]
    log: Path
    #: Where its lines begin in the log; those before are of servers that ran here earlier.
    log_bytes: int = 0
    #: In sentences.
    title: str = "a server"
    #: Lines of its log -> the one reason in them; empty: the end of the log is shown.
    explain: Callable[[Sequence[str]], str] = lambda lines: ""

    def ended(self, how: str) -> TargetError:
        if why := self.explain(log_lines(self.log, 400, self.log_bytes)):
            return TargetError(f"{self.title} {how}: {why}; its log is {self.log}")
        return TargetError(f"{self.title} {how}; {self.log} ends with\n{log_tail(self.log, self.log_bytes)}")


def wait_for(begun: Sequence[Launched], ready: Callable[[], bool], limit_s: float) -> None:
    """Returns when `ready` says so. Raises TargetError when one of the processes has ended, whoever answers in its place, or
    they take too long.

    The last one is what is waited for.
    """
    until = time.monotonic() + limit_s
    while True:
        is_ready = ready()
        if gone := next((one for one in begun if one.process.poll() is not None), None):
            raise gone.ended(f"ended while starting, code {gone.process.returncode}")
        if is_ready:
            return
        if time.monotonic() > until:
            late = begun[-1]
            late.process.kill()
            late.process.wait()
            raise late.ended(f"was not ready after {limit_s:.0f} s and was stopped")
        time.sleep(POLL_S)


def size_of(log: Path) -> int:
    """In bytes; 0 of one that is not there."""
    return log.stat().st_size if log.is_file() else 0


def log_lines(log: Path, lines: int = LOG_LINES, begin: int = 0) -> list[str]:
    """The last lines of a log behind its first `begin` bytes; none of one that is not there."""
    if not log.is_file():
        return []
    with log.open("rb") as f:
        f.seek(max(begin, log.stat().st_size - LOG_BYTES))
        return f.read().decode(errors="replace").strip().splitlines()[-lines:]


def log_tail(log: Path, begin: int = 0) -> str:
    """The last lines of a log behind its first `begin` bytes, indented."""
    return "\n".join(f"  {line.strip()}" for line in log_lines(log, begin=begin)) or "  (nothing)"


def http_answer(
    port: int, path: str, login: tuple[str, str] | None = None, form: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Status and body of one request to a server on this machine; status 0 when there is none.

    login: user and password. form: what is sent, which is in no address then.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ASK_S)
    headers = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
    if login is not None:
        headers["Authorization"] = f"Basic {base64.b64encode(':'.join(login).encode()).decode()}"
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        body = None if form is None else urlencode(form)
        connection.request("GET" if form is None else "POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    return 0, b""


# Processes, by id and time of start: an id alone may be another's by now.


def started_at(pid: int) -> int | None:
    """Kernel ticks at which the process began; None when it is gone (a zombie has gone)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # A zombie's other threads may still be ending: until then its files and its port are taken.
    return None if fields[0] in "ZX" and int(fields[17]) <= 1 else int(fields[19])


def working_in(folder: Path) -> dict[int, int]:
    """Processes that work in `folder`, by their directory or by a file open for writing: id -> time of start."""
    processes: dict[int, int] = {}
    folder = folder.resolve()
    for entry in Path("/proc").glob("[0-9]*"):
        # A process that ends while we look, or that is not ours to look at.
        with contextlib.suppress(OSError):
            if _is_below(entry / "cwd", folder) or _writes_in(entry, folder):
                pid = int(entry.name)
                if (began := started_at(pid)) is not None:
                    processes[pid] = began
    return processes


def servers_in(folder: Path) -> list[int]:
    """Ids of the processes that work in `folder` and are no child of one that does: one for each server."""
    parents: dict[int, int] = {}
    for pid in working_in(folder):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return sorted(pid for pid, parent in parents.items() if parent not in parents)


def _is_below(link: Path, folder: Path) -> bool:
    """Whether a link of `/proc` leads to `folder` or below. Its text is a path as that process sees it: another user can give
    a process a root of its own, in which a path is spelled like ours, so the file itself is compared."""
    path = link.readlink()
    return path.is_relative_to(folder) and os.path.samestat(link.stat(), path.stat())


def _writes_in(process: Path, folder: Path) -> bool:
    """Whether a process has a file of `folder` open for writing: reading one changes nothing."""
    for fd in (process / "fd").iterdir():
        with contextlib.suppress(OSError):
            if _is_below(fd, folder):
                flags = re.search(
                    r"^flags:\s*(\d+)", (process / "fdinfo" / fd.name).read_text(), re.MULTILINE
                )
                if flags is not None and int(flags[1], 8) & (os.O_WRONLY | os.O_RDWR):
                    return True
    return False


def end(pid: int, how: signal.Signals, folder: Path, limit_s: float, before: Collection[int] = ()) -> bool:
    """Signals `pid` and waits until it and all that works in `folder` have gone; what stays is killed.

    before: processes that need `pid` to end well: all of them are signalled first, and have ended or had their time.
    Returns whether nothing had to be killed that was not asked to be.
    """
    processes = working_in(folder)
    _reap([pid, *before])  # one that ended by itself is no process any more, and still a child of ours
    asked = _signalled(before, how)
    processes |= asked
    if asked and how is not signal.SIGKILL:
        _gone(asked, None, limit_s)
    processes |= _signalled([pid], how)
    if how is signal.SIGKILL:
        _kill(processes)
    if _gone(processes, folder, limit_s):
        return True
    _kill({**processes, **working_in(folder)})
    if not _gone(processes, folder, limit_s):
        raise TargetError(f"process {pid} in {folder} does not end, not even by SIGKILL; a disk may hang")
    return False


def _signalled(pids: Iterable[int], how: signal.Signals) -> dict[int, int]:
    """Those that ran: id -> time of start."""
    found = {pid: began for pid in pids if (began := started_at(pid)) is not None}
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
    return found


def _kill(processes: Mapping[int, int]) -> None:
    for pid, began in processes.items():
        if started_at(pid) == began:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _gone(processes: Mapping[int, int], folder: Path | None, limit_s: float) -> bool:
    """Within `limit_s`; with all that works in `folder`, where one is named."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        _reap(processes)
        ended = all(started_at(p) != began for p, began in processes.items())
        if ended and (folder is None or not working_in(folder)):
            return True
        time.sleep(POLL_S)
    return False


def _reap(processes: Iterable[int]) -> None:
    for pid in processes:
        if pid in _CHILDREN and _CHILDREN[pid].poll() is not None:
            del _CHILDREN[pid]


def running_children() -> list[int]:
    """Servers that this process started and that have not ended."""
    return [pid for pid, process in _CHILDREN.items() if process.poll() is None]


@atexit.register
def _leave_running() -> None:
    """What was not stopped goes on without us, as `inrush engines start` means it to: Popen would warn of it."""
    for pid in running_children():
        _CHILDREN[pid].returncode = 0


def client_program(release: Path, name: str) -> str:
    """A client's program: of the release that a server is of, else one that is installed; a word of a shell."""
    found = (folder / name for folder in (release, release / "usr/bin", release.parent / "bin"))
    own = next((str(path) for path in found if path.is_absolute() and os.access(path, os.X_OK)), None)
    return shlex.quote(own or shutil.which(name) or name)


def program(name: str, remedy: str) -> str:
    """Path of a program of the system. Raises TargetError with a remedy when it is not there."""
    found = shutil.which(name)
    if found is None:
        raise TargetError(f"{name} is not installed; {remedy}")
    return found
