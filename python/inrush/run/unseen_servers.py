"""Servers of a study on this machine that will not be watched, because their processes are not found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inrush.border.pipeline import shards_of
from inrush.engines import server
from inrush.load.pipeline.shard_servers import said_address
from inrush.plan.planned import PlannedRun
from inrush.run.shard_servers import servers_of_study
from inrush.targets.deployment import Deployment, key_of
from inrush.targets.server_processes import found_at


def unseen_servers(runs: Sequence[PlannedRun], deployments: Mapping[str, Deployment]) -> Iterator[str]:
    """A line about each, said before the first run: a figure that is not there can still be had then."""
    of_sessions = {key_of(run) for run in runs if not shards_of(run.plan)}
    for key in of_sessions & deployments.keys():
        target, found = deployments[key].target, deployments[key].found()
        if found is not None and found.why:
            yield said(target.url, found.why)
    for of in servers_of_study(runs, deployments):
        found = found_at(server(of["engine"]), of["host"], of["port"])
        if found is not None and found.why:
            yield said(said_address(of["host"], of["port"]), found.why)


def said(where: str, why: str) -> str:
    return f"CPU and memory of the server at {where} are not watched: {why}"
