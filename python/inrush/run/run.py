"""Runs a planned study: each plan in a fresh worker, sealed when complete, resumable at any point.

The unit is the run: it is sealed whole or done again. So a kill at any moment costs one run.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from inrush.border.events import Event, Paused
from inrush.engines.survives import Durability
from inrush.errors import CoreError, Interrupted, UsageError
from inrush.machine import host
from inrush.plan.calibration import OWN_SHARE
from inrush.plan.planned import PlannedRun
from inrush.results.store import Doc, OpenRun, Results, SealedRun, StudyFolder, read_json
from inrush.run import full_disk, oracle
from inrush.run.kinds import kind_of
from inrush.stats.measures import writing_roles
from inrush.study.files import at_files
from inrush.targets.deployment import ACTIONS, Deployment, at_deployment, lifecycle_of
from inrush.worker.patience import USUAL, Graces, Patience
from inrush.worker.process import Worker, death_message, end_leftover
from inrush.worker.stopping import Stopping

#: Runs in a row that may fail on one engine before the rest of its runs is left out, and said.
GIVE_UP_AFTER = 3
#: Below a study's data: what Parquet files were turned into, for all its runs.
FILES = "files"
#: How often signals are looked at while a worker says nothing, s.
TICK_S = 0.1


class Listener(Protocol):
    """Who watches: the terminal, or nobody."""

    def begun(self, n: int, of: int, run: PlannedRun) -> None: ...
    def event(self, event: Event) -> None: ...
    def ended(self, run: PlannedRun, doc: Doc) -> None: ...
    def note(self, message: str) -> None: ...


#: Which further runs to make, decided from those that are sealed (fresh repeats of what was found best).
Choose = Callable[[Results], Sequence[PlannedRun]]
#: Why a run need not be made, from what is sealed so far (stop rules); None: it must.
Skip = Callable[[PlannedRun, Sequence[SealedRun]], str | None]


@dataclass
class StudyEnd:
    """How a study ended."""

    path: Path
    done: int = 0
    #: Run -> what failed.
    failed: dict[str, str] = field(default_factory=dict)
    #: Point -> why its runs were left out: stop rules, an engine that kept failing.
    stopped: dict[str, Doc] = field(default_factory=dict)


def run_study(
    runs: Sequence[PlannedRun],
    folder: StudyFolder,
    deployments: Mapping[str, Deployment],
    listener: Listener,
    skip: Skip = lambda run, sealed: None,
    choose: Choose = lambda results: (),
    worker: Sequence[str] = (),
    environment: Callable[[Path], Mapping[str, Any]] = host.environment,
    graces: Graces = USUAL,
) -> StudyEnd:
    """Makes every run that is not sealed yet, in order, then those that are chosen by what these have found.

    sites: engine -> where it runs. worker: the program of each run's process; empty: that of its kind. graces: how long a worker may go on after its time. Raises Interrupted after Ctrl-C (the run in hand is not counted and will be
    done again), UsageError when the folder holds another plan, CoreError when the results cannot be written.
    """
    outcome = StudyEnd(folder.path)
    with folder.locked(), Stopping() as stopping, no_space_explained(folder):
        check_same_plan(runs, folder)
        clean_up(runs, folder, deployments)
        facts = Facts(folder.data_path, environment)
        for engine in dict.fromkeys(map(engine_of, runs)):  # before any of them keeps a disk busy
            facts.of(deployments[engine])
        ahead, failures = deque(runs), dict[str, int]()
        n, of, chosen = 0, len(runs), False
        while ahead or not chosen:
            if not ahead:
                chosen, ahead = True, deque(choose(Results(folder.path)))
                folder.write({"confirming": [r.run_id for r in ahead]})
                of += len(ahead)
                if ahead:
                    listener.note(f"{len(ahead)} fresh repeats follow, of the points found best or nearly so")
                continue
            run, n = ahead.popleft(), n + 1
            engine = engine_of(run)
            sealed = folder.sealed(run.run_id)
            if sealed is not None and sealed["status"] == "done":
                outcome.done += 1
                continue
            reason = given_up(engine, failures) or skip(run, Results(folder.path).runs)
            if reason is not None:
                outcome.stopped.setdefault(run.point, absent(run, reason))
                folder.write({"stopped": never_run(outcome, folder)})
                continue
            if stopping.asked:
                raise interrupted(folder)
            listener.begun(n, of, run)
            deployment = deployments[engine]
            doc = run_one(run, folder, deployment, facts.of(deployment), listener, stopping, worker, graces)
            listener.ended(run, doc)
            failures[engine] = failures.get(engine, 0) + 1 if doc["status"] == "failed" else 0
            if doc["status"] == "done":
                outcome.done += 1
            else:
                outcome.failed[run.run_id] = doc["failure"]["message"]
    shutil.rmtree(folder.data_path / FILES, ignore_errors=True)
    status = "failed" if outcome.failed else "done"
    folder.write({"status": status, "stopped": never_run(outcome, folder), "ended_unix_ns": time.time_ns()})
    return outcome


class Facts:
    """What `env.json` says of this machine and of the disk below an engine's files: each place is looked at once."""

    def __init__(self, own: Path, environment: Callable[[Path], Mapping[str, Any]]) -> None:
        """own: where engines in our process keep their files."""
        self.own, self.environment = own, environment
        self.looked: dict[Path, Mapping[str, Any]] = {}

    def of(self, deployment: Deployment) -> Mapping[str, Any]:
        place = deployment.data_place(self.own)
        at = place or self.own
        if at not in self.looked:
            try:
                self.looked[at] = self.environment(at)
            except OSError as e:  # a write says what is wrong, and not where
                raise OSError(e.errno, e.strerror, str(e.filename or at)) from e
        if place is not None:
            return self.looked[at]
        # Any disk of this machine would be a guess.
        return {k: v for k, v in self.looked[at].items() if not k.startswith(("data_", "disk_"))}


def run_one(
    run: PlannedRun,
    folder: StudyFolder,
    deployment: Deployment,
    env: Mapping[str, Any],
    listener: Listener,
    stopping: Stopping,
    command: Sequence[str],
    graces: Graces,
) -> Doc:
    """One run from its folder to its seal; returns run.json."""
    data = folder.data_path / run.run_id
    data.mkdir(parents=True, exist_ok=True)
    files = folder.data_path / FILES
    kind = kind_of(run.plan)
    named = at_files(at_deployment(run.plan, deployment, data), folder.path / run.run_id, files)
    placed = kind.placed(named, deployment, data, files)
    opened = folder.open_run(run.run_id, placed, env)
    begun = {"begun_unix_ns": time.time_ns()}
    before = host.noise_counters()
    disk = full_disk.DiskWatch(deployment.data_place(folder.data_path), listener)
    worker = Worker(
        opened.plan_path, opened.parts, opened.log, deployment.environment, command or kind.command
    )
    try:
        ended = follow(worker, deployment, disk, stopping, Patience(run.plan, graces))
        code = worker.close()
    finally:
        worker.kill()
        worker.close()
        shutil.rmtree(data, ignore_errors=True)
    # A run that was complete when Ctrl-C came is a run; the next round of the loop sees the wish to stop.
    if stopping.asked and ended.by in (None, "stop"):
        deployment.drop_leftover(run.plan)
        raise interrupted(folder)
    if ended.failure is None and (code != 0 or ended.by is None):
        ended.failure = {"kind": "crash", "message": death_message(code, opened.log)}
    segments, failures = (opened.table(name).to_pylist() for name in ("segments", "failures"))
    ended.failure = full_disk.explained(ended.failure, disk, segments, failures)
    if ended.failure is not None:
        deployment.drop_leftover(run.plan)
    ended_unix_ns, noise = time.time_ns(), host.noise(before, host.noise_counters())
    detail = settings_of(opened)
    survived = durability(deployment.durability(detail, folder.data_path))
    durable = survived["survives"] == "POWER_LOSS"
    place = deployment.data_place(folder.data_path)
    again = disk_after(run.plan, opened.table("repetitions"), env, place) if durable and place else {}
    return opened.seal(
        {
            "status": "failed" if ended.failure else "done",
            "ended_by": ended.by,
            "failure": ended.failure,
            "study": folder.path.name,
            "hash": run.hash,
            "block": run.block,
            "order": run.order,
            # The oracle's own statements stay in plan.json: nobody reads them twice.
            "labels": {key: value for key, value in run.labels.items() if key != "oracle"},
            "oracle": oracle_verdicts(opened, ended),
            "actions": ended.actions,
            "durability": survived,
            **({"tls": tls} if (tls := deployment.server.tls(deployment.target, detail)) else {}),
            **of_our_instance(deployment),
            **begun,
            "ended_unix_ns": ended_unix_ns,
            "noise": noise,
            **({"disk_after": again} if again else {}),
        }
    )


def of_our_instance(deployment: Deployment) -> Doc:
    """What is known of a server that inrush started, and of no other."""
    instance = deployment.target.instance
    if instance is None:
        return {}
    lifecycle = lifecycle_of(deployment.server)
    return {
        "data_servers": deployment.data_servers(),
        "settings_asked": dict(lifecycle.asked(instance)),
        "settings_by_profile": list(lifecycle.by_profile(instance)),
    }


def disk_after(plan: Mapping[str, Any], repetitions: pa.Table, env: Mapping[str, Any], data: Path) -> Doc:
    """The disk's ceilings once more, where the run went beyond what was probed before: which of them was wrong?"""
    if "disk_fsync_per_s" not in env:
        return {}
    writers = writing_roles(plan)
    for totals in repetitions.to_pylist():
        span_s = (totals["end_ns"] - totals["start_ns"]) / 1e9
        if totals["role"] in writers and span_s > 0:
            commits, sent = totals["ops"] / span_s, totals["bytes"] / span_s
            if commits > env["disk_fsync_per_s"] or sent > env["disk_write_bytes_per_s"]:
                return host.disk_probe(data)
    return {}


def oracle_verdicts(opened: OpenRun, ended: Ended) -> list[Doc]:
    """Whether each quiet answer is that of an engine which was not measured."""
    if ended.failure is not None:
        return []
    from inrush import _core

    plan = read_json(opened.plan_path)
    answers, proofs = (opened.table(name).to_pylist() for name in ("answers", "proofs"))
    return [asdict(verdict) for verdict in oracle.verdicts(plan, answers, _core.generate, proofs)]


def interrupted(folder: StudyFolder) -> Interrupted:
    folder.write({"status": "interrupted"})
    return Interrupted(
        f"stopped; what is sealed stays, the run in hand will be done again: "
        f"go on with `inrush run --resume {folder.path.name}`"
    )


@dataclass
class Ended:
    """What the events of a run said."""

    by: str | None = None
    failure: Doc | None = None
    #: What Python did between two segments: index, action, ok, and how or why not.
    actions: list[Doc] = field(default_factory=list)


def follow(
    worker: Worker, deployment: Deployment, listener: full_disk.Hears, stopping: Stopping, patience: Patience
) -> Ended:
    """Events to the listener, pauses to the site, Ctrl-C to the worker, until it has ended.

    A worker that goes on after its time is killed, with everything it started.
    """
    ended = Ended()
    detail = False
    overdue: str | None = None
    while True:
        if stopping.asked and not detail:
            detail = True
            listener.note("stopping: the run in hand ends in order; Ctrl-C again ends it now")
            worker.send("stop")
            patience.stop_sent(time.monotonic())
        if overdue is None and (overdue := patience.over(time.monotonic())) is not None:
            listener.note(overdue)
            worker.kill()
            ended.by, ended.failure = None, ended.failure or {"kind": "deadline", "message": overdue}
        if stopping.asked > 1:
            worker.kill()
        event = worker.event(TICK_S)
        if event is None:
            continue
        patience.saw(event, time.monotonic())
        match event["event"]:
            case "ended":
                return ended
            case "finished":
                ended.by = event["ended_by"]
            case "failed":
                ended.failure = {"kind": event["kind"], "message": event["message"]}
            case "paused":
                action = act(deployment, event)
                ended.actions.append(action)
                if action["ok"] is False:
                    listener.note(f"{action['action']}: {action['why']}")
                # After a restart they are others than those that the plan names.
                worker.send(f"resume {json.dumps(deployment.target.processes)}")
        listener.event(event)


def act(deployment: Deployment, event: Paused) -> Doc:
    """Does what a pause asks for; what could not be done is part of the result, not an error."""
    name, _, argument = event["action"].partition(":")
    began = time.perf_counter()
    if name not in ACTIONS:
        done: Doc = {"ok": False, "why": f"this inrush knows no action {name}: {', '.join(sorted(ACTIONS))}"}
    else:
        done = ACTIONS[name](deployment, argument)
    return {"index": event["index"], "action": event["action"], **done, "took_s": time.perf_counter() - began}


def settings_of(opened: OpenRun) -> dict[str, str]:
    """What the run read back from its server."""
    settings = opened.table("settings")
    return dict(zip(settings.column("name").to_pylist(), settings.column("value").to_pylist(), strict=True))


def durability(normal: Durability) -> Doc:
    """What an acknowledged row survives, as run.json says it."""
    return {"survives": normal.survives.name, "window_s": normal.window_s, "because": dict(normal.because)}


def absent(run: PlannedRun, reason: str) -> Doc:
    """A point that was not run, as study.json shows it."""
    factors = run.labels.get("factors", {})
    return {"point": run.point, "engine": engine_of(run), "factors": factors, "reason": reason}


def never_run(outcome: StudyEnd, folder: StudyFolder) -> list[Doc]:
    """Points that were left out and have no run at all: a search leaves out single runs of points that it tried."""
    made = {str(r.labels.get("point", "")) for r in Results(folder.path).runs}
    return [doc for point, doc in outcome.stopped.items() if point not in made and not is_price(point)]


def is_price(point: str) -> bool:
    """Runs that price the client's own work are no points of the study."""
    return point.startswith(OWN_SHARE)


def engine_of(run: PlannedRun) -> str:
    return str(run.plan["target"]["engine"])


def given_up(engine: str, failures: Mapping[str, int]) -> str | None:
    if failures.get(engine, 0) < GIVE_UP_AFTER:
        return None
    return f"{engine} failed {GIVE_UP_AFTER} times in a row; fix it and continue with --resume"


def check_same_plan(runs: Sequence[PlannedRun], folder: StudyFolder) -> None:
    """A folder goes on with the plans it was begun with: else old and new figures would mix."""
    planned = [r.run_id for r in runs]
    begun = folder.doc.get("runs")
    if begun is None:
        folder.write({"runs": planned})
    elif begun != planned:
        raise UsageError(
            f"{folder.path}: begun with other plans than these (the study file, its scale or inrush changed since); "
            "run it without --resume"
        )


def clean_up(runs: Sequence[PlannedRun], folder: StudyFolder, deployments: Mapping[str, Deployment]) -> None:
    """What a killed inrush left: its worker, its data, its tables in a server."""
    for run in runs:
        opened = folder.leftover(run.run_id)
        if opened is not None:
            end_leftover(opened.parts)
            deployment = deployments.get(engine_of(run))
            if deployment is not None:
                deployment.drop_leftover(run.plan)
            folder.quarantine(run.run_id)
    shutil.rmtree(folder.data_path, ignore_errors=True)


@contextlib.contextmanager
def no_space_explained(folder: StudyFolder) -> Iterator[None]:
    """A folder of results or of data that cannot be written ends the study with one line."""
    try:
        yield
    except OSError as e:
        place = Path(e.filename) if e.filename and Path(e.filename).is_absolute() else folder.path
        raise CoreError(
            f"{place}: {e.strerror or e}{full_disk.free_clause(place)}; make room or rights, then "
            f"`inrush run --resume {folder.path.name}`"
        ) from e


class Silent:
    """A listener for those who only want the result."""

    def begun(self, n: int, of: int, run: PlannedRun) -> None: ...
    def event(self, event: Event) -> None: ...
    def ended(self, run: PlannedRun, doc: Doc) -> None: ...
    def note(self, message: str) -> None: ...
