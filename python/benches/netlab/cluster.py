"""A cluster of Dask in a laboratory, as docs/fleet.md starts one: scheduler and inrush on one host, a worker on each other."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benches.netlab.lab import Lab, Running, lab

#: The host of the scheduler and of inrush.
HEAD = "head"
PORT = 8786
#: A busy machine takes long to start them.
READY_S = 120.0
#: As docs/fleet.md: a worker's profiler is nothing that a measurement needs.
QUIET = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
#: What a worker says when the scheduler knows it.
REGISTERED = "Registered to"
#: Clocks of the hosts differ by hours, and by parts of a second.
APART_NS = 3_600_123_456_789


class Cluster:
    def __init__(self, hosts: Lab, folder: Path, workers: int) -> None:
        self.lab, self.folder = hosts, folder
        self.names = names(workers)
        self.scheduler: Running | None = None
        self.workers: dict[str, Running] = {}
        #: Host -> the program of its worker, where it is another one than Dask's.
        self.programs: dict[str, Sequence[str]] = {}

    @property
    def address(self) -> str:
        return f"tcp://{self.lab[HEAD].address}:{PORT}"

    def between(self, delay_s: float = 0.0, loss: float = 0.0) -> None:
        """From each worker to the scheduler, and back."""
        for name in self.names:
            self.lab.way(HEAD, name, delay_s, loss)

    def start_scheduler(self) -> None:
        self.scheduler = self.lab[HEAD].start(
            [*DASK, "scheduler", "--host", self.lab[HEAD].address, "--port", str(PORT), "--no-dashboard", "--no-show"],
            self.folder / "scheduler.log", QUIET, cwd=self.folder,
        )  # fmt: skip

    def start_worker(self, name: str) -> None:
        host, folder = self.lab[name], self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "log").unlink(missing_ok=True)
        self.workers[name] = host.start(
            [*self.programs.get(name, DASK), "worker", self.address, "--host", host.address, "--name", name, "--nworkers", "1", "--nthreads", "1",
             "--no-nanny", "--memory-limit", "0", "--no-dashboard", "--local-directory", str(folder)],
            folder / "log", QUIET, cwd=folder,
        )  # fmt: skip

    def start(self) -> None:
        """What of it does not work yet; returns when the scheduler knows all workers."""
        if self.scheduler is None or self.scheduler.code() is not None:
            self.start_scheduler()
        for name in self.names:
            if name not in self.workers or self.workers[name].code() is not None:
                self.start_worker(name)
        end = time.monotonic() + READY_S
        while late := [name for name in self.names if not self.registered(name)]:
            if time.monotonic() > end:
                raise TimeoutError(
                    f"{', '.join(late)}: not known to the scheduler; its log: {self.folder / late[0] / 'log'}"
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """All of it, at once."""
        for running in [*self.workers.values(), *([self.scheduler] if self.scheduler else [])]:
            running.kill()
            running.wait(10.0)

    def registered(self, name: str) -> bool:
        with contextlib.suppress(OSError):
            return REGISTERED in (self.folder / name / "log").read_text()
        return False

    def clients(self) -> dict[int, str]:
        """Client processes that work on workers: id on this machine -> host."""
        return {
            pid: name
            for name in self.names
            for pid, words in self.lab[name].processes().items()
            if {"drive", "make_and_drive", "part"}.intersection(words)
        }  # fmt: skip


DASK = (sys.executable, "-m", "dask")


def names(workers: int) -> list[str]:
    return [f"host-{n}" for n in range(1, workers + 1)]


@contextlib.contextmanager
def cluster(workers: int, folder: Path, seed: int = 1, others: Sequence[str] = ()) -> Iterator[Cluster]:
    """others: hosts without a worker."""
    hosts = names(workers)
    ahead_ns = {name: n * APART_NS for n, name in enumerate(hosts, start=1)}
    with lab([HEAD, *hosts, *others], ahead_ns, seed) as found:
        at = Cluster(found, folder, workers)
        at.start()
        yield at
