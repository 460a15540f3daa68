"""How engines cut a table by time, `partitions.<engine>` of a workload. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from inrush.known import ENGINES
from inrush.study.document import Node, unknown
from inrush.study.sizes import parse_seconds
from inrush.workload import Partitions, Table

#: Partitions of one table, at most: servers open files for each of them.
COUNT_MOST = 1024
#: The last second that a time can have, 9999-12-31 23:59:59, since 1970.
LAST_S = 253_402_300_799


def parse_partitions(
    node: Node, table: Table, sizes: Mapping[str, float], epoch: str
) -> dict[str, Partitions]:
    """Engine -> `{ every_s = 5_270_400, count = 12 }`."""
    if table.time is None:
        node.problem("the table has no time that is never NULL; partitions are cut by one")
        return {}
    by_engine: dict[str, Partitions] = {}
    for engine, entry in node.members().items():
        if engine not in ENGINES:
            entry.problem(unknown("engine", engine, ENGINES))
            continue
        fields = entry.fields(("every_s", "count"), required=("every_s",))
        if "every_s" not in fields:
            continue
        every_s = parse_seconds(fields["every_s"], sizes)
        count = fields["count"].integer(1, COUNT_MOST) if "count" in fields else None
        if every_s != int(every_s):
            fields["every_s"].problem("a partition is a whole number of seconds")
            continue
        begin_s = datetime.fromisoformat(epoch.replace("Z", "+00:00")).timestamp()
        if begin_s + every_s * (count or 1) > LAST_S:
            long = fields["count" if "count" in fields else "every_s"]
            long.problem("the last partition would end after the year 9999; cut fewer or shorter ones")
            continue
        by_engine[engine] = Partitions(every_s, count, epoch)
    return by_engine
