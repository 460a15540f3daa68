"""One run by client processes on the workers of a Dask cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inrush.agent import shared_run
from inrush.agent.parent import Parent
from inrush.border.pipeline import AnyPlan, hosts_of, loads_of, server_hosts, shards_of, with_load
from inrush.border.words import Document, Does
from inrush.engines import server
from inrush.errors import InrushError, TargetError
from inrush.fleet import checks, dealing
from inrush.fleet.dealing import Dealt, Homes
from inrush.fleet.homes import asked_of as homes_of_target
from inrush.fleet.link import Link
from inrush.fleet.local import LocalFleet, write_variables
from inrush.fleet.own_files import makes_own
from inrush.fleet.place import OnWorkers
from inrush.load.pipeline.shard_servers import servers_of
from inrush.machine.addresses import own_hosts
from inrush.study.pipeline import ROLE


def made_by(plan: AnyPlan) -> tuple[Does, Callable[..., int]]:
    """What each of its processes does, and what makes the run of them."""
    if not shards_of(plan):
        return ("make_and_drive" if makes_own(plan) else "drive"), shared_run.shared
    from inrush.load.pipeline import hosts

    return hosts.PART, hosts.work


def work(document: Document, parent: Parent) -> int:
    """0: done; 1: failed, and an event says how."""
    plan: Any = document["plan"]
    fleet = document["fleet"]
    scheduler, folder = fleet["scheduler"], fleet["folder"]
    # One process is a run of several, too: it drives where the others would.
    does, made = made_by(plan)
    if not loads_of(plan):
        plan.setdefault("share", {"index": 0, "of": 1})
    target = plan["target"]
    twin = server(target["engine"])
    names = [name for name in (twin.password_variable,) if name in os.environ]
    shown = twin.client_variables
    here = LocalFleet(scheduler, Path(folder)) if folder else None
    if here:
        given = [*names, *(name for name in shown if name in os.environ)]
        write_variables(here.variables, {name: os.environ[name] for name in given})
    owner = f"{plan['study']} {plan['run_id']} of {socket.gethostname()} (process {os.getpid()})"
    try:
        link = here.link() if here else Link(scheduler)
        of, plan = dealt_to(plan, tuple(fleet["workers"]), fleet["homes"])
        place = OnWorkers(link, owner, hosts_of(plan), names, shown, of.ends, does, of.watchers)
        place.refuse_unfit(plan["record"]["interval_ns"])
        hosts = server_hosts(plan)
        place.with_target(homes_of_target(link, place.workers, hosts), own_hosts(hosts))
        # One that answers nothing keeps nothing, and is the same everywhere.
        has_files = twin.embedded and twin.answers
        away = [
            line
            for url in reached(plan)
            for line in checks.unreachable(
                of_database(place, plan), place.spaces, target["engine"], url, has_files
            )
        ]
        away += checks.without_files(place.facts, place.spaces, plan)
        if away:
            raise TargetError("\n".join(away))
    except InrushError as e:
        parent.say({"event": "failed", "kind": "fleet", "message": str(e)})
        return 1
    finally:
        # Each worker has read it: whatever ends us from now on, leaves no password.
        if here:
            here.variables.unlink(missing_ok=True)
    try:
        return made(plan, Path(document["parts"]), parent.words, parent.say, place)
    finally:
        link.close()


def dealt_to(plan: AnyPlan, ends: tuple[str, ...], homes: Homes) -> tuple[Dealt, AnyPlan]:
    """What the run takes of the study's workers, and its plan with what they see of its shards' servers."""
    of = Dealt(ends, tuple(worker for worker in homes if worker not in ends))
    if not shards_of(plan) or not ends:
        return of, plan
    run, seen = dealing.seen(of, hosts_of(plan), servers_of(plan), homes)
    return run, with_load(plan, ROLE, {"seen": seen}) if seen else plan


def reached(plan: AnyPlan) -> list[str]:
    """Addresses of the servers of a run."""
    if shards := shards_of(plan):
        return [shard["target"]["url"] for shard in shards]
    target: Mapping[str, Any] = plan["target"]
    return [target["url"], *target.get("shards", {}).get("urls", ())]


def of_database(place: OnWorkers, plan: AnyPlan) -> Mapping[str, Any]:
    """Of the workers that reach these: of a pipeline its load server's alone, which is the first one."""
    first = place.workers[0]
    return {first: place.facts[first]} if shards_of(plan) else place.facts
