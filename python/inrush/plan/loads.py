"""Load steps that client and load server of `inrush load` do: their numbers at a point, and what the ends are started with. Pure.

To the core such a step is a pause. Its table is planned, proven and read as that of any load.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.border.pipeline import LoadingPointPlan, LoadPlace, LoadSegment, StepEnds
from inrush.border.plan import PointPlan as SessionsPointPlan
from inrush.engines.base.plans import TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.documents import role_document, row_bytes
from inrush.plan.dumps import CSV_SHARE, files_of
from inrush.plan.ledger import create_statement, ledger_statements, questions_of_killed, rows_in_ledger
from inrush.plan.pipeline import (
    LOAD,
    client_document,
    input_files,
    ledger_table,
    load_segment,
    loadable,
    pauses,
    pipelines_document,
    sample_of,
    server_document,
)
from inrush.plan.pipeline_numbers import PipelineNumbers, contradiction, numbers_of
from inrush.plan.roles import ActiveRole
from inrush.plan.units import ns
from inrush.study.at_point import StudyAt
from inrush.study.dumps import dump_operation
from inrush.study.forms import Plain
from inrush.study.step_kinds import Load
from inrush.workload import DRAWN_LISTS, Table, Workload

if TYPE_CHECKING:
    from inrush.plan.draft import Draft

#: So long a server may be away from a load that goes on, s: inrush starts it again when the run is resumed.
PATIENCE_S = 10.0
#: Types with values that a CSV without quotes cannot say, and the writer of generated files does not write.
UNWRITTEN = ("list_f64", "list_i64", *DRAWN_LISTS, "blob", "bytes", "json", "bit")
#: Types of a dump that its clients do not send to a load server.
UNCARRIED = ("blob", "bytes", "bit", "list_text")


def pipelined(study: StudyAt[Plain]) -> dict[str, Load[Plain]]:
    """Steps of a study that client and load server do."""
    return {s.name: s for s in study.steps if isinstance(s, Load) and s.pipeline is not None}


def by_loader(
    workload: Workload, server: Twin, step: Load[Plain], role: ActiveRole
) -> tuple[ActiveRole, PipelineNumbers, list[Problem]] | Unsupported:
    """The role of such a step with its pipelines in place of sessions, and their numbers."""
    assert step.pipeline is not None, "it was chosen by it"
    if server.loading is None:
        return Unsupported(
            f"{server.name}: step {step.name}: the loader keeps its ledger in {', '.join(loadable())}"
        )
    table = workload.tables[role.table or ""]
    problems = problems_of(step, table)
    own = table.chunks.files if table.chunks is not None and step.source is None else None
    files = step.pipeline.files or own or 1
    if own is not None:
        problems += problems_of_own(step, table, own, files, role.rows)
        files = own
    if step.source is not None:
        dump = workload.operations[dump_operation(step.source)].dump
        files = files_of(dump) if dump else files
    rows_per_file = math.ceil(role.rows / files)
    if step.source is None and own is None:
        files = math.ceil(role.rows / rows_per_file)
    size = rows_per_file * row_bytes(table) * CSV_SHARE
    if own is not None:
        size = round(role.rows * row_bytes(table) * CSV_SHARE / files)
    at = numbers_of(step.pipeline, files, size, rows_per_file)
    if reason := contradiction(at, server):
        return Unsupported(f"step {step.name}: {reason}")
    role = replace(role, sessions=at.pipelines, batch_rows=at.chunk_rows, notes=notes(server, step))
    return role, at, problems


def problems_of(step: Load[Plain], table: Table) -> list[Problem]:
    """Of a table with columns that no file is made of, or that its client does not carry out of a dump."""
    if step.source is None:
        lost, kinds = (
            [c.name for c in table.columns if c.type in UNWRITTEN],
            "lists, bytes, bits and documents",
        )
        said = f"no file is written of {', '.join(lost)}: {kinds}"
    else:
        lost = [c.name for c in table.columns if c.type in UNCARRIED or c.has_null_items]
        kinds = "bytes, bits, lists of texts and lists that hold NULL"
        said = f"the loader carries no {', '.join(lost)} out of a dump: {kinds}"
    if not lost:
        return []
    return [Problem("", f"steps.{step.name}.table", table.name, f"{said}; load it without pipeline")]


def problems_of_own(step: Load[Plain], table: Table, own: int, files: int, rows: int) -> list[Problem]:
    """Of a table that lies in `own` files by itself. files: as the step says, where it does."""
    found: list[Problem] = []
    key = f"steps.{step.name}"
    if files != own:
        remedy = f"{table.name} lies in {own:,} files by itself (chunks); remove it"
        found.append(Problem("", f"{key}.pipeline.files", str(files), remedy))
    if own > rows:
        remedy = f"a file has a row at least, and {table.name} lies in {own:,} (chunks); take more rows or fewer chunks"
        found.append(Problem("", f"{key}.rows", str(rows), remedy))
    return found


def ledger_name(draft: Draft) -> str:
    """Of the table beside the rows that the loader writes its chunks into."""
    return ledger_plan(draft).name


def ledger_plan(draft: Draft) -> TablePlan:
    return ledger_table(draft.server, draft.namespace)


def create_ledger(draft: Draft) -> list[border.Statement]:
    loading = draft.server.loading
    return [create_statement(loading, ledger_name(draft))] if draft.loads and loading else []


def drop_ledger(draft: Draft) -> list[border.Statement]:
    """Where it does not go with its namespace."""
    return list(ledger_plan(draft).drop) if draft.loads and not draft.server.namespace_holds_tables else []


def around(step: Load[Plain]) -> list[border.PauseSegment]:
    """What the core has of the step, until `with_loads` puts the load in its place."""
    ready, stored = pauses(step.name)
    load: border.PauseSegment = {
        "kind": "pause", "label": step.name, "step": step.name, "action": f"{LOAD}:{step.name}",
    }  # fmt: skip
    return [ready, load, stored]


def with_loads(plan: SessionsPointPlan, draft: Draft) -> LoadingPointPlan | Unsupported:
    """The plan with what the ends of each such step are started with."""
    steps, loads = pipelined(draft.study), dict[str, StepEnds]()
    for role in draft.roles:
        if role.name in draft.loads:
            found = step_ends(plan, draft, steps[role.name], role)
            if isinstance(found, Unsupported):
                return found
            loads[role.name] = found
    actions = {f"{LOAD}:{name}": name for name in loads}
    # Of an embedded engine's files the loader's worker knows.
    sizes = () if draft.server.embedded else draft.server.probes(list(draft.plans.values())).sizes
    sample = sample_of(draft.study, sizes)

    def segment(of: border.Segment) -> border.Segment | LoadSegment:
        if of["kind"] != "pause" or of["action"] not in actions:
            return of
        step = steps[actions[of["action"]]]
        (role,) = (r for r in draft.roles if r.name == step.name)
        limit_s = draft.study.schedule.limit_s if step.limit_s is None else step.limit_s
        found = load_segment(step.name, role_document(role, draft.index, 0.0), ns(limit_s), sample)
        found["step"] = step.name
        return found

    return {**plan, "segments": [segment(of) for of in plan["segments"]], "loads": loads}


def goes_on(server: Twin, step: Load[Plain]) -> bool:
    """Whether its load goes on after a kill: rows and their line of the ledger must commit together."""
    return step.resumable and server.loading is not None and server.loading.transactional


def notes(server: Twin, step: Load[Plain]) -> tuple[str, ...]:
    if not step.resumable or goes_on(server, step):
        return ()
    why = "without transactions a kill may store rows twice"
    return (f"{server.name}: step {step.name} is made anew after a kill: {why}",)


def sessions_of(plan: LoadingPointPlan) -> SessionsPointPlan:
    """The part that sessions of the core do."""
    return {
        "version": plan["version"],
        "study": plan["study"],
        "seed": plan["seed"],
        "epoch_ns": plan["epoch_ns"],
        "target": plan["target"],
        "tables": plan["tables"],
        "operations": plan["operations"],
        "segments": [s for s in plan["segments"] if s["kind"] != "load"],
        "record": plan["record"],
        "watch": plan["watch"],
    }


def step_ends(
    plan: SessionsPointPlan, draft: Draft, step: Load[Plain], role: ActiveRole
) -> StepEnds | Unsupported:
    of, at, name = step.pipeline, draft.loads[step.name], role.table or ""
    assert of is not None, "it was chosen by it"
    table, ledger = draft.tables[name], ledger_name(draft)
    place: LoadPlace = {"namespace": draft.namespace, "ledger": ledger_statements(step.name, ledger)}
    study = draft.study
    patience_s = PATIENCE_S if goes_on(draft.server, step) else None
    server = server_document(
        study, draft.server, table, at, plan["target"], draft.method, [place], step.name, patience_s
    )
    if isinstance(server, Unsupported):
        return server
    planned = plan["tables"][draft.index[name]]
    dump = dump_operation(step.source) if step.source is not None else ""
    found: StepEnds = {
        "inputs": input_files(table, at, planned, of.cold_inputs, role.rows, dump),
        "pipelines": pipelines_document(of, at),
        "client": client_document(of, at, step.name),
        "load_server": server,
        "rows_in_ledger": rows_in_ledger(step.name, ledger),
    }
    if goes_on(draft.server, step):
        found["goes_on"] = questions_of_killed(step.name, ledger, draft.plans[name].name)
    return found


def input_bytes(draft: Draft) -> int:
    """Approximate size of the files that are made for such steps."""
    steps = pipelined(draft.study)
    return sum(at.files * at.file_bytes for name, at in draft.loads.items() if steps[name].source is None)
