"""What threads of each type computed, of a server of several processes. Pure.

Of the role `server` and of each process, its part `server/node_1`:
    <role>.<type>_thread_cores      busy cores of its threads of one type: `ldm`, `recv`, …; by its name where it has no type

Threads of servers are looked at once a second.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow.compute as pc

from inrush.stats.gaps import Window
from inrush.stats.record import RunRecord
from inrush.stats.watched import looks, spent_in

SUFFIX = "_thread_cores"


def thread_figures(run: RunRecord, windows: Iterable[Window]) -> dict[str, float]:
    windows = list(windows)
    span_s = sum(end - start for start, end in windows) / 1e9
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0 or span_s <= 0:
        return {}
    of_processes = table.filter(pc.equal(table["metric"], "cpu_s"))
    of_threads = of_processes.filter(pc.not_equal(of_processes["device"], ""))
    # Parts without threads are processes of the client, whose threads have names of sessions.
    parts = [role for role in pc.unique(of_threads["role"]).to_pylist() if "/" in role]
    figures = {}
    for role in dict.fromkeys([*(part.split("/", 1)[0] for part in parts), *parts]):
        mine = of_threads.filter(pc.equal(of_threads["role"], role))
        for kind in pc.unique(mine["device"]).to_pylist():
            series = looks(mine.filter(pc.equal(mine["device"], kind)))[role]
            if (used_s := spent_in(run, series, windows)) is not None:
                figures[f"{role}.{kind}{SUFFIX}"] = used_s / span_s
    return figures
