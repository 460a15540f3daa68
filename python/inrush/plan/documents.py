"""Parts of a plan as the core reads them (`inrush.border.plan`). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from inrush.border import plan as border
from inrush.engines.base.plans import OpPlan, TablePlan
from inrush.plan.roles import ALL_ROWS, ActiveRole, RoleInput, Sampling
from inrush.plan.units import NS, ns
from inrush.study.at_point import StudyAt
from inrush.study.events import FILES
from inrush.study.forms import Plain
from inrush.study.operations import tables_of
from inrush.workload import VALUE_BYTES, Operation, Table


def role_document(role: ActiveRole, index: Mapping[str, int], seconds: float) -> border.RolePlan:
    work: border.Work = {"kind": "endless"}
    until: border.Until = {"kind": "time", "ns": ns(seconds)}
    if role.table is not None:
        work = {
            "kind": "rows",
            "table": index[role.table],
            "first_row": role.first_row,
            "rows": role.rows,
            "batch_rows": role.batch_rows,
        }
        if role.source:
            work["dump"] = role.source
        if role.input is not None:
            work["input"] = input_document(role, role.input, index, bool(role.input.sorted))
        until = {"kind": "work"}
    elif role.calls is not None:
        work = {"kind": "calls", "count": role.calls}
        until = {"kind": "work"}
    if role.until is not None:
        until = {"kind": "role", "name": role.until}
    suffix = f"/{role.table}" if role.table is not None else ""
    document: border.RolePlan = {
        "name": role.name,
        "operations": [{"operation": f"{o}{suffix}", "weight": w} for o, w in role.operations.items()],
        "sessions": role.sessions,
        "depth": role.depth,
        "schedule": schedule_document(role),
        "work": work,
        "until": until,
    }
    if role.queue_calls is not None:
        document["queue_calls"] = role.queue_calls
    if role.connects:
        document["connects"] = True
    return document


def input_document(
    role: ActiveRole, of: RoleInput, index: Mapping[str, int], is_sorted: bool
) -> border.InputPlan:
    """Its folder is filled in where it runs. is_sorted: those that a step makes of them."""
    found: border.InputPlan = {
        "table": index[role.table or ""],
        "rows": role.rows,
        "files": of.files,
        "folder": "",
        "name": f"{of.name}-by-key" if is_sorted else of.name,
        "way": of.way,
    }
    if role.first_row > 0:
        found["first_row"] = role.first_row
    # What was sorted a moment ago is to be loaded from where it then is.
    if of.cold and not is_sorted:
        found["cold"] = True
    if is_sorted:
        found["sorted"] = True
    return found


def schedule_document(role: ActiveRole) -> border.Schedule:
    if role.samples is not None:
        return samples_document(role.samples)
    if role.schedule.mode == "constant":
        return {"kind": "constant", "rate_per_s": role.rate_per_s}
    if role.schedule.mode == "poisson":
        return {"kind": "poisson", "rate_per_s": role.rate_per_s}
    document: border.Closed = {"kind": "closed", "think_ns": ns(role.schedule.think_s)}
    if role.refill is not None:
        document["refill"] = role.refill
    if role.delay_s:
        document["delay_ns"] = ns(role.delay_s)
    return document


def samples_document(samples: Sampling) -> border.Samples:
    document: border.Samples = {"kind": "samples", "every_ns": ns(samples.every_s), "parts": samples.parts}
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
    planned: OpPlan,
    params: Sequence[border.ParamPlan],
    keys: border.KeyPlan | None = None,
) -> border.OpPlan:
    table = index.get(operation.table) if operation.table is not None else None
    document: border.OpPlan = {
        "name": operation.name,
        "kind": "execute" if operation.kind == "io" or operation.kind == "maintain" else operation.kind,
        "text": planned.text,
        "method": planned.method,
        "params": params,
        "members": list(operation.members),
        "holds": [] if table is None else holds_of(operation, table, [p["name"] for p in params]),
        "deadline_ns": ns(operation.deadline_s),
    }
    if operation.does:
        document["does"] = operation.does
    if planned.directives:
        document["directives"] = planned.directives
    if keys is not None:
        document["keys"] = [keys]
    if table is not None:
        document["table"] = table
    return document


def holds_of(operation: Operation, table: int, params: Sequence[str]) -> list[border.Assertion]:
    """What its answers promise. params: their names, in placeholder order."""
    columns, compared = list(operation.returns), [operation.compared.get(name, "") for name in params]
    assertions: list[border.Assertion] = []
    for hold in operation.holds:
        if hold == "asked":
            assertions.append({"kind": "asked", "table": table, "columns": columns, "keys": compared})
        elif hold == "rows_regenerate":
            rows: border.RowsRegenerate = {"kind": "rows_regenerate", "table": table, "columns": columns}
            if any(compared):
                rows["keys"] = compared
            if operation.may_be_empty:
                rows["may_be_empty"] = True
            assertions.append(rows)
        elif hold == "freshness":
            assertions.append({"kind": "freshness", "table": table, "series": operation.series})
        elif hold == "count_bounds":
            assertions.append({"kind": "count_bounds", "table": table})
    return assertions


def members_on(operation: Operation, tables: Sequence[str], study: StudyAt[Plain]) -> tuple[str, ...]:
    """Members of a page that look at these tables only; all of them where no table is named."""
    if not tables:
        return operation.members
    operations = study.workload.operations
    return tuple(m for m in operation.members if set(tables_of(operations[m], study.workload)) <= set(tables))


def param_document(operation: Operation, name: str, index: Mapping[str, int]) -> border.ParamPlan:
    param = operation.params[name] if name in operation.params else operation.unchanged[name]
    gen: border.ParamGen
    asked = param["gen"]
    match asked["kind"]:
        case "now_minus":
            gen = {"kind": "now_minus", "ns": ns(asked["seconds"] - operation.ahead_s)}
        case "of_series" if "series" in asked:
            gen = {
                "kind": "series_at", "table": index[asked["table"]], "column": asked["column"], "series": asked["series"]
            }  # fmt: skip
        case "of_series":
            gen = {"kind": "of_series", "table": index[asked["table"]], "column": asked["column"]}
        case "seen_until":
            gen = {"kind": "seen_until"}
        case "range" if "column" in asked:
            gen = {"kind": "range_key", "column": asked["column"]}
        case "range" if asked["end"] == "from":
            gen = {"kind": "range_from"}
        case "range":
            gen = {"kind": "range_to"}
        case "piece" if asked["end"] == "from":
            gen = {"kind": "piece_from"}
        case "piece":
            gen = {"kind": "piece_to"}
        case "key":
            gen = {"kind": "key", "keys": 0, "draw": asked.get("draw", 0), "column": asked["column"]}
        case "changed":
            gen = {"kind": "changed", "keys": 0, "column": asked["column"]}
        case "uniform":
            gen = {"kind": "uniform", "from": asked["from"], "to": asked["to"]}
        case "constant":
            gen = {"kind": "constant", "value": asked["value"]}
        case kind:
            raise AssertionError(f"the study's reader knows no parameter of kind {kind}")
    return {"name": name, "type": param["type"], "gen": gen}


# --- tables


def stored_table(table: Table, planned: TablePlan) -> border.StoredTable:
    """A table in the dialect of its engine, before it is known where its rows come from."""
    columns: list[border.ColumnPlan] = []
    for column in table.columns:
        document: border.ColumnPlan = {
            "name": column.name,
            "type": column.type,
            "wire": planned.wire[column.name],
            "null_ppm": round(column.null_share * 1e6),
        }
        if column.not_finite:
            share = {name: round(of * 1e6) for name, of in column.not_finite.items()}
            document["not_finite"] = {
                "nan_ppm": share.get("nan", 0),
                "inf_ppm": share.get("inf", 0),
                "minus_inf_ppm": share.get("minus_inf", 0),
            }
        if column.gen is not None:
            document["gen"] = dict(column.gen)
        columns.append(document)
    return {"name": planned.name, "stream": table.name, "columns": columns, "identity": list(table.identity)}


def table_document(table: Table, planned: TablePlan, order: str | None, rows: int) -> border.TablePlan:
    """order: as a study says it; rows: of the whole table."""
    stored = stored_table(table, planned)
    return {
        "name": stored["name"],
        "stream": stored["stream"],
        "columns": stored["columns"],
        "source": source_document(table, order, rows),
        "identity": stored["identity"],
    }


def source_document(table: Table, order: str | None, rows: int) -> border.RowSource:
    if table.files is None:
        generated: border.GeneratedRows = {
            "kind": "generated",
            "series": table.series,
            "period_ns": ns(table.period_s),
        }
        if has_events(table, order):
            generated["events"] = events_document(table, order, rows)
        return generated
    row_source: border.FileRows = {
        "kind": "files",
        "paths": list(table.files.paths),
        "format": table.files.format,
        "header": table.files.header,
        "written": cast(border.WrittenAs, dict(table.files.written)),
        "reject_path": f"reject-{table.name}.csv",
        "reject_limit": table.files.reject_limit,
    }
    if table.files.required:
        row_source["required"] = list(table.files.required)
    if table.files.times:
        row_source["times"] = dict(table.files.times)
    return row_source


def has_events(table: Table, order: str | None) -> bool:
    """Whether its rows are not sweep after sweep. By time they are, where all series have one rate."""
    if table.files is not None:
        return False
    return table.rates is not None or table.chunks is not None or order not in (None, "time")


#: As a study says it -> as a plan does.
ORDERS: Mapping[str, border.RowOrder] = {
    "key": {"by": "key"},
    "time": {"by": "time"},
    "random": {"by": "random"},
}


def events_document(table: Table, order: str | None, rows: int) -> border.RowEvents:
    files = FILES.match(order or "")
    # Without an order of the study's: rows in files of chunks have no time, and follow one another file by file.
    events: border.RowEvents = {"rows": rows, "order": ORDERS["time" if table.chunks is None else "key"]}
    if files:
        events["order"] = {"by": "file", "files": int(files[1])}
    elif order is not None:
        events["order"] = ORDERS[order]
    if table.rates is not None:
        events["rates"] = {"sigma": table.rates.sigma}
        if table.rates.pinned is not None:
            share_ppm = round(table.rates.share * 1e6)
            events["rates"]["pinned"] = {"series": table.rates.pinned, "share_ppm": share_ppm}
    if (chunks := table.chunks) is not None:
        events["chunks"] = {"files": chunks.files, "profile": chunks.profile, "run_rows": chunks.run_rows}
    return events


def last_sweep_ns(table: Table, rows: int) -> int:
    """Data time of the last of `rows` rows, from the epoch."""
    return (max(rows, 1) - 1) // table.series * ns(table.period_s) if rows < ALL_ROWS else 0


def row_bytes(table: Table) -> int:
    """Approximate bytes of the values of a row, for forecasts."""
    return sum(VALUE_BYTES.get(column.type, 8) for column in table.columns)


def held_bytes(table: Table) -> int:
    """The same as a database holds them: texts of a fixed length are padded to it."""
    return sum(column.chars or VALUE_BYTES.get(column.type, 8) for column in table.columns)


def epoch_ns(epoch: str) -> int:
    return round(datetime.fromisoformat(epoch.replace("Z", "+00:00")).timestamp()) * NS
