"""A point with its plan: what is said of it besides, how long it may take, and how much it writes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from inrush.border.labels import KeyCoverage, OptionalLabels, OraclePlan, PointLabels
from inrush.border.plan import PointPlan as Document
from inrush.plan.documents import held_bytes, row_bytes
from inrush.plan.dumps import dumped_bytes
from inrush.plan.intervals import coarser
from inrush.plan.io import file_bytes, io_notes, laid_out_s
from inrush.plan.keys import coverage, sentence
from inrush.plan.oracle import not_compared, oracle_plan
from inrush.plan.planned_point import PointPlan
from inrush.plan.roles import ALL_ROWS
from inrush.plan.steps import around_s, settle_s, step_limits, timed_reads
from inrush.plan.units import LOAD_BATCH_ROWS, NS
from inrush.plan.work import Lasts, read_back, read_until_time, works
from inrush.workload import TYPES, holding

if TYPE_CHECKING:
    from inrush.plan.draft import Draft

#: Types that not every engine sums, and what their values are called.
UNSEEN = {name: TYPES[name].many for name in holding("text", "bytes", "spelled") if name != "text"}


def summary(draft: Draft, plan: Document, options: Mapping[str, str]) -> PointPlan:
    held = {name: draft.rows_of(name) for name in draft.tables if draft.tables[name].files is None}
    writers = [role for role in draft.roles if role.table is not None]
    written = sum(role.rows for role in writers if role.rows < ALL_ROWS)
    covered = covered_keys(draft)
    notes = notes_of(draft, held, plan, options, covered)
    some: OptionalLabels = {}
    if draft.keys_per_call:
        some["keys_per_call"] = draft.keys_per_call
    if covered:
        some["keys"] = covered
    if draft.left_out:
        some["left_out"] = dict(draft.left_out)
    if draft.clients > 1:
        some["clients"] = draft.clients
    if draft.steps:
        some["steps"] = draft.steps
        some["indexes"] = {
            name: [list(index) for index in table.layouts.get(draft.layout, ())]
            for name, table in draft.tables.items()
        }
    if draft.study.totals:
        some["totals"] = {name: list(steps) for name, steps in draft.study.totals.items()}
    if draft.steps_left_out:
        some["steps_left_out"] = draft.steps_left_out
    labels: PointLabels = {
        "kind": draft.study.kind,
        "method": draft.method,
        "layout": draft.layout,
        "options": dict(options),
        "rows": written,
        "batch_rows": {role.name: role.batch_rows for role in writers},
        "sessions": {role.name: role.sessions for role in draft.roles},
        **some,
        "notes": list(notes),
        "oracle": oracle(draft),
    }
    return PointPlan(
        plan=plan,
        labels=labels,
        namespace=draft.namespace,
        streams=tuple(draft.tables),
        rows=sum(held.values()),
        written_rows=written,
        batch_rows=min((role.batch_rows for role in writers), default=LOAD_BATCH_ROWS),
        bytes=sum(rows * held_bytes(draft.tables[name]) for name, rows in held.items()),
        fixed_s=around_s(draft.study) + settle_s(draft.study) + laid_out_s(draft.operations),
        lasts=lasts(draft),
        notes=notes,
        per_s={
            r.table: (rate := r.samples.rows / r.samples.every_s, rate * row_bytes(draft.tables[r.table]))
            for r in writers
            if r.samples and r.table
        },
        dumped_bytes=dumped_bytes(draft.roles, draft.study.workload, held),
        file_bytes=file_bytes(draft.operations),
    )


def notes_of(
    draft: Draft,
    held: Mapping[str, int],
    plan: Document,
    options: Mapping[str, str],
    covered: Mapping[str, KeyCoverage],
) -> tuple[str, ...]:
    """What a reader of the point's figures has to know, each sentence once. held: table -> its rows."""
    notes = [note for role in draft.roles for note in role.notes]
    notes += [f"{draft.server.name}: {loss}" for t in draft.plans.values() for loss in t.losses]
    notes += [
        f"{name}: {rows:,} rows are proven by counts and sums; beyond {draft.read_back_rows:,} {read_back_of(draft, name)}"
        for name, rows in held.items()
        if rows > draft.read_back_rows
    ]
    notes += [
        f"{name}: {what} ({', '.join(unseen)}) are in no count or sum of {draft.server.name}; read-back alone proves them"
        for name, rows in held.items()
        if rows > draft.read_back_rows
        for kind, what in UNSEEN.items()
        if (unseen := unseen_columns(draft, name, kind))
    ]
    notes += [
        f"{name}: floats with values that are not finite ({', '.join(unseen)}) are in no sum; read-back alone proves them"
        for name, rows in held.items()
        if rows > draft.read_back_rows
        and (unseen := [c.name for c in draft.tables[name].columns if c.not_finite])
    ]
    notes += [
        f"{draft.server.name}: step {step} is left out: {reason}"
        for step, reason in draft.steps_left_out.items()
    ]
    record, watch = plan["record"]["interval_ns"] / NS, plan["watch"]["every_ns"] / NS
    asked = draft.study.record.interval_s is not None and draft.study.record.watch_s is not None
    notes += [
        reason_text
        for reason_text in [coarser(draft.longest_s(), record, watch)]
        if reason_text and not asked
    ]
    notes += [sentence(name, keys) for name, keys in covered.items()]
    notes += io_notes(draft.operations, options.get("direct") != "false")
    notes += not_compared(draft.server.oracle, draft.asked(), draft.study.workload.operations)
    return tuple(dict.fromkeys(notes))


def read_back_of(draft: Draft, name: str) -> str:
    if draft.ranges(name, ""):
        return "only seeded ranges are read back"
    return "nothing is read back: no time and no key says which rows are in a range"


def lasts(draft: Draft) -> Lasts:
    measure = draft.study.measure

    def quiet(name: str) -> int:
        return draft.rows_of(name) - (draft.retained[name].first_row if name in draft.retained else 0)

    counted = {role.table for role in draft.roles if role.rows < ALL_ROWS}
    return Lasts(
        work=(
            *works(draft.roles, draft.tables, draft.server, step_limits(draft.study)),
            *timed_reads(draft.study, draft.steps_left_out),
        ),
        measure_s=measure.seconds if measure and read_until_time(draft.roles) else 0.0,
        at_least_s=measure.at_least_s if measure else 0.0,
        max_repetitions=measure.max_repetitions if measure else 1,
        limit_s=draft.study.schedule.limit_s if measure else float("inf"),
        proven_rows=read_back(quiet, draft.tables, draft.read_back_rows),
        of_files=any(table.files is not None and name not in counted for name, table in draft.tables.items()),
    )


def covered_keys(draft: Draft) -> dict[str, KeyCoverage]:
    """Operation -> what its keys cover, of those that are called."""
    found = {}
    for name in (o["name"] for o in draft.operations if "keys" in o):
        operation = draft.study.workload.operations[name]
        assert operation.key_rows is not None, "it was planned from them"
        found[name] = coverage(
            operation, operation.key_rows, draft.tables[operation.key_rows.table], draft.keys[name]
        )
    return found


def unseen_columns(draft: Draft, name: str, kind: str) -> list[str]:
    """Columns of one of `UNSEEN` that are in no figure of an engine that stores something."""
    proof = draft.server.proof(draft.tables[name], draft.plans[name])
    seen = {item["column"] for item in proof.items if item["kind"] == "sum_hash"}
    columns = [c.name for c in draft.tables[name].columns if c.type == kind]
    return [column for column in columns if column not in seen] if proof.checksum_query else []


def oracle(draft: Draft) -> OraclePlan | None:
    rows = {name: draft.rows_of(name) for name in draft.tables}
    return oracle_plan(
        draft.server.oracle, draft.asked(), draft.study.workload.operations, draft.tables, rows
    )
