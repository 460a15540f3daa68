"""Where a server of ours stands, as it says itself, and which others of its kind run beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inrush.machine.processes import RunningProcess, first_of, processes, working_folder
from inrush.targets.deployment import Deployment

Doc = dict[str, Any]


def standing(deployment: Deployment, own: Path) -> Doc:
    """`storage` of run.json: its name and folder, the device below, and the folder that the server says it keeps its tables in
    (null where it does not report it). Empty where the study has one place for an engine.

    own: where an engine in our process has its files.
    """
    folder, name = deployment.folder, deployment.target.storage
    place = deployment.data_place(own)
    if folder is None or place is None:
        return {}
    said = None
    if deployment.target.instance is not None and deployment.server.data_folder:
        said = said_folder(deployment)
    return {
        "storage": {
            "name": name,
            "folder": str(folder.resolve()),
            "device": device_of(folder),
            "files": said if said is not None else str(place.resolve()),
            "files_device": device_of(Path(said) if said is not None else place),
            "said_by_server": said is not None,
        }
    }


def said_folder(deployment: Deployment) -> str | None:
    from inrush import _core

    with contextlib.suppress(_core.CoreFailure, IndexError):
        return str(Path(str(deployment.ask(deployment.server.data_folder)[0][0])).resolve())
    return None


def device_of(path: Path) -> str | None:
    """`major:minor` of what a path lies on; None of one that is not there."""
    try:
        device = path.stat().st_dev
    except OSError:
        return None
    return f"{os.major(device)}:{os.minor(device)}"


# Others of its kind.


def neighbours(deployment: Deployment) -> dict[int, Doc] | None:
    """Servers of the same program on this machine but ours: first process -> its folder and its CPU time so far.

    None of an engine that is no server of ours. Those of another user are seen where we may look at them.
    """
    instance = deployment.target.instance
    if instance is None:
        return None
    ours = {
        *instance.pids,
        *(pid for s in deployment.shards if s.instance is not None for pid in s.instance.pids),
    }
    running = processes()
    mine = [running[pid] for pid in instance.pids if pid in running]
    alike = {pid: p for pid, p in running.items() if any(same_program(p, own) for own in mine)}
    states: dict[int, Doc] = {}
    for pid in alike:
        first = first_of(pid, alike)
        if first not in ours:
            at = states.setdefault(first, {"pid": first, "folder": working_folder(first), "cpu_s": 0.0})
            at["cpu_s"] += alike[pid].cpu_s
    return states


def beside(before: Mapping[int, Doc] | None, after: Mapping[int, Doc] | None) -> Doc:
    """`neighbours` of run.json: those that ran at its end, with the CPU time that they used meanwhile."""
    if before is None or after is None:
        return {}
    used = {pid: at["cpu_s"] - before.get(pid, {"cpu_s": 0.0})["cpu_s"] for pid, at in after.items()}
    return {"neighbours": [{**at, "cpu_s": max(0.0, used[pid])} for pid, at in sorted(after.items())]}


def same_program(a: RunningProcess, b: RunningProcess) -> bool:
    return Path(a.program).name == Path(b.program).name


# All others.

#: So many that used most are named.
NAMED = 3


def others(before: Mapping[int, RunningProcess], after: Mapping[int, RunningProcess], ours: set[int]) -> Doc:
    """`others` of run.json: the processes that used most CPU time during the run and are none of ours. Pure.

    What their children used that have ended counts as theirs, a compiler's in `make`, as far as it was used during the run.
    """
    earlier: dict[int, float] = {}
    for pid in before.keys() - after.keys():
        parent = before[pid].parent
        while parent in before and parent not in after:
            parent = before[parent].parent
        earlier[parent] = earlier.get(parent, 0.0) + before[pid].cpu_s
    own = {pid for pid in after if first_among(pid, after, ours)}
    used = {
        pid: p.cpu_s - (before[pid].cpu_s if pid in before else 0.0) - earlier.get(pid, 0.0)
        for pid, p in after.items()
        if pid not in own
    }
    most = sorted((pid for pid in used if used[pid] > 0), key=lambda pid: -used[pid])[:NAMED]
    named = [{"pid": pid, "program": Path(after[pid].program).name, "cpu_s": used[pid]} for pid in most]
    return {"others": named} if named else {}


def first_among(pid: int, running: Mapping[int, RunningProcess], ours: set[int]) -> bool:
    """Whether a process is one of ours, or a child of one."""
    while pid in running and pid not in ours:
        pid = running[pid].parent
    return pid in ours
