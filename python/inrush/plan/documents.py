"""Parts of a RunPlan as the core reads them (`rust/src/plan.rs`). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from inrush.plan.roles import ALL_ROWS, ActiveRole, Sampling
from inrush.plan.units import NS, ns
from inrush.study.operations import tables_of
from inrush.study.study import Study
from inrush.workload import VALUE_BYTES, Operation, Table

Doc = dict[str, Any]


def role_document(role: ActiveRole, index: Mapping[str, int], seconds: float) -> Doc:
    schedule: Doc = {"kind": role.schedule.mode}
    if role.samples is not None:
        schedule = samples_document(role.samples)
    elif role.schedule.mode == "closed":
        schedule["think_ns"] = ns(role.schedule.think_s)
    else:
        schedule["rate_per_s"] = role.rate_per_s
    work: Doc = {"kind": "endless"}
    until: Doc = {"kind": "time", "ns": ns(seconds)}
    if role.table is not None:
        work = {
            "kind": "rows",
            "table": index[role.table],
            "first_row": 0,
            "rows": role.rows,
            "batch_rows": role.batch_rows,
        }
        until = {"kind": "work"}
    elif role.calls is not None:
        work = {"kind": "calls", "count": role.calls}
        until = {"kind": "work"}
    if role.until is not None:
        until = {"kind": "role", "name": role.until}
    suffix = f"/{role.table}" if role.table is not None else ""
    return {
        "name": role.name,
        "operations": [{"operation": f"{o}{suffix}", "weight": w} for o, w in role.operations.items()],
        "sessions": role.sessions,
        "depth": role.depth,
        "schedule": schedule,
        "work": work,
        "until": until,
    }


def samples_document(samples: Sampling) -> Doc:
    document: Doc = {"kind": "samples", "every_ns": ns(samples.every_s), "parts": samples.parts}
    if (collect := samples.collect) is not None:
        document["collect"] = {
            "name": collect.name,
            "median_ns": ns(collect.median_s),
            "sigma": collect.sigma,
            "most_ns": ns(collect.most_s),
        }
    return document


def operation_document(
    operation: Operation,
    index: Mapping[str, int],
    text: str,
    method: str,
    params: list[Doc],
    keys: Doc | None = None,
) -> Doc:
    document: Doc = {
        "name": operation.name,
        "kind": operation.kind,
        "text": text,
        "method": method,
        "params": params,
        "members": list(operation.members),
        "holds": [],
        "deadline_ns": ns(operation.deadline_s),
    }
    if keys is not None:
        document["keys"] = [keys]
    if operation.table is not None and operation.table in index:
        document["table"] = index[operation.table]
        for hold in operation.holds:
            if hold in ("rows_regenerate", "asked"):
                compared = [operation.compared.get(p["name"], "") for p in params]
                document["holds"].append(
                    {
                        "kind": hold,
                        "table": document["table"],
                        "columns": list(operation.returns),
                        **({"keys": compared} if hold == "asked" or any(compared) else {}),
                        **({"may_be_empty": True} if operation.may_be_empty else {}),
                    }
                )
            elif hold == "freshness":
                document["holds"].append(
                    {"kind": hold, "table": document["table"], "series": operation.series}
                )
            elif hold == "count_bounds":
                document["holds"].append({"kind": hold, "table": document["table"]})
    return document


def members_on(operation: Operation, tables: Sequence[str], study: Study) -> tuple[str, ...]:
    """Members of a page that look at these tables only; all of them where no table is named."""
    if not tables:
        return operation.members
    operations = study.workload.operations
    return tuple(m for m in operation.members if set(tables_of(operations[m], study.workload)) <= set(tables))


def param_document(name: str, param: Mapping[str, Any], index: Mapping[str, int]) -> Doc:
    gen = dict(param["gen"])
    if gen["kind"] == "now_minus":
        gen = {"kind": "now_minus", "ns": ns(gen["seconds"])}
    elif gen["kind"] == "of_series":
        gen["table"] = index[gen["table"]]
        if "series" in gen:
            gen["kind"] = "series_at"
    elif gen["kind"] == "key":
        gen = {"kind": "key", "keys": 0, "draw": gen.get("draw", 0), "column": gen["column"]}
    return {"name": name, "type": param["type"], "gen": gen}


def source_document(table: Table) -> Doc:
    if table.files is None:
        return {"kind": "generated", "series": table.series, "period_ns": ns(table.period_s)}
    return {
        "kind": "files",
        "paths": list(table.files.paths),
        "format": table.files.format,
        "delimiter": table.files.delimiter,
        "header": table.files.header,
        "null": table.files.null,
        "reject_path": f"reject-{table.name}.csv",
        "reject_limit": table.files.reject_limit,
        **({"required": list(table.files.required)} if table.files.required else {}),
        **({"times": dict(table.files.times)} if table.files.times else {}),
    }


def last_sweep_ns(table: Table, rows: int) -> int:
    """Data time of the last of `rows` rows, from the epoch."""
    return (max(rows, 1) - 1) // table.series * ns(table.period_s) if rows < ALL_ROWS else 0


def row_bytes(table: Table) -> int:
    """Approximate bytes of the values of a row, for forecasts."""
    return sum(VALUE_BYTES.get(column.type, 8) for column in table.columns)


def epoch_ns(epoch: str) -> int:
    return round(datetime.fromisoformat(epoch.replace("Z", "+00:00")).timestamp()) * NS
