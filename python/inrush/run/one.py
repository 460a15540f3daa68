"""One run: from its folder and its worker to its seal."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from inrush.agent.patience import Graces, Patience
from inrush.agent.place import processes_document
from inrush.agent.process import Process, death_message
from inrush.agent.stopping import Stopping
from inrush.border.events import Event
from inrush.border.pipeline import AnyPlan, loads_of, server_hosts, shards_of
from inrush.border.plan import RunPlan
from inrush.border.words import Document, Does
from inrush.engines.base.durability_level import Durability, weakest
from inrush.engines.base.instance import Instance
from inrush.engines.servers import server_limits
from inrush.errors import InrushError, Interrupted, from_core
from inrush.guards.rows import MORE_THAN_LIMIT
from inrush.load.pipeline.addresses import at_ends
from inrush.machine import host
from inrush.machine.addresses import own_hosts
from inrush.machine.disk_probe import disk_probe
from inrush.machine.processes import RunningProcess, processes
from inrush.plan.planned import PlannedRun
from inrush.results.store import Doc, OpenRun, StudyFolder, read_json
from inrush.run import full_disk, oracle
from inrush.run import going_on as going
from inrush.run.follow import RunEnded, follow
from inrush.run.listener import Listener
from inrush.stats.measures import writing_roles
from inrush.study.files import at_dumps, at_files, at_inputs, with_inputs_watched
from inrush.targets.deployment import Deployment, at_deployment, lifecycle_of
from inrush.targets.locks import Holder, beside_studies, other_studies
from inrush.targets.standing import beside, neighbours, others, standing
from inrush.text import counted


def run_one(
    run: PlannedRun,
    folder: StudyFolder,
    deployment: Deployment,
    env: Mapping[str, Any],
    listener: Listener,
    stopping: Stopping,
    how: Mapping[str, object],
    command: Sequence[str],
    graces: Graces,
) -> Doc:
    """One run from its folder to its seal; returns run.json."""
    own = folder.data_in(deployment.folder)
    data = folder_of(run, folder, own)
    deployment.run_files = data
    placed = placed_plan(run, folder, deployment, data)
    env = under_limits(env, deployment)
    unseen = of_unseen_server(placed, deployment)
    gone_on = going_on(run, placed, folder, deployment, env, listener)
    opened = gone_on or folder.open_run(run.run_id, placed, env)
    studies = other_studies(deployment)
    before = BeforeRun(time.time_ns(), host.noise_counters(), studies, neighbours(deployment), processes())
    disk, memory = full_disk.DiskWatch(deployment.data_place(own), listener), MemoryKills(deployment)
    worker = started(run, opened, deployment, how, command)
    try:
        ended = follow(worker, deployment, run.plan, disk, stopping, Patience(run.plan, graces))
        code = worker.close()
    finally:
        worker.kill()
        worker.close()
        left = going.left(opened)
        stays = left is not None and left.goes_on
        if not stays:
            shutil.rmtree(data, ignore_errors=True)
    # A run that was complete when Ctrl-C came is a run; the next round of the loop sees the wish to stop.
    if stopping.asked and ended.by in (None, "stop"):
        if not stays:
            deployment.drop_leftover(run.plan)
        raise interrupted(folder, run.run_id if stays else "")
    crashed = ended.failure is None and (code != 0 or ended.by is None)
    if crashed:
        ended.failure = {"kind": "crash", "message": death_message(code, opened.log)}
    ended.failure = memory.explained(explained(ended.failure, disk, opened))
    if ended.failure is not None and left is not None and left.goes_on and (crashed or not left.ended):
        raise unfinished(folder, run.run_id, ended.failure)
    shutil.rmtree(data, ignore_errors=True)
    if ended.failure is not None:
        deployment.drop_leftover(run.plan)
    return opened.seal(
        {
            "study": folder.path.name,
            **of_run(run, opened, ended),
            **servers_here(placed),
            **unseen,
            **standing(deployment, own),
            **before.document(deployment, placed, gone_on is not None),
            **of_server(run, opened, env, deployment, own),
            **processes_document(opened.parts),
        }
    )


def folder_of(run: PlannedRun, folder: StudyFolder, own: Path) -> Path:
    """The run's own below that of the data."""
    data = own / run.run_id
    data.mkdir(parents=True, exist_ok=True)
    if folder.inputs_apart is not None:  # there before its device is looked for
        folder.inputs_apart.mkdir(parents=True, exist_ok=True)
    return data


def started(
    run: PlannedRun,
    opened: OpenRun,
    deployment: Deployment,
    how: Mapping[str, object],
    command: Sequence[str],
) -> Process[Event]:
    """Its process, told what to do."""
    document = {
        "does": done_by(run.plan),
        "plan": read_json(opened.plan_path),
        "parts": str(opened.parts),
        **how,
    }
    return Process[Event](cast("Document", document), opened.log, deployment.environment, command=command)


@dataclass(frozen=True)
class BeforeRun:
    """The machine when a run began."""

    begun_unix_ns: int
    noise: Mapping[str, float]
    studies: Sequence[Holder] | None
    neighbours: Mapping[int, Doc] | None
    processes: Mapping[int, RunningProcess]

    def document(self, deployment: Deployment, placed: AnyPlan, went_on: bool) -> Doc:
        """What went on beside the run, which has just ended. went_on: an earlier stretch of it was not looked at."""
        ended_unix_ns, noise = time.time_ns(), host.noise(self.noise, host.noise_counters())
        studies = beside_studies(self.studies, other_studies(deployment))
        if went_on and not studies.get("other_studies"):
            studies = {}
        return {
            **beside(self.neighbours, neighbours(deployment)),
            **studies,
            **others(self.processes, processes(), ours(placed)),
            "begun_unix_ns": self.begun_unix_ns,
            "ended_unix_ns": ended_unix_ns,
            "noise": noise,
        }


def explained(failure: Doc | None, disk: full_disk.DiskWatch, opened: OpenRun) -> Doc | None:
    """What failed, with its cause where the disk or the rows that were rejected are it."""
    segments, failures = (opened.table(name).to_pylist() for name in ("segments", "failures"))
    return too_many_rejected(full_disk.explained(failure, disk, segments, failures))


def of_run(run: PlannedRun, opened: OpenRun, ended: RunEnded) -> Doc:
    """What was to be done, and how it ended."""
    return {
        "status": "failed" if ended.failure else "done",
        "ended_by": ended.by,
        "failure": ended.failure,
        "hash": run.hash,
        "block": run.block,
        "order": run.order,
        # The oracle's own statements stay in plan.json: they are not read twice.
        "labels": {key: value for key, value in run.labels.items() if key != "oracle"},
        "oracle": oracle_verdicts(opened, ended),
        "actions": ended.actions,
    }


def of_server(
    run: PlannedRun, opened: OpenRun, env: Mapping[str, Any], deployment: Deployment, own: Path
) -> Doc:
    """What its server and the disk below it say of themselves. own: folder of the server's data."""
    detail = settings_of(opened)
    gone_on = going.document(opened, env)
    survived = durability(survived_by_all(gone_on.get("stretches", ()), detail, deployment, own))
    durable = survived["survives"] == "POWER_LOSS"
    place, counters = deployment.data_place(own), deployment.server.page_counters
    again = disk_after(run.plan, opened.table("repetitions"), env, place) if durable and place else {}
    return {
        "durability": survived,
        **({"tls": tls} if (tls := deployment.server.tls(deployment.target, detail)) else {}),
        **({"page_counters": counters.document(detail, deployment.server.embedded)} if counters else {}),
        **of_our_instance(deployment),
        **({"disk_after": again} if again else {}),
        **gone_on,
    }


def done_by(plan: AnyPlan) -> Does:
    """By what the process of a run makes it."""
    return "loads" if loads_of(plan) else "share_out" if "share" in plan else "drive"


def servers_here(plan: AnyPlan) -> Doc:
    """Hosts in the addresses of its servers that are those of this machine."""
    return {"target_hosts": here} if (here := own_hosts(server_hosts(plan))) else {}


def placed_plan(run: PlannedRun, folder: StudyFolder, deployment: Deployment, data: Path) -> AnyPlan:
    """The plan with all its addresses. data: the run's own folder."""
    inputs, reject_folder = folder.inputs_path, folder.path / run.run_id
    named = at_files(at_deployment(run.plan, deployment, data), reject_folder, folder.files_path)
    named = at_dumps(named, data, f"{folder.path.name}/{run.run_id}")
    named = at_ends(at_inputs(named, inputs), deployment, data, inputs)
    return going.marked(named if folder.inputs_apart is None else with_inputs_watched(named, inputs), folder)


def going_on(
    run: PlannedRun,
    placed: AnyPlan,
    folder: StudyFolder,
    deployment: Deployment,
    env: Mapping[str, Any],
    listener: Listener,
) -> OpenRun | None:
    """What a killed inrush left of the run, for its next worker; None where there is nothing to go on with, which is reported."""
    opened = folder.leftover(run.run_id)
    left = going.left(opened) if opened is not None else None
    if left is None or not left.goes_on:
        return None
    why = going.lost(placed, left.mark, deployment.environment)
    if why is not None:
        listener.note(f"{run.run_id}: step {left.step} is made anew: {why}")
        deployment.drop_leftover(run.plan)
        data = folder.data_in(deployment.folder) / run.run_id
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True)
        return None
    listener.note(f"{run.run_id}: step {left.step} goes on behind the rows that are stored")
    marked = going.marked(placed, folder, left.mark)
    return folder.go_on(run.run_id, lambda earlier: going.continued(marked, earlier), env, left.begun_last)


def unfinished(folder: StudyFolder, run: str, failure: Doc) -> InrushError:
    """Of a load that failed and goes on: a later run of its point would drop what it has stored, so the study ends."""
    folder.write({"status": "interrupted"})
    return from_core(
        failure["kind"],
        f"{run}: {failure['message']}\nwhat was stored stays, and the load goes on there\n"
        f"next: inrush run --resume {folder.path.name}",
    )


class MemoryKills:
    """Processes of our server that its own limit of memory ends, from now on."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.pid, self.before = self.now()

    def now(self) -> tuple[int, int]:
        """Which server, and how many of its processes were ended since it was launched."""
        instance = self.deployment.target.instance
        return (instance.pid, server_limits.memory_kills(instance)) if instance is not None else (0, 0)

    def explained(self, failure: Doc | None) -> Doc | None:
        """The failure with that as its reason, where it was so; behind it, what the client saw."""
        pid, kills = self.now()
        instance = self.deployment.target.instance
        if failure is None or instance is None or kills <= (self.before if pid == self.pid else 0):
            return failure
        lifecycle = lifecycle_of(self.deployment.server)
        said = server_limits.memory_clause(
            f"{lifecycle.title} in {instance.data}", instance.held["memory"], lifecycle.with_less_memory
        )
        return {**failure, "kind": "target", "message": f"{said}: {failure['message']}"}


#: What the core says of a run that more rows are rejected of than its workload takes; target and files may have any name.
REJECTED = re.compile(r"plan: (\d+) rows rejected, more than reject_limit = (\d+); (.*)\Z", re.DOTALL)


def too_many_rejected(failure: Doc | None) -> Doc | None:
    """The failure, in the words of the workload file and with what to do."""
    found = REJECTED.search(str(failure.get("message", ""))) if failure is not None else None
    if failure is None or found is None:
        return failure
    rows, limit = int(found[1]), int(found[2])
    said = (
        f"{rows:,} rows of the files were rejected, {MORE_THAN_LIMIT} {limit:,}; {found[3]}. Give the "
        "column another type, repair the files, or write a higher reject_limit"
    )
    return {**failure, "message": said}


def of_our_instance(deployment: Deployment) -> Doc:
    """What is known of a server that inrush started, and of no other."""
    instance = deployment.target.instance
    if instance is None:
        return {}
    lifecycle = lifecycle_of(deployment.server)
    return {
        **({"limits": limits} if (limits := limits_held(instance)) else {}),
        "data_servers": deployment.data_servers(),
        "settings_asked": dict(lifecycle.start_settings(instance)),
        "settings_by_profile": list(lifecycle.by_profile(instance)),
    }


def ours(plan: AnyPlan) -> set[int]:
    """This process, and those that were watched as servers."""
    watched = (plan.get("watch") or {}).get("processes") or {}
    return {os.getpid(), *(pid for pids in watched.values() for pid in pids)}


def of_unseen_server(plan: AnyPlan, deployment: Deployment) -> Doc:
    """Why the processes of a server on this machine were not watched."""
    found = deployment.found() if not shards_of(plan) else None
    return {"server_unseen": found.why} if found is not None and found.why else {}


def under_limits(env: Mapping[str, Any], deployment: Deployment) -> Mapping[str, Any]:
    """The disk's ceiling as the server has it, which may be held below what the disk does."""
    instance, ceiling = deployment.target.instance, env.get("disk_write_bytes_per_s")
    written = limits_held(instance).get("write_bytes_per_s") if instance is not None else None
    if written is None or ceiling is None:
        return env
    return {**env, "disk_write_bytes_per_s": min(ceiling, written["asked"])}


def limits_held(instance: Instance) -> Doc:
    """Limit -> what was asked for, and what a probe was held to; empty of a server without."""
    asked = server_limits.limits_of(server_limits.split(instance.settings)[1])
    return {name: {"asked": value, "held": instance.held.get(name)} for name, value in asked.items()}


def disk_after(plan: AnyPlan, repetitions: pa.Table, env: Mapping[str, Any], data: Path) -> Doc:
    """The disk's ceilings once more, where the run went beyond what was probed before: which of them was wrong?"""
    if "disk_fsync_per_s" not in env:
        return {}
    writers = writing_roles(plan)
    for totals in repetitions.to_pylist():
        span_s = (totals["end_ns"] - totals["start_ns"]) / 1e9
        if totals["role"] in writers and span_s > 0:
            commits, sent = totals["ops"] / span_s, totals["bytes"] / span_s
            if commits > env["disk_fsync_per_s"] or sent > env["disk_write_bytes_per_s"]:
                return disk_probe(data)
    return {}


def oracle_verdicts(opened: OpenRun, ended: RunEnded) -> list[Doc]:
    """Whether each quiet answer is that of an engine which was not measured."""
    if ended.failure is not None:
        return []
    from inrush import _core

    plan = cast("RunPlan", read_json(opened.plan_path))
    answers, proofs = (opened.table(name).to_pylist() for name in ("answers", "proofs"))
    return [asdict(verdict) for verdict in oracle.verdicts(plan, answers, _core.generate, proofs)]


def interrupted(folder: StudyFolder, unfinished: str = "") -> Interrupted:
    """unfinished: the run in hand, where it goes on."""
    folder.write({"status": "interrupted"})
    planned = [*(p["run"] for p in folder.doc.get("planned", ())), *folder.doc.get("confirming", ())]
    done = sum((sealed := folder.sealed(run)) is not None and sealed["status"] == "done" for run in planned)
    in_hand = f"{unfinished} goes on where it is" if unfinished else "a run that was cut short is made again"
    return Interrupted(
        f"interrupted: {done} of {counted(len(planned), 'run')} {'is' if done == 1 else 'are'} complete and kept in "
        f"{folder.path}; {in_hand}\nnext: inrush run --resume {folder.path.name}"
    )


def settings_of(opened: OpenRun) -> dict[str, str]:
    """What the run read back from its server."""
    settings = opened.table("settings")
    return dict(zip(settings.column("name").to_pylist(), settings.column("value").to_pylist(), strict=True))


def survived_by_all(
    stretches: Sequence[Doc], detail: Mapping[str, str], deployment: Deployment, own: Path
) -> Durability:
    """What rows of every stretch survive. Writes its own into each stretch. detail: settings at first."""
    each = [deployment.durability(one, own) for one in going.settings_of_stretches(detail, stretches)]
    for stretch, normal in zip(stretches, each, strict=False):
        stretch["survives"] = normal.survives.name
    return weakest(each)


def durability(normal: Durability) -> Doc:
    """What an acknowledged row survives, as run.json says it."""
    return {"survives": normal.survives.name, "window_s": normal.window_s, "because": dict(normal.because)}
