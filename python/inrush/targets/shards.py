"""Several servers of one kind that stand as one: a coordinator and its shards, started and ended together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inrush.engines.base.cluster import Cluster
from inrush.engines.base.instance import Instance, Stop
from inrush.engines.base.twin import Twin
from inrush.engines.servers import life, profiles, secret
from inrush.engines.servers.own_server import PROFILE
from inrush.errors import InrushError, TargetError, UsageError, from_core
from inrush.targets.deployment import lifecycle_of

#: The setting that asks for them: `postgresql,shards=4`.
SHARDS = "shards"
MOST = 64
#: Limit of a statement that makes shards known, s.
KNOW_S = 60.0


def shard_count(twin: Twin, settings: Mapping[str, str]) -> int:
    """How many shards the settings ask for; 0 for a server that stands alone. Raises UsageError."""
    if SHARDS not in settings:
        return 0
    cluster_of(twin)
    word = settings[SHARDS]
    if not word.isascii() or not word.isdigit() or not 1 <= int(word) <= MOST:
        raise UsageError(f"{twin.name},{SHARDS}={word}: the number of shards is 1 to {MOST}")
    return int(word)


def cluster_of(twin: Twin) -> Cluster:
    """What makes several servers of this engine one. Raises UsageError where nothing does."""
    if twin.cluster is None:
        raise UsageError(f"{twin.name}: servers of this kind have no coordinator; leave {SHARDS}= out")
    return twin.cluster


def split(twin: Twin, settings: Mapping[str, str]) -> tuple[int, dict[str, str]]:
    """How many shards are asked for, and the servers' own settings. Raises UsageError."""
    own = {name: value for name, value in settings.items() if name != SHARDS}
    count = shard_count(twin, settings)
    if not count:
        return 0, own
    # Together they may use what one server may: the budget is the machine's.
    share = profiles.memory() // (count + 1)
    return count, {**profiles.settings(twin.name, own.get(PROFILE), share), **own}


def folder(kept: Path, k: int) -> Path:
    return kept.with_name(f"{kept.name}-shard-{k}")


def folders(kept: Path) -> list[Path]:
    """Of the shards that were ever started beside `kept`, in their order."""
    found = kept.parent.glob(f"{kept.name}-shard-*")
    return sorted((f for f in found if f.is_dir()), key=lambda f: int(f.name.rpartition("-")[2]))


def check_made(kept: Path, shards: int) -> None:
    """Raises UsageError where the coordinator's tables lie on another number of shards."""
    made = len(folders(kept)) if kept.is_dir() else 0
    if made and made != shards:
        raise UsageError(
            f"{kept} has {made} shards, on which its tables lie; start it with {SHARDS}={made}, or choose another --data"
        )


def start(
    twin: Twin, kept: Path, settings: Mapping[str, str], shards: int, note: Callable[[str], None]
) -> list[Instance]:
    """Coordinator and shards, ready, the coordinator first. One that does not start stops the others.

    Raises TargetError with the end of its log.
    """
    lifecycle, cluster = lifecycle_of(twin), cluster_of(twin)
    begun: list[Instance] = []
    # The coordinator logs in to its shards, and a load that finds them by it has one password for all.
    lifecycle.share_password([kept, *(folder(kept, k) for k in range(shards))])
    try:
        for k in range(shards):
            note(f"starting shard {k} in {folder(kept, k)}")
            begun.append(lifecycle.start(folder(kept, k), settings))
        note(f"starting the coordinator in {kept}")
        begun.insert(0, lifecycle.start(kept, cluster.leading(settings, begun)))
        make_known(cluster, begun)
    except BaseException as error:  # Ctrl-C too: half a cluster is not left behind
        for instance in begun:
            lifecycle.stop(instance, Stop.KILL)
        if isinstance(error, InrushError):
            raise TargetError(
                f"{twin.name} with {shards} shards: {error}; the others were stopped"
            ) from error
        raise
    return begun


def make_known(cluster: Cluster, instances: list[Instance]) -> None:
    """The coordinator's own view of its shards. instances: the coordinator first."""
    from inrush import _core

    coordinator, *shards = instances
    target = json.dumps({"engine": coordinator.engine, "url": coordinator.url, "options": {}})
    try:
        for statement in cluster.know_shards([shard.url for shard in shards], passwords(shards)):
            _core.control(target, statement, KNOW_S)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None


def passwords(shards: Sequence[Instance]) -> dict[str, str]:
    """URL -> password, of those that have one."""
    found = {shard.url: secret.found(shard.data) for shard in shards}
    return {url: password for url, password in found.items() if password is not None}


def role(instance: Instance, kept: Path, has_shards: bool) -> str | None:
    """`coordinator`, `shard 3`; None for a server that stands alone."""
    if instance.data.name.startswith(f"{kept.name}-shard-"):
        return f"shard {instance.data.name.rpartition('-')[2]}"
    return "coordinator" if has_shards and instance.data == kept else None


def ended(instance: Instance, part: str, log: Path) -> str:
    """What to say of a part that was started and runs no more."""
    return f"{instance.engine}: the {part} has ended by itself; {log} ends with\n{life.log_tail(log)}"
