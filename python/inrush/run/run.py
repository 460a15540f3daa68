"""Runs a planned study: each plan in a fresh worker, sealed when complete, resumable at any point.

The unit is the run: it is sealed whole or done again. So a kill at any moment costs one run, and nothing of a load that
goes on (`going_on`).
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from inrush.agent.patience import USUAL, Graces
from inrush.agent.process import AGENT, end_leftover
from inrush.agent.stopping import Stopping
from inrush.errors import CoreError, InrushError, Problem, refuse
from inrush.machine import host, probed
from inrush.plan.calibration import is_price
from inrush.plan.planned import PlannedRun
from inrush.results.store import FILES, Doc, Results, SealedRun, StudyFolder
from inrush.run import full_disk, going_on
from inrush.run.ahead import Ahead, Look
from inrush.run.listener import Listener
from inrush.run.one import interrupted, run_one
from inrush.targets.deployment import Deployment, key_of
from inrush.text import counted

#: Runs in a row that may fail on one engine before the rest of its runs is left out, and said.
GIVE_UP_AFTER = 3


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

    def made(self, run: PlannedRun, doc: Doc) -> None:
        """doc: run.json."""
        if doc["status"] == "done":
            self.done += 1
        else:
            self.failed[run.run_id] = doc["failure"]["message"]


def run_study(
    runs: Sequence[PlannedRun],
    folder: StudyFolder,
    deployments: Mapping[str, Deployment],
    listener: Listener,
    skip: Skip = lambda run, sealed: None,
    look: Callable[[PlannedRun], Look] = lambda run: Look.NEVER,
    choose: Choose = lambda results: (),
    how: Mapping[str, object] = {},
    environment: Callable[[Path], Mapping[str, Any]] | None = None,
    graces: Graces = USUAL,
    worker: Sequence[str] = AGENT,
) -> StudyEnd:
    """Makes every run that is not sealed yet, in order, then those that are chosen by what these have found.

    deployments: `place_key` -> where an engine runs. look: when a run that was skipped is looked at again. how: more of the
    document of each run's process. graces: how long that may go on after its time; worker: its program. Raises Interrupted after
    Ctrl-C (the run in hand is done again), UsageError when the folder holds another plan, CoreError when it cannot be written.
    """
    outcome = StudyEnd(folder.path)
    with folder.locked(), Stopping() as stopping, no_space_explained(folder):
        begin(runs, folder, deployments, listener.note)
        facts = Facts(folder, environment or probed.environment)
        for key in dict.fromkeys(map(key_of, runs)):  # before any of them keeps a disk busy
            facts.of(deployments[key])
        ahead, failures = Ahead(runs), dict[str, int]()
        made, chosen = Results(folder.path).runs, False
        while (run := ahead.next()) is not None or not chosen:
            if run is None:
                chosen = True
                ahead.add(fresh_repeats(folder, choose, listener))
                continue
            engine = key_of(run)
            sealed = folder.sealed(run.run_id)
            if sealed is not None and sealed["status"] == "done":
                outcome.made(run, sealed)
                continue
            given = given_up(engine, failures)
            # One that failed was wanted.
            reason = given or (skip(run, made) if sealed is None else None)
            if reason is not None:
                ahead.left_out(run, Look.NEVER if given else look(run))
                outcome.stopped[run.point] = absent(run, reason)
                continue
            deployment = deployments[engine]
            make_ready(deployment, folder, bool(made), stopping)
            # Only now: a search passes over thousands of runs, and what it left out is decided anew by a resume.
            folder.write({"stopped": never_run(outcome, made)})
            listener.begun(ahead.n, ahead.of, run)
            doc = run_one(
                run, folder, deployment, facts.of(deployment), listener, stopping, how, worker, graces
            )
            ahead.made()
            made = Results(folder.path).runs
            listener.ended(run, doc)
            failures[engine] = failures.get(engine, 0) + 1 if doc["status"] == "failed" else 0
            outcome.made(run, doc)
    folder.remove_files()
    write_end(folder, outcome)
    return outcome


def begin(
    runs: Sequence[PlannedRun],
    folder: StudyFolder,
    deployments: Mapping[str, Deployment],
    note: Callable[[str], None],
) -> None:
    refuse(other_plan_problems(runs, folder))
    # As it was begun: one that is resumed had ended in some way.
    folder.write({"runs": [r.run_id for r in runs], "status": "running"})
    clean_up(runs, folder, deployments, note)


def fresh_repeats(folder: StudyFolder, choose: Choose, listener: Listener) -> Sequence[PlannedRun]:
    """Those that are chosen by what all others have found."""
    fresh = choose(Results(folder.path))
    folder.write({"confirming": [r.run_id for r in fresh]})
    if fresh:
        repeats = f"{counted(len(fresh), 'fresh repeat')} follow{'s' * (len(fresh) == 1)}"
        listener.note(f"{repeats}, of the best points and those close to them")
    return fresh


def write_end(folder: StudyFolder, outcome: StudyEnd) -> None:
    folder.write(
        {
            "status": "failed" if outcome.failed else "done",
            "stopped": never_run(outcome, Results(folder.path).runs),
            "ended_unix_ns": time.time_ns(),
        }
    )


def make_ready(deployment: Deployment, folder: StudyFolder, goes_on: bool, stopping: Stopping) -> None:
    """The server of the next run, started where it runs for its own runs alone. Raises as a start does, with what to do, and
    Interrupted once Ctrl-C came.

    goes_on: runs are sealed; without any there is nothing to go on with.
    """
    try:
        if not stopping.asked:
            deployment.make_ready()
    except InrushError as e:
        if not goes_on:
            folder.discard_if_empty()
            raise
        folder.write({"status": "interrupted"})
        raise type(e)(f"{e}\nnext: inrush run --resume {folder.path.name}") from e
    if stopping.asked:
        raise interrupted(folder)


class Facts:
    """What `env.json` says of this machine and of the disk below an engine's files: each place is looked at once."""

    def __init__(self, folder: StudyFolder, environment: Callable[[Path], Mapping[str, Any]]) -> None:
        self.folder, self.environment = folder, environment
        self.looked: dict[Path, Mapping[str, Any]] = {}

    @cached_property
    def of_inputs(self) -> Mapping[str, Any]:
        """Of the disk below input files that have a folder of their own."""
        place = self.folder.inputs_apart
        return {} if place is None else host.input_facts(place.parent.parent)

    def of(self, deployment: Deployment) -> Mapping[str, Any]:
        own = self.folder.data_in(deployment.folder)
        place = deployment.data_place(own)
        # Servers that take turns lie side by side, on one disk.
        at = deployment.place.parent if deployment.place is not None else place or own
        if at not in self.looked:
            try:
                self.looked[at] = {**self.environment(at), **self.of_inputs}
            except OSError as e:  # a write says what is wrong, and not where
                raise OSError(e.errno, e.strerror, str(e.filename or at)) from e
        if deployment.place is not None:
            return {**self.looked[at], "data_dir": str(deployment.place.absolute())}
        if place is not None:
            return self.looked[at]
        # Any disk of this machine would be a guess.
        return {k: v for k, v in self.looked[at].items() if not k.startswith(("data_", "disk_"))}


def absent(run: PlannedRun, reason: str) -> Doc:
    """A point that was not run, as study.json shows it."""
    factors = run.labels.get("factors", {})
    return {"point": run.point, "engine": engine_of(run), "factors": factors, "reason": reason}


def never_run(outcome: StudyEnd, runs: Sequence[SealedRun]) -> list[Doc]:
    """Points that were left out and have no run at all: a search leaves out single runs of points that it tried."""
    made = {str(r.labels.get("point", "")) for r in runs}
    return [doc for point, doc in outcome.stopped.items() if point not in made and not is_price(point)]


def engine_of(run: PlannedRun) -> str:
    return str(run.plan["target"]["engine"])


def given_up(engine: str, failures: Mapping[str, int]) -> str | None:
    if failures.get(engine, 0) < GIVE_UP_AFTER:
        return None
    return f"{engine} failed {GIVE_UP_AFTER} times in a row; fix it and continue with --resume"


def other_plan_problems(runs: Sequence[PlannedRun], folder: StudyFolder) -> Iterator[Problem]:
    """A folder goes on with the plans it was begun with: else old and new figures would mix."""
    if folder.doc.get("runs") not in (None, [r.run_id for r in runs]):
        yield Problem.sentence(
            f"{folder.path}: begun with other plans than these (the study file, its scale or inrush changed since); "
            "run it without --resume"
        )


def clean_up(
    runs: Sequence[PlannedRun],
    folder: StudyFolder,
    deployments: Mapping[str, Deployment],
    note: Callable[[str], None],
) -> None:
    """What a killed inrush left: its worker, its data, its tables in a server. Of a load that goes on they stay."""
    kept = set()
    for run in runs:
        opened = folder.leftover(run.run_id)
        if opened is not None:
            end_leftover(opened.parts)
            left = going_on.left(opened)
            if left is not None and left.goes_on:
                kept.add(run.run_id)
                continue
            if left is not None and left.changed:
                note(f"{run.run_id}: made anew: step {left.changed} has changed what step {left.step} stored")
            deployment = deployments.get(key_of(run))
            if deployment is not None:
                deployment.drop_leftover(run.plan)
            folder.quarantine(run.run_id)
    for place in {folder.data_in(of.folder) for of in deployments.values()}:
        for entry in place.iterdir() if place.is_dir() else ():
            if entry.name not in kept and not (kept and entry.name == FILES):
                shutil.rmtree(entry, ignore_errors=True)
        if not kept:
            shutil.rmtree(place, ignore_errors=True)


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
