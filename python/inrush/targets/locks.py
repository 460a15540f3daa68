"""One inrush at a time runs a study on a server: a second would drop the tables that the first is measuring.

The homes of a study's runs are named after the study, its points and its seed, so two that run the same meet in them.
The first study leaves a lock in the server, a marked home that names its holder, and drops it at the end. That of
a process of this machine which has gone is taken over; whether one of another machine still runs is not known here, so
it takes --force.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode

from inrush.engines.base.instance import Target
from inrush.engines.base.sql import LOCK
from inrush.engines.servers import life
from inrush.errors import Problem, UsageError, refuse
from inrush.machine import host
from inrush.plan.planned import StudyPlan
from inrush.plan.planned_point import short_hash
from inrush.targets.deployment import Deployment, Doc, deployments_of

#: How long another inrush of this machine may look at the same lock, s.
PATIENCE_S = 60.0
POLL_S = 0.02


@dataclass(frozen=True)
class Holder:
    """A study that runs: what the refusal of a second one says, and by what it is known to live."""

    study: str
    results: str
    host: str
    #: Where process ids mean the same: until the next boot, in one space of processes.
    machine: str
    pid: str
    #: Kernel ticks at which the process began: ids are used again.
    began: str
    since: str

    def text(self) -> str:
        """One word without slash or quote: InfluxDB keeps it as a name."""
        return urlencode(asdict(self), quote_via=quote, safe="")

    def lives(self) -> bool | None:
        """None where it is not known: it is a process of another machine."""
        if self.machine != this_machine():
            return None
        return str(life.started_at(int(self.pid))) == self.began

    def __str__(self) -> str:
        return f"study {self.study} (process {self.pid} on {self.host} since {self.since}, results {self.results})"


def holder_in(text: str) -> Holder | None:
    """The holder that a text names, if it names one."""
    found = {name: values[0] for name, values in parse_qs(text).items()}
    if set(found) != {f.name for f in fields(Holder)} or not found["pid"].isdecimal():
        return None
    return Holder(**found)


def ourselves(study: str, results: Path) -> Holder:
    return Holder(
        study=study,
        results=str(results),
        host=socket.gethostname(),
        machine=this_machine(),
        pid=str(os.getpid()),
        began=str(life.started_at(os.getpid())),
        since=datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
    )


def this_machine() -> str:
    processes = Path("/proc/self/ns/pid").readlink()
    return f"{host.boot()} {processes}"


def lock_name(study: str, seed: int) -> str:
    return f"{LOCK}{short_hash(study, 'lock', seed)}"


def other_studies(deployment: Deployment) -> list[Holder] | None:
    """Studies that hold the server or one of its shards beside this process, as far as their inrush is not known to have gone.

    None where the server lists no locks, cannot be asked, or does not say whose a lock is.
    """
    from inrush import _core

    ask = deployment.server.ask_locks()
    if not ask:
        return None
    try:
        holders = [
            holder(deployment, name, place)
            for place in (None, *deployment.shards)
            for name in sorted({str(row[0]).partition(".")[0] for row in deployment.ask(ask, place)})
            if name.startswith(LOCK)
        ]
    except _core.CoreFailure:
        return None
    ours = (this_machine(), str(os.getpid()))
    known = [h for h in holders if h is not None]
    if len(known) < len(holders):
        return None
    return [h for h in known if (h.machine, h.pid) != ours and h.lives() is not False]


def beside_studies(before: Sequence[Holder] | None, after: Sequence[Holder] | None) -> Doc:
    """`other_studies` of run.json: those that held the server when the run began or when it ended."""
    if before is None or after is None:
        return {}
    found = dict.fromkeys((*before, *after))
    return {"other_studies": [{"said": str(h), "here": h.machine == this_machine()} for h in found]}


@contextlib.contextmanager
def locked(
    plan: StudyPlan,
    deployments: Mapping[str, Deployment],
    results: Path,
    force: bool,
    note: Callable[[str], None],
) -> Iterator[None]:
    """Holds the study on each of its servers. Raises UsageError where another holds it.

    force: takes a lock of another machine; never that of a process which lives here. note: gets what was taken over.
    note also gets which server could not be asked or refused to make a lock: its runs may still go, without a guard.
    """
    name = lock_name(plan.study.name, plan.seed)
    mine = ourselves(plan.study.name, results)
    with contextlib.ExitStack() as held:
        for deployment in lockable(plan, deployments):
            with one_at_a_time(name):
                taken = take(deployment, name, mine, force, note)
            if taken:
                held.callback(release, deployment, name, mine)
        yield


def take(deployment: Deployment, name: str, mine: Holder, force: bool, note: Callable[[str], None]) -> bool:
    """Whether the lock is ours to release; another address of the same server may hold it for us already."""
    from inrush import _core

    try:
        before = holder(deployment, name)
        if before == mine:
            return False
        if before is not None:
            refuse(holder_problems(deployment, before, force))
            note(f"{deployment.target.url}: taken over from {before}, which is no longer there")
        for statement in (
            *deployment.server.drop_namespace(name),
            *deployment.server.lock(name, mine.text()),
        ):
            deployment.ask(statement)
    except _core.CoreFailure as failure:
        with contextlib.suppress(_core.CoreFailure):
            if (faster := holder(deployment, name)) is not None:
                refuse(holder_problems(deployment, faster, force=False))
        note(unguarded(deployment, failure))
        return False
    return True


def unguarded(deployment: Deployment, failure: Exception) -> str:
    return (
        f"{deployment.target.url}: no lock was made there ({failure.args[-1]}); do not run this study from elsewhere on "
        "it at the same time: both would work in the same tables, and neither would see the other"
    )


def holder(deployment: Deployment, name: str, place: Target | None = None) -> Holder | None:
    """The lock's holder. place: a shard. Raises what the core raises where the server cannot be asked."""
    from inrush import _core

    try:
        rows = deployment.ask(deployment.server.ask_holder(name), place)
    except _core.CoreFailure as e:
        if e.args[0] == "statement":
            return None
        raise
    return holder_in(deployment.server.parse_holder(rows))


def lock_problems(plan: StudyPlan, deployments: Mapping[str, Deployment], force: bool) -> Iterator[Problem]:
    """Studies that run on these servers and work in the same tables. One that cannot be asked says nothing here."""
    from inrush import _core

    name = lock_name(plan.study.name, plan.seed)
    for deployment in lockable(plan, deployments):
        with contextlib.suppress(_core.CoreFailure):
            if (found := holder(deployment, name)) is not None:
                yield from holder_problems(deployment, found, force)


def holder_problems(deployment: Deployment, found: Holder, force: bool) -> Iterator[Problem]:
    """Unless the holder has gone, as far as it is known, or as --force says."""
    lives = found.lives()
    if lives is False or (lives is None and force):
        return
    gone = "; if it is no longer there, say --force" if lives is None else ""
    yield Problem.sentence(
        f"{deployment.target.url}: {found} runs there and works in the same tables as this one would; wait for it, end it, or "
        f"run this one with another --seed{gone}"
    )


def lockable(plan: StudyPlan, deployments: Mapping[str, Deployment]) -> list[Deployment]:
    """Servers on which the study makes tables, and which can keep a lock."""
    return [
        of
        for of in deployments_of(plan, deployments)
        if plan.namespaces(of.target.engine) and of.server.ask_holder("name")
    ]


def release(deployment: Deployment, name: str, mine: Holder) -> None:
    """Unless another study took it by force. What fails leaves a lock that the next study finds stale."""
    from inrush import _core

    with contextlib.suppress(_core.CoreFailure):
        if holder(deployment, name) == mine:
            for statement in deployment.server.drop_namespace(name):
                deployment.ask(statement)


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Of all inrush on this machine one looks at a lock and takes it: two that find it stale would both take it.

    A name among the kernel's abstract sockets: no file, no rights, and it ends with its process.
    """
    end_s = time.monotonic() + PATIENCE_S
    with socket.socket(socket.AF_UNIX) as mutex:
        while True:
            try:
                mutex.bind(f"\0{name}")
                break
            except OSError as e:
                if e.errno != errno.EADDRINUSE:
                    raise
                if time.monotonic() > end_s:
                    raise UsageError(
                        f"another inrush has been about to begin the same study for {PATIENCE_S:g} s (its server may not "
                        "answer); wait for it or end it"
                    ) from e
                time.sleep(POLL_S)
        yield
