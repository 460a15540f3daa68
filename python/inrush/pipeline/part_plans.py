"""What each process of a pipeline over hosts is started with: its role, its files, and the servers of shards on its host. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inrush.border.pipeline import PipelinePlan, SeenServer
from inrush.pipeline import shares
from inrush.pipeline.shard_servers import seen_by
from inrush.pipeline.shares import SERVER


def part_plan(plan: PipelinePlan, process: int, seen: Sequence[SeenServer]) -> dict[str, Any]:
    """Behind the load server come clients, and behind these those that watch shards. seen: which process sees which server."""
    how, client = plan["pipelines"], process - SERVER - 1
    common = {
        **{key: plan[key] for key in ("version", "run_id", "study", "seed", "epoch_ns", "record")},
        "watch": {"every_ns": plan["watch"]["every_ns"], "processes": {}, "data_dir": ""},
        "servers": seen_by(process, seen),
    }
    if process == SERVER:
        return {
            **common, "role": "server", "load_server": plan["load_server"], "cores": how["load_server_cores"],
        }  # fmt: skip
    if client >= shares.clients_at(how):
        return {**common, "role": "watcher"}
    own = [*shares.pipelines_of(client, how)]
    alone = how["client"] == "own"
    return {
        **common,
        "role": "client",
        "inputs": plan["inputs"],
        "files": shares.files_at(client, how, plan["inputs"]["files"]),
        "pipelines": own,
        "processes": len(own) if alone else 1,
        "client": {**plan["client"], "parallel": 1 if alone else len(own)},
    }
