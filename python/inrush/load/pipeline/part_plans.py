"""What each process of a pipeline over hosts is started with: its role, its files, and the servers of shards on its host. Pure."""

from __future__ import annotations

from typing import Any

from inrush.border.pipeline import AnyPlan, StepEnds
from inrush.load.pipeline import shares
from inrush.load.pipeline.shard_servers import seen_by
from inrush.load.pipeline.shares import SERVER


def part_plan(plan: AnyPlan, of: StepEnds, process: int) -> dict[str, Any]:
    """Behind the load server come clients, and behind these those that watch shards."""
    how, client = of["pipelines"], process - SERVER - 1
    common = {
        **{key: plan[key] for key in ("version", "run_id", "study", "seed", "epoch_ns", "record")},
        "watch": {"every_ns": plan["watch"]["every_ns"], "processes": {}, "data_dir": ""},
        "servers": seen_by(process, of.get("seen", ())),
    }
    if process == SERVER:
        return {
            **common, "role": "server", "load_server": of["load_server"], "cores": how["load_server_cores"],
        }  # fmt: skip
    if client >= shares.clients_at(how):
        return {**common, "role": "watcher"}
    own = [*shares.pipelines_of(client, how)]
    alone = how["client"] == "own"
    return {
        **common,
        "role": "client",
        "inputs": of["inputs"],
        "files": shares.files_at(client, how, of["inputs"]["files"]),
        "pipelines": own,
        "processes": len(own) if alone else 1,
        "client": {**of["client"], "parallel": 1 if alone else len(own)},
    }
