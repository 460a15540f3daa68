"""What the oracle is asked: the quiet queries in another engine's dialect, with the rows they are asked of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.border.labels import OracleOperation, OraclePlan
from inrush.border.statement import text_of
from inrush.engines import server
from inrush.engines.base.plans import OpPlan
from inrush.plan.kept import as_stored, not_kept
from inrush.workload import Operation, Table

#: More rows than this are not loaded a second time only to be asked.
ROWS = 2_000_000
#: Types that it keeps as texts, whose order is not that of their values.
ORDERED_OTHERWISE = ("inet",)


def not_compared(name: str, asked: Sequence[str], operations: Mapping[str, Operation]) -> list[str]:
    """A sentence for each query that the oracle has no words for, though its answer is promised to be compared."""
    return [
        f"{op}: its answer is compared with none, because the oracle is {name}: {reason}"
        for op in asked
        if (reason := operations[op].unsupported.get(name))
    ]


def oracle_plan(
    name: str,
    asked: Sequence[str],
    operations: Mapping[str, Operation],
    tables: Mapping[str, Table],
    rows: Mapping[str, int],
) -> OraclePlan | None:
    """`labels.oracle`; None where nothing is asked, or where only files or the engine know the rows, or where the
    oracle could not keep them.

    name: the engine that is asked (`Twin.oracle` of the one measured). rows: table -> rows it holds when it is quiet.
    """
    if not asked or any(t.files is not None for t in tables.values()) or sum(rows.values()) > ROWS:
        return None
    twin = server(name)
    tables = {key: as_stored(twin, table) for key, table in tables.items()}
    kinds = {column.type for table in tables.values() for column in table.columns}
    if any(not_kept(twin, table) for table in tables.values()) or kinds & {*ORDERED_OTHERWISE}:
        return None
    namespace = "inrush_oracle"
    plans = {key: twin.plan_table(table, "none", namespace) for key, table in tables.items()}
    planned = {op: twin.plan_operation(operations[op], "", plans) for op in asked}
    found: dict[str, OracleOperation] = {
        op: {"text": of.text, "params": list(of.params)}
        for op, of in planned.items()
        if isinstance(of, OpPlan)
    }
    return {
        "engine": name,
        "tables": [
            {
                "index": index,
                "name": plans[key].name,
                "create": [
                    *map(
                        text_of, (*(twin.open_namespace(namespace) if index == 0 else ()), *plans[key].create)
                    )
                ],
                "first_row": 0,
                "rows": rows[key],
            }
            for index, key in enumerate(tables)
        ],
        "operations": found,
    }
