"""Where an engine runs during a study: a file, an address of the user's, or an instance that inrush started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from inrush.border.labels import start_of, storage_of
from inrush.border.pipeline import AnyPlan, shards_of
from inrush.border.plan import Statement, WatchPlan
from inrush.border.words import Word
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import SERVER, TRANSPORT, UNIX, Cold, Stop, Target
from inrush.engines.base.lifecycle import Lifecycle
from inrush.engines.base.sql import file_of
from inrush.engines.base.twin import Twin
from inrush.engines.servers import life, page_cache
from inrush.errors import TargetError, UsageError, from_core
from inrush.machine import host
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.targets.ask import ask
from inrush.targets.passwords import by_file_of, environment, split_password
from inrush.targets.server_processes import FoundServer, found_here

Doc = dict[str, Any]

#: Filesystems that are gone with the power, whatever a server says that it made durable there.
IN_MEMORY = ("tmpfs", "ramfs")
#: Limit of one statement outside a run, s.
ASK_S = 30.0


class TakesTurns(Protocol):
    """What starts servers that run for their own runs alone: `targets.turns`."""

    def give(self, deployment: Deployment) -> None: ...


@dataclass
class Deployment:
    """An engine's place for the length of a study."""

    server: Twin
    target: Target
    #: What the worker needs in its environment; holds passwords, so it is never written or shown.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Behind `target`, the coordinator, in the order of its partitions.
    shards: tuple[Target, ...] = ()
    #: Folder of its storage; None: where the study keeps its data.
    folder: Path | None = None
    #: Where the run in hand keeps the files of an engine in its process.
    run_files: Path | None = None
    #: Of a server that runs for its own runs alone: what starts it, and its folder. None: it runs as long as the study.
    turns: TakesTurns | None = None
    place: Path | None = None

    def make_ready(self) -> None:
        """Starts a server that runs for its own runs alone, and ends the one in its place. Raises as a start does."""
        if self.turns is not None:
            self.turns.give(self)

    @property
    def waits(self) -> bool:
        """Whether it is a server that runs for its own runs alone, and does not run now."""
        return self.turns is not None and self.target.instance is None

    def ask(self, statement: Statement, place: Target | None = None) -> list[list[Any]]:
        """Rows of one statement outside a run, at the target or one of its shards; raises what the core raises."""
        target = self.server.run_target(place or self.target, Path())
        address = {"engine": target.engine, "url": target.url, "options": dict(target.options)}
        with environment(self.environment):
            return ask(address, statement, ASK_S)

    def drop_leftover(self, plan: AnyPlan) -> None:
        """Removes what a run that did not end left in a server: the statements of its last segment.

        A statement that fails leaves a marked leftover and no more: the next run of the point drops it first.
        """
        statements = [
            s
            for segment in plan["segments"][-1:]
            if segment["kind"] == "control"
            for s in segment["statements"]
        ]
        if self.server.embedded or not statements or self.waits:
            return
        from inrush import _core

        for place in (*self.shards, self.target):
            for statement in statements:
                with contextlib.suppress(_core.CoreFailure):
                    self.ask(statement, place)

    def data_place(self, own: Path) -> Path | None:
        """Where the engine's files lie: `own` of one in our process; None of a server that inrush did not start."""
        if self.target.instance is not None:
            return self.target.instance.data
        if self.place is not None:
            return self.place
        return own if self.server.embedded else None

    def own_files(self) -> Path | None:
        """Where an embedded engine's files lie: the user's database by its file, else the folder of the run in hand."""
        named = file_of(self.target.url)
        return Path(named).absolute() if named else self.run_files

    def durability(self, settings: Mapping[str, str], own: Path) -> Durability:
        """What an acknowledged row survives: by the server's settings, and by what the engine's files lie on."""
        durability, place = self.server.durability({**self.unreported(), **settings}), self.data_place(own)
        filesystem = host.read_or_none(lambda d: host.mount_of(d).filesystem, place) if place else None
        if filesystem not in IN_MEMORY or durability.survives is not Survives.POWER_LOSS:
            return durability
        because = {**durability.because, "filesystem": str(filesystem)}
        return replace(durability, survives=Survives.PROCESS_CRASH, because=because)

    def unreported(self) -> dict[str, str]:
        """What a server of ours was started with, of what no server of its kind says of itself."""
        instance, lifecycle = self.target.instance, self.server.lifecycle
        if instance is None or lifecycle is None or not self.server.unreported:
            return {}
        started = lifecycle.start_settings(instance)
        return {name: value for name, value in started.items() if name.lower() in self.server.unreported}

    def find_shards(self) -> None:
        """Asks a coordinator at an address of the user's which shards it knows; of any other server nothing comes.

        Raises TargetError, UsageError where they have another password than the coordinator.
        """
        from inrush import _core

        cluster = self.server.cluster
        if self.shards or cluster is None or not self.target.url:
            return
        try:
            urls = self.ask(cluster.ask_shards())
        except _core.CoreFailure as failure:
            raise from_core(*failure.args) from None
        found, secret = [], dict(self.environment)
        for url in by_file_of(self.target.url, cluster.shard_urls(urls)):
            shown, variables, _ = split_password(url)
            if any(secret.get(k, v) != v for k, v in variables.items()):
                raise UsageError(
                    f"{shown}: it has another password than {self.target.url}; give all of them one, or a password file"
                )
            secret.update(variables)
            found.append(Target(self.target.engine, shown))
        self.shards, self.environment = tuple(found), secret

    def found(self) -> FoundServer | None:
        """The server of the user's at an address of this machine; None of one elsewhere, and of one that inrush started."""
        own = self.target.instance is not None or self.turns is not None
        return None if own else found_here(self.server, self.target.url)

    def data_servers(self) -> list[int]:
        """Process ids of the servers that work in the data folder of our instance: one, or the figures are of two.

        One of several processes counts by the first of them.
        """
        if self.target.instance is None:
            return []
        found, ours = life.servers_in(self.target.instance.data), self.target.instance.pids
        further = [pid for pid in found if pid in ours][1:]
        return [pid for pid in found if pid not in further]

    def restart(self, how: Stop) -> None:
        """Stop and start of an instance of ours, at the same data."""
        instance = self.target.instance
        if instance is None:
            raise TargetError(
                f"{self.target.url or self.target.engine}: inrush did not start this server and will not restart it; "
                f"use --start {self.target.engine}"
            )
        lifecycle = lifecycle_of(self.server)
        lifecycle.stop(instance, how)
        started = lifecycle.start(instance.data, instance.settings)
        self.target = replace(self.target, url=started.url, instance=started)


def place_key(engine: str, storage: str = "", start: Mapping[str, str] | None = None) -> str:
    """What deployments of a study are kept by: `ndb@fast,nodes=4`. start: what the study has its server started with."""
    key = f"{engine}@{storage}" if storage else engine
    return ",".join([key, *(f"{name}={value}" for name, value in (start or {}).items())])


def key_of(run: PlannedRun) -> str:
    """The deployment that a run is made on."""
    return place_key(str(run.plan["target"]["engine"]), storage_of(run.labels), start_of(run.labels))


def deployments_of(plan: StudyPlan, deployments: Mapping[str, Deployment]) -> list[Deployment]:
    """Those that a study's points are measured on, the first storage's first."""
    return [of for of in deployments.values() if of.target.engine in plan.study.engines]


def lifecycle_of(twin: Twin) -> Lifecycle:
    """What starts and stops servers of this engine. Raises UsageError where nothing does."""
    if twin.lifecycle is None:
        raise UsageError(f"{twin.name}: this engine is no server that inrush could fetch, start or stop")
    return twin.lifecycle


def at_deployment(plan: AnyPlan, deployment: Deployment, data: Path) -> AnyPlan:
    """The plan with its address filled in: what differs between two machines, and nothing else."""
    planned = plan["target"]
    target = deployment.server.run_target(by_transport(deployment, planned.get("options", {})), data)
    watch: WatchPlan = {**plan["watch"], "processes": processes_of(deployment, plan)}
    if threads := threads_of(deployment):
        watch["threads"] = threads
    if not watch.get("data_dir"):
        watch["data_dir"] = str(target.instance.data if target.instance else data)
    placed = plan.copy()
    placed["target"] = {
        **planned,
        "url": target.url,
        "options": {**planned.get("options", {}), **target.options},
    }
    placed["watch"] = watch
    if "shards" in planned:
        wanted = len(planned["shards"]["urls"])
        if len(deployment.shards) < wanted:
            raise UsageError(
                f"{target.url or target.engine} has {len(deployment.shards)} shards, the plan {wanted}; start so many"
            )
        shards = deployment.shards[:wanted]
        urls = [by_transport(deployment, planned.get("options", {}), shard).url for shard in shards]
        placed["target"]["shards"] = {**planned["shards"], "urls": urls}
    return placed


def processes_of(deployment: Deployment, plan: AnyPlan) -> dict[str, list[int]]:
    """Those of the server by role. Of a coordinator with the shards of a plan all together, and each as a part."""
    planned = plan["target"]
    if shards_of(plan):  # its servers are those of its shards, on whatever host each is
        return deployment.target.processes
    if "shards" not in planned:
        return watched_processes(deployment)
    parts = {f"{SERVER}/coordinator": deployment.target}
    for k, shard in enumerate(deployment.shards[: len(planned["shards"]["urls"])]):
        parts[f"{SERVER}/shard_{k}"] = shard
    found = {name: pids_at(deployment, target) for name, target in parts.items()}
    if not all(found.values()):  # the sum would be that of some
        return {}
    return {SERVER: [pid for pids in found.values() for pid in pids], **found}


def pids_at(deployment: Deployment, place: Target) -> list[int]:
    """Of the server at the target, or at one of its shards, if it is on this machine."""
    if place.instance is not None or deployment.turns is not None:
        return place.processes.get(SERVER, [])
    found = found_here(deployment.server, place.url)
    return [*found.pids] if found is not None else []


def watched_processes(deployment: Deployment) -> dict[str, list[int]]:
    """Those of a server that inrush started, or that it finds on this machine; empty of any other."""
    found = deployment.found()
    return {SERVER: [*found.pids]} if found and found.pids else deployment.target.processes


def watched_now(deployment: Deployment, plan: AnyPlan) -> Word:
    """With which a run goes on behind a pause: processes of a server on this machine, by role, and what their threads are."""
    return {"do": "resume", "processes": processes_of(deployment, plan), "threads": threads_of(deployment)}


def threads_of(deployment: Deployment) -> dict[str, str]:
    """What threads of a server of ours are, by their ids."""
    instance, lifecycle = deployment.target.instance, deployment.server.lifecycle
    threads = lifecycle.threads(instance) if instance is not None and lifecycle is not None else {}
    return {str(tid): name for tid, name in sorted(threads.items())}


def by_transport(deployment: Deployment, options: Mapping[str, str], shard: Target | None = None) -> Target:
    """The target, or one of its shards, as the option `transport` wants it reached. Raises TargetError where a server has
    no socket."""
    target = shard or deployment.target
    instance = target.instance
    if options.get(TRANSPORT) != UNIX or instance is None:
        return target
    url = lifecycle_of(deployment.server).socket_url(instance)
    if url is None:
        raise TargetError(
            f"{target.engine} in {instance.data} has no Unix socket, whose path would be longer than the "
            f"{life.SOCKET_PATH_BYTES} bytes that the kernel takes; choose a shorter --data, or {TRANSPORT}=tcp"
        )
    return replace(target, url=url)


# What Python does between two segments. Each says whether it was done and how, or why not.


def make_cold(deployment: Deployment, _: str) -> Doc:
    lifecycle = deployment.server.lifecycle
    if lifecycle is not None:
        result = lifecycle.make_cold(deployment.target)
    elif deployment.server.embedded and (files := deployment.own_files()) is not None:
        result = page_cache.cold_files(files)
    else:
        return {"ok": False, "why": "this engine has no cold protocol"}
    if isinstance(result, Cold):
        return {"ok": True, "how": result.how}
    return {"ok": False, "why": result.reason}


def restart(deployment: Deployment, _: str) -> Doc:
    return _restarted(deployment, Stop.CLEAN)


def kill(deployment: Deployment, _: str) -> Doc:
    return _restarted(deployment, Stop.KILL)


def _restarted(deployment: Deployment, how: Stop) -> Doc:
    try:
        deployment.restart(how)
    except TargetError as e:
        return {"ok": False, "why": str(e)}
    return {"ok": True, "how": f"{how.value} stop, then started again"}


def freeze(deployment: Deployment, seconds: str) -> Doc:
    """Stops every process of the server for so long: what a stalled disk looks like from outside."""
    instance = deployment.target.instance
    pids = instance.pids if instance is not None else []
    if not pids:
        return {"ok": False, "why": "the processes of this server are not ours to stop"}
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(float(seconds or 1))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    return {"ok": True, "how": f"SIGSTOP to {len(pids)} processes for {seconds or 1} s"}


#: Name in a plan's `pause` (`name:argument`) -> what is done.
ACTIONS: dict[str, Callable[[Deployment, str], Doc]] = {
    "make_cold": make_cold,
    "restart": restart,
    "kill": kill,
    "freeze": freeze,
}
