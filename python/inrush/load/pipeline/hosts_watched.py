"""What the hosts of a pipeline's run have watched, as one table: roles as on one host, and each host by its number. Pure but for
reading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from inrush.agent.watched import looks_of, rows_of, summed
from inrush.load.pipeline.shard_servers import SHARDS
from inrush.load.pipeline.shares import SERVER
from inrush.results.parts import Shift
from inrush.results.parts import whole as whole_table
from inrush.results.schema import SCHEMAS, renamed

CLIENT = "load_client"
#: Metrics of a device of a host, which as many hosts as there are call by the same name.
OF_DEVICE = "dev_"


def watched(
    here: pa.Table,
    parts: Mapping[int, tuple[Path, Shift]],
    devices: Mapping[int, str] | None = None,
    of_clients: int | None = None,
    whole: Sequence[str] = (),
) -> pa.Table:
    """here: of this process and its host, and of shards that run here. parts: process -> folder of its tables, and from its
    run time to ours. devices: what stands in front of a device's name. of_clients: how many parts behind the first are clients';
    None: all. whole: roles that are all of the shards together. Roles are those of a watch; `client/2` is that of the second of
    several."""
    tables, clients, shards = [here], [], []
    several = (len(parts) - 1 if of_clients is None else of_clients) > 1
    for process, (folder, by) in sorted(parts.items()):
        table = on_host(whole_table("resources", folder, by), (devices or {}).get(process, ""))
        shards += [table.filter(pc.equal(table["role"], role)) for role in whole]
        if process != SERVER:
            clients.append(table.filter(pc.equal(table["role"], CLIENT)))
        tables.append(named(table, process, several))
    if several:
        tables.append(together(CLIENT, clients))
    if whole:
        tables.append(together(SHARDS, shards))
    return pa.concat_tables([table.select(SCHEMAS["resources"].names) for table in tables])


def together(role: str, each: Iterable[pa.Table]) -> pa.Table:
    """Of all clients, or all shards. A disk is no share of theirs: each says the same of one that they share."""
    own = (
        table.filter(pc.invert(pc.starts_with(table["metric"], OF_DEVICE)))
        for table in each
        if table.num_rows
    )
    return rows_of(role, summed(looks_of(table) for table in own))


def device_marks(workers: Sequence[Mapping[str, Any]], boot: str) -> dict[int, str]:
    """Process -> what distinguishes devices of its machine from those of others; nothing where it is ours. boot: our kernel's."""
    kernels = [str(worker.get("boot") or process) for process, worker in enumerate(workers)]
    return {process: f"host/{kernels.index(of) + 1}:" for process, of in enumerate(kernels) if of != boot}


def on_host(table: pa.Table, mark: str) -> pa.Table:
    """Devices with their host in front, but for the host's own rows, whose role says it."""
    if not mark:
        return table
    of_device = pc.and_(pc.starts_with(table["metric"], OF_DEVICE), pc.not_equal(table["role"], "host"))
    devices = pc.if_else(of_device, pc.binary_join_element_wise(mark, table["device"], ""), table["device"])
    return table.set_column(table.schema.get_field_index("device"), "device", devices)


def named(table: pa.Table, process: int, several: bool) -> pa.Table:
    """The host and the helper of a process have its number, from 1 on: the first is the load server's."""
    names = {"client": f"inrush/{process + 1}", "host": f"host/{process + 1}"}
    if several and process != SERVER:
        # As it is called in the figures.
        names[CLIENT] = f"client/{process}"
    return renamed(table, names)
