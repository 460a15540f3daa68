"""Room on the disks of workers for the files that they make: what each needs, and which have less.

The files of a run go with it, so a worker needs the room of one run at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inrush.border.pipeline import AnyPlan, LoadEnds, clients_of, load_over_shards
from inrush.border.plan import InputPlan, RunPlan
from inrush.fleet import remote
from inrush.fleet.checks import named
from inrush.fleet.link import Link
from inrush.fleet.own_files import SENT, at_worker, makes_own, shares
from inrush.fleet.taken import on_all, refused
from inrush.load.pipeline.shares import clients_at, files_at
from inrush.plan.cost import input_room_said

#: A worker looks at its disk for so long at most, s.
ASK_S = 10.0
#: In place of the one that a worker will have.
FOLDER = Path("/")
#: Bytes of a row of a stream, as text.
RowBytes = Callable[[str], float]


@dataclass(frozen=True)
class Room:
    """Where a worker makes files."""

    folder: str
    #: Bytes; None: not known.
    free: int | None
    #: Equal of folders that share it.
    disk: str


def short_of_room(
    link: Link,
    workers: Sequence[str],
    facts: Mapping[str, Mapping[str, Any]],
    plans: Sequence[AnyPlan],
    row_bytes: RowBytes,
) -> list[str]:
    """A line for each disk with less room than the files of some run take on it. workers: by the process that each is given.

    Workers are asked where files are made, and no others are. Raises TargetError of one that does not answer.
    """
    needs = [each for plan in plans if any(each := each_needs(plan, row_bytes))]
    making = [worker for process, worker in enumerate(workers) if any(process < len(of) for of in needs)]
    if not making:
        return []
    with refused():
        found = on_all(lambda worker: link.call(worker, ASK_S, remote.room), making)
    rooms = {worker: Room(**said) for worker, said in zip(making, found, strict=True)}
    return short(rooms, {worker: named(worker, facts[worker]) for worker in making}, needs)


def short(rooms: Mapping[str, Room], names: Mapping[str, str], needs: Sequence[Sequence[float]]) -> list[str]:
    """rooms: of workers, by the process that each is given. needs: of each run, by process. Pure."""
    disks: dict[str, list[int]] = {}
    for process, room in enumerate(rooms.values()):
        disks.setdefault(room.disk, []).append(process)
    workers, lines = [*rooms], []
    for processes in disks.values():
        # A run may have fewer processes than another one.
        by_run = [{n: of[n] for n in processes if n < len(of) and of[n]} for of in needs]
        most = max(by_run, key=lambda each: sum(each.values()))
        making = [workers[n] for n in most]
        free = rooms[making[0]].free if making else None
        if free is not None and free < (needed := round(sum(most.values()))):
            folders = ", ".join(dict.fromkeys(rooms[worker].folder for worker in making))
            lines.append(f"{', '.join(names[w] for w in making)}: {input_room_said(folders, free, needed)}")
    return lines


def each_needs(plan: AnyPlan, row_bytes: RowBytes) -> list[float]:
    """Bytes of the files that the run makes, by process. Pure."""
    if (load := load_over_shards(plan)) is not None:
        return clients_need(load, row_bytes)
    if not makes_own(plan):
        return []
    # Files of equal rows lie in one folder, which is named by them.
    placed, of = at_worker(cast("RunPlan", plan), FOLDER), clients_of(plan)
    return [session_needs({**placed, "share": {"index": n, "of": of}}, row_bytes) for n in range(of)]


def clients_need(load: LoadEnds, row_bytes: RowBytes) -> list[float]:
    """The load server makes none."""
    how, cut = load["pipelines"], load["inputs"]
    size = cut["rows"] / cut["files"] * row_bytes(cut["table"]["stream"])
    return [0.0, *(size * len(files_at(client, how, cut["files"])) for client in range(clients_at(how)))]


def session_needs(plan: RunPlan, row_bytes: RowBytes) -> float:
    """What a sort writes for a while lies with what it has sorted, which is as large as what it sorts."""

    def size(of: InputPlan) -> float:
        return of["rows"] * row_bytes(plan["tables"][of["table"]]["stream"])

    made = {own.plan["folder"]: size(own.plan) * len(own.made) / own.plan["files"] for own in shares(plan)}
    sorts = [segment["to"] for segment in plan["segments"] if segment["kind"] == "sort"]
    return sum(made.values()) + 2 * sum(size(to) for to in sorts if to["way"] in SENT)
