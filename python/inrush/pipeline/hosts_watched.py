"""What the hosts of a pipeline's run have watched, as one table: roles as on one host, and each host by its number. Pure but for
reading it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from inrush.clients.clocks import Shift
from inrush.clients.watched import looks_of, rows_of, summed
from inrush.pipeline.shares import SERVER
from inrush.results.parts import read, shifted
from inrush.results.schema import SCHEMAS

CLIENT = "load_client"


def watched(here: pa.Table, parts: Mapping[int, tuple[Path, Shift]]) -> pa.Table:
    """here: of this process and its host, and of shards that run here. parts: process -> folder of its tables, and from its
    run time to ours. Roles are those of a watch; `client/2` is that of the second of several."""
    tables = [here]
    clients = []
    several = len(parts) > 2
    for process, (folder, by) in sorted(parts.items()):
        held = [shifted("resources", table, by.offset_ns, by.rate) for table in read("resources", folder)]
        table = pa.concat_tables(held) if held else SCHEMAS["resources"].empty_table()
        if process != SERVER:
            clients.append(table.filter(pc.equal(table["role"], CLIENT)))
        tables.append(renamed(table, process, several))
    if several:
        tables.append(rows_of(CLIENT, summed(looks_of(table) for table in clients)))
    return pa.concat_tables([table.select(SCHEMAS["resources"].names) for table in tables])


def renamed(table: pa.Table, process: int, several: bool) -> pa.Table:
    """The host and the helper of a process have its number, from 1 on: the first is the load server's."""
    names = {"client": f"inrush/{process + 1}", "host": f"host/{process + 1}"}
    if several and process != SERVER:
        # As it is called in the figures.
        names[CLIENT] = f"client/{process}"
    roles = pa.array([names.get(role, role) for role in table["role"].to_pylist()], pa.string())
    return table.set_column(table.schema.get_field_index("role"), "role", roles)
