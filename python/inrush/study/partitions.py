"""How engines cut a table, `partitions.<engine>` of a workload: by time, or by the values of a column. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from inrush.known import ENGINES
from inrush.study.document import I64, Node, unknown
from inrush.study.sizes import parse_seconds, parse_size
from inrush.workload import Partitions, Table

#: Partitions of one table, at most: servers open files for each of them.
COUNT_MOST = 1024
#: Types of columns whose values may end a partition, beside texts.
WHOLE = ("i16", "i32", "i64", "u8", "u16", "u32")
#: The last second that a time can have, 9999-12-31 23:59:59, since 1970.
LAST_S = 253_402_300_799


def parse_partitions(
    node: Node, table: Table, sizes: Mapping[str, float], epoch: str
) -> dict[str, Partitions]:
    """Engine -> `{ every_s = 5_270_400, count = 12 }`, or `{ column = "id", below = [1_000, 2_000] }`."""
    by_engine: dict[str, Partitions] = {}
    for engine, entry in node.members().items():
        if engine not in ENGINES:
            entry.problem(unknown("engine", engine, ENGINES))
            continue
        if entry.members().keys() & {"below", "column", "every"}:
            if (by_value := parse_below(entry, table, sizes, epoch)) is not None:
                by_engine[engine] = by_value
            continue
        fields = entry.fields(("every_s", "count"), required=("every_s",))
        if table.time is None:
            entry.problem(
                "the table has no time that is never NULL; partitions are cut by one, or by a column's values: column and below"
            )
            continue
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


def parse_below(node: Node, table: Table, sizes: Mapping[str, float], epoch: str) -> Partitions | None:
    """`column` is never NULL. `below`: whole numbers or texts, in their order; or `every` and `count`, of numbers from 0 on."""
    equal = "every" in node.members()
    fields = node.fields(
        ("column", "every", "count") if equal else ("column", "below"),
        required=("column", "every", "count") if equal else ("column", "below"),
    )
    if len(fields) < (3 if equal else 2):
        return None
    name = fields["column"].text([c.name for c in table.columns], "column")
    column = next((c for c in table.columns if c.name == name), None)
    if column is None:
        return None
    if column.nullable or column.type not in (*WHOLE, "text"):
        fields["column"].problem(
            "partitions are cut by a column of whole numbers or texts that is never NULL"
        )
        return None
    if equal and column.type == "text":
        fields["every"].problem("texts are cut by the values that are named: below = [...]")
        return None
    if equal:
        every, count = parse_size(fields["every"], sizes), fields["count"].integer(2, COUNT_MOST)
        ends = tuple(every * k for k in range(1, count))
        return Partitions(0.0, len(ends), epoch, name, ends)
    items = fields["below"].items(at_least=1)
    values = [item.text() if column.type == "text" else item.integer(*I64) for item in items]
    if len(values) >= COUNT_MOST:
        fields["below"].problem(f"a table has {COUNT_MOST} partitions at most")
    for item, before, value in zip(items[1:], values, values[1:], strict=False):
        if type(before) is type(value) and not before < value:  # type: ignore[operator]
            item.problem("each value is above the one before it")
    return Partitions(0.0, len(values), epoch, name, tuple(values))
