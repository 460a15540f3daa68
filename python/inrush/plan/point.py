"""One point of a study as a plan for the core: tables, operations and segments in one engine's dialect. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inrush.engines.base import Server, TablePlan, Unsupported
from inrush.errors import Problem
from inrush.plan.documents import (
    Doc,
    epoch_ns,
    last_sweep_ns,
    members_on,
    ns,
    operation_document,
    param_document,
    role_document,
    row_bytes,
    source_document,
)
from inrush.plan.oracle import oracle_book
from inrush.plan.ranges import read_back_ranges
from inrush.plan.retention import Retained, in_pieces, retain_operation, retain_role, retained
from inrush.plan.roles import ALL_ROWS, ActiveRole, Broken, active_roles
from inrush.study.forms import Best, resolve
from inrush.study.study import Study
from inrush.study.workload_file import tables_of
from inrush.workload import Operation, Table

PLAN_VERSION = 1
#: Up to so many rows of a table are read back whole; beyond, the screen alone proves it.
READ_BACK_ROWS = 10_000_000


@dataclass(frozen=True)
class PointPlan:
    """`plan` is a RunPlan without run_id and with the target's engine only: runs add the rest."""

    plan: Mapping[str, Any]
    labels: Mapping[str, Any]
    namespace: str
    #: Tables that are created, by their names in the workload.
    streams: tuple[str, ...]
    #: Rows that lie in the database at once, and that one repetition writes.
    rows: int
    written_rows: int
    batch_rows: int
    #: Approximate size of those rows.
    bytes: int
    #: Seconds that pass whatever the engine does.
    fixed_s: float
    at_least_s: float
    notes: tuple[str, ...] = ()
    #: Table -> rows and bytes of values a second, of tables that samples fill.
    per_s: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Impossible:
    """The point contradicts itself."""

    problems: tuple[Problem, ...]


def plan_point(
    study: Study,
    server: Server,
    engine: str,
    point_id: str,
    point: Mapping[str, Any],
    seed: int,
    best: Mapping[str, Sequence[Best]],
) -> PointPlan | Unsupported | Impossible:
    """engine: the server's name, with its variant if it has one (`null:text`).

    Raises nothing: what the engine cannot do is `Unsupported`, what the study cannot mean `Impossible`."""
    asked = resolve(study.method, point) or server.methods[0]
    method = server.ways.get(asked, asked)
    if method not in server.methods:
        return Unsupported(f"{engine} has no method {method}; it has {', '.join(server.methods)}")
    roles = active_roles(study, server, {**point, "engine": engine}, best)
    if isinstance(roles, Broken):
        return Impossible(roles.problems)
    if not roles:
        return Impossible((Problem("", "roles", point_id, "no role has a session here; remove the point"),))
    kept, roles, problems = retained(study, roles)
    if problems:
        return Impossible(tuple(problems))
    namespace = f"inrush_{short_hash(study.name, point_id, seed)}"
    draft = Draft(study, server, method, resolve(study.layout, point), namespace, roles, seed, kept)
    reason = draft.plan_operations()
    if reason is not None:
        return reason
    options = {key: str(resolve(value, point)) for key, value in study.options.get(engine, {}).items()}
    plan = {
        "version": PLAN_VERSION,
        "study": study.name,
        "seed": seed,
        "epoch_ns": epoch_ns(study.workload.epoch),
        "target": {"engine": engine, "url": "", "options": options},
        "tables": [draft.table_document(name) for name in draft.tables],
        "operations": draft.operations,
        "segments": Segments(draft).all(),
        "record": {
            "interval_ns": ns(study.record.interval_s),
            "flush_ns": ns(max(2.0, study.record.interval_s)),
        },
        "watch": {"every_ns": ns(study.record.watch_s), "processes": {}, "data_dir": ""},
    }
    return draft.summary(plan, options)


class Draft:
    """What the segments are made of: the point's tables and operations in the engine's dialect."""

    def __init__(
        self,
        study: Study,
        server: Server,
        method: str,
        layout: str,
        namespace: str,
        roles: Sequence[ActiveRole],
        seed: int,
        retained: Mapping[str, Retained],
    ) -> None:
        workload = study.workload
        used = {
            table
            for role in roles
            for name in role.operations
            for table in role.tables or tables_of(workload.operations[name], workload)
        }
        self.study, self.server, self.method, self.namespace = study, server, method, namespace
        self.roles, self.seed = tuple(roles), seed
        self.retained = {name: of for name, of in retained.items() if of.cut_ns > 0}
        self.layout = layout
        self.tables: dict[str, Table] = {
            name: workload.tables[name] for name in workload.tables if name in used
        }
        self.index = {name: i for i, name in enumerate(self.tables)}
        self.plans: dict[str, TablePlan] = {
            name: server.plan_table(table, layout if layout in table.layouts else "none", namespace)
            for name, table in self.tables.items()
        }
        #: Table -> rows that roles write in one repetition.
        self.written = {role.table: role.rows for role in roles if role.table is not None}
        self.operations: list[Doc] = []

    def loaded_rows(self, name: str) -> int:
        """Rows a table holds before anything is measured."""
        if name in self.written or self.tables[name].files is not None:
            return 0
        return self.roles[0].load_rows

    def rows_of(self, name: str) -> int:
        return self.written.get(name) or self.loaded_rows(name)

    # --- operations

    def plan_operations(self) -> Unsupported | None:
        """Fills `operations`; the first that the engine cannot do, with its name."""
        workload = self.study.workload
        wanted: dict[str, tuple[Operation, int]] = {}
        for name in self.tables:
            if self.loaded_rows(name):
                insert = Operation(f"load/{name}", "insert", table=name)
                wanted[insert.name] = (insert, LOAD_BATCH_ROWS)
        for role in self.roles:
            for name in role.operations:
                operation = workload.operations[name]
                if role.table is not None:
                    one = replace(operation, name=f"{name}/{role.table}", table=role.table)
                    wanted[one.name] = (one, role.batch_rows)
                    continue
                members = members_on(operation, role.tables, self.study)
                wanted |= {m: (workload.operations[m], 0) for m in members}
                wanted[name] = (replace(operation, members=members), 0)
        for operation, batch_rows in wanted.values():
            method = self.method if operation.kind == "insert" else ""
            if operation.kind == "together":
                self.operations.append(operation_document(operation, self.index, "", "", []))
                continue
            planned = self.server.plan_operation(operation, method, self.plans, batch_rows)
            if isinstance(planned, Unsupported):
                return Unsupported(f"{operation.name}: {planned.reason}")
            params = [param_document(p, operation.params[p], self.index) for p in planned.params]
            self.operations.append(
                operation_document(operation, self.index, planned.text, planned.method or method, params)
            )
            kept = self.retained.get(operation.table or "")
            if kept is not None and planned.piece_s and kept.operation == operation.name:
                self.retained[kept.table] = in_pieces(
                    kept, self.tables[kept.table], planned.piece_s, epoch_ns(workload.epoch)
                )
        at = epoch_ns(workload.epoch)
        for of in self.retained.values():
            document = next(o for o in self.operations if o["name"] == of.operation)
            self.operations.append(retain_operation(document, of, at))
        return None

    # --- documents of the border

    def table_document(self, name: str) -> Doc:
        table, plan = self.tables[name], self.plans[name]
        columns = []
        for column in table.columns:
            document: Doc = {
                "name": column.name,
                "type": column.type,
                "wire": plan.wire[column.name],
                "null_ppm": round(column.null_share * 1e6),
            }
            if column.gen is not None:
                document["gen"] = dict(column.gen)
            columns.append(document)
        return {
            "name": plan.name,
            "stream": name,
            "columns": columns,
            "source": source_document(table),
            "identity": list(table.identity),
        }

    def proofs(self, names: Sequence[str], read_back: bool) -> list[Doc]:
        """Of engines that store something."""
        found = []
        for name in names:
            proof = self.server.proof(self.tables[name], self.plans[name])
            gone = self.retained[name].first_row if name in self.retained else 0
            rows = self.rows_of(name) - gone
            from_files = self.tables[name].files is not None
            whole = rows <= READ_BACK_ROWS or from_files
            document = {
                "table": self.index[name],
                "first_row": gone,
                "rows": 0 if from_files else rows,
                "screen": proof.screen,
                "items": [dict(item) for item in proof.items],
                "read_back": proof.read_back if read_back and whole else "",
            }
            if not proof.screen:
                continue
            found.append(document)
            if read_back and not whole and not gone:
                found += [
                    {"table": self.index[name], "screen": "", "items": [], **part}
                    for part in self.ranges(name, proof.read_back)
                ]
        return found

    def ranges(self, name: str, read_back: str) -> list[Mapping[str, Any]]:
        at = epoch_ns(self.study.workload.epoch)
        return read_back_ranges(self.server, self.tables[name], read_back, self.rows_of(name), self.seed, at)

    def summary(self, plan: Doc, options: Mapping[str, str]) -> PointPlan:
        schedule = self.study.schedule
        held = {name: self.rows_of(name) for name in self.tables if self.tables[name].files is None}
        writers = [role for role in self.roles if role.table is not None]
        written = sum(role.rows for role in writers if role.rows < ALL_ROWS)
        notes = [note for role in self.roles for note in role.notes]
        notes += [f"{self.server.name}: {loss}" for t in self.plans.values() for loss in t.losses]
        notes += [
            f"{name}: {rows:_} rows are proven by counts and sums; beyond {READ_BACK_ROWS:_} only seeded ranges are read back"
            for name, rows in held.items()
            if rows > READ_BACK_ROWS
        ]
        sampled = [r.samples.count * r.samples.every_s for r in writers if r.samples]
        timed = self.study.kind == "timed" or not writers
        return PointPlan(
            plan=plan,
            labels={
                "kind": self.study.kind,
                "method": self.method,
                "layout": self.layout,
                "options": dict(options),
                "rows": written,
                "batch_rows": {role.name: role.batch_rows for role in writers},
                "sessions": {role.name: role.sessions for role in self.roles},
                "notes": list(dict.fromkeys(notes)),
                "oracle": self.oracle(),
            },
            namespace=self.namespace,
            streams=tuple(self.tables),
            rows=sum(held.values()),
            written_rows=written,
            batch_rows=min((role.batch_rows for role in writers), default=LOAD_BATCH_ROWS),
            bytes=sum(rows * row_bytes(self.tables[name]) for name, rows in held.items()),
            fixed_s=schedule.warm_s + schedule.cool_s + (schedule.measure_s if timed else 0.0),
            at_least_s=max([0.0 if timed else schedule.at_least_s, *sampled]),
            notes=tuple(dict.fromkeys(notes)),
            per_s={
                r.table: (rate := r.samples.rows / r.samples.every_s, rate * row_bytes(self.tables[r.table]))
                for r in writers
                if r.samples and r.table
            },
        )

    def asked(self) -> list[str]:
        """The queries whose quiet answers an oracle can compare."""
        operations = self.study.workload.operations
        if not self.server.answers:
            return []
        return [
            o["name"]
            for o in self.operations
            if o["kind"] == "query"
            and "oracle" in operations[o["name"]].holds
            # The oracle has all rows that were ever written.
            and not self.retained.keys() & set(tables_of(operations[o["name"]], self.study.workload))
        ]

    def oracle(self) -> Doc | None:
        rows = {name: self.rows_of(name) for name in self.tables}
        return oracle_book(self.server.name, self.asked(), self.study.workload.operations, self.tables, rows)


#: A load that is not measured uses batches that every engine takes well.
LOAD_BATCH_ROWS = 10_000


class Segments:
    """The run from first statement to last."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.schedule = draft.study.schedule
        self.limit_ns = ns(self.schedule.limit_s)

    def all(self) -> list[Doc]:
        draft = self.draft
        loads = [name for name in draft.tables if draft.loaded_rows(name)]
        after_load = [s for t in draft.plans.values() for s in t.after_load]
        timed = draft.study.kind == "timed"
        return [
            self.control("create", [
                *self.leftovers(),
                *draft.server.open_namespace(draft.namespace),
                *(s for t in draft.plans.values() for s in t.create),
            ]),
            *self.probe("before", ("settings", "counters")),
            *([self.load(loads)] if loads else []),
            *([self.control("after_load", after_load)] if after_load else []),
            *([self.drive("warm", self.schedule.warm_s)] if timed and self.schedule.warm_s else []),
            self.drive("measure", self.schedule.measure_s),
            *([self.retain()] if draft.retained else []),
            *([self.drive("cool", self.schedule.cool_s)] if timed and self.schedule.cool_s else []),
            *self.proof("proof", list(draft.tables)),
            *self.ask(),
            *self.probe("after", ("sizes", "counters")),
            self.control("drop", self.drop()),
        ]  # fmt: skip

    def leftovers(self) -> tuple[str, ...]:
        """A server may hold what a killed run of this point left; an embedded engine begins with a fresh file."""
        return () if self.draft.server.embedded else tuple(self.drop())

    def drop(self) -> list[str]:
        """Everything that carries this run's mark."""
        draft = self.draft
        tables = () if draft.server.namespace_holds_tables else draft.plans.values()
        return [*(s for plan in tables for s in plan.drop), *draft.server.drop_namespace(draft.namespace)]

    def control(self, label: str, statements: Sequence[str]) -> Doc:
        return {
            "kind": "control",
            "label": label,
            "statements": list(statements),
            "limit_ns": self.limit_ns,
        }

    def probe(self, label: str, wanted: Sequence[str]) -> list[Doc]:
        found = self.draft.server.probes(list(self.draft.plans.values()))
        statements = {
            "settings": (*found.settings, *([found.version] if found.version else [])),
            "sizes": found.sizes,
            "counters": found.counters,
        }
        probes = [{"into": into, "statement": s} for into in wanted for s in statements[into]]
        return [{"kind": "probe", "label": label, "probes": probes}] if probes else []

    def load(self, names: Sequence[str]) -> Doc:
        roles = []
        for name in names:
            roles.append(
                {
                    "name": f"load/{name}",
                    "operations": [{"operation": f"load/{name}", "weight": 1}],
                    "sessions": 1,
                    "depth": 1,
                    "schedule": {"kind": "closed", "think_ns": 0},
                    "work": {
                        "kind": "rows",
                        "table": self.draft.index[name],
                        "first_row": 0,
                        "rows": self.draft.loaded_rows(name),
                        "batch_rows": LOAD_BATCH_ROWS,
                    },
                    "until": {"kind": "work"},
                }
            )
        return {"kind": "drive", "label": "load", "phase": "load", "roles": roles, "limit_ns": self.limit_ns}

    def drive(self, phase: str, seconds: float) -> Doc:
        """Warm and cool repeat the readers of the measured phase; writers write while it is measured."""
        roles = [r for r in self.draft.roles if phase == "measure" or r.table is None]
        writers = [r for r in roles if r.table is not None]
        document: Doc = {
            "kind": "drive",
            "label": phase,
            "phase": phase,
            "roles": [role_document(r, self.draft.index, seconds) for r in roles],
            "limit_ns": self.limit_ns,
        }
        sizes_s = self.draft.study.record.sizes_s
        if phase == "measure" and sizes_s is not None:
            for segment in self.probe(phase, ("sizes",)):
                document["sample"] = {"every_ns": ns(sizes_s), "probes": segment["probes"]}
        repeats = self.draft.study.kind != "timed" and self.schedule.at_least_s > 0
        if writers and repeats:
            names = [name for name in self.draft.tables if name in self.draft.written]
            document["repeat"] = {
                "at_least_ns": ns(self.schedule.at_least_s),
                "max": self.schedule.max_repetitions,
                "fresh": [s for name in names for s in self.draft.plans[name].fresh],
                "proofs": self.draft.proofs(names, read_back=False),
            }
        return document

    def retain(self) -> Doc:
        roles = [retain_role(of) for of in self.draft.retained.values()]
        return {
            "kind": "drive",
            "label": "retain",
            "phase": "cool",
            "roles": roles,
            "limit_ns": self.limit_ns,
        }

    def proof(self, label: str, names: Sequence[str]) -> list[Doc]:
        held = [n for n in names if self.draft.rows_of(n)]
        proofs = self.draft.proofs(held, read_back=True)
        return [{"kind": "proof", "label": label, "proofs": proofs}] if proofs else []

    def ask(self) -> list[Doc]:
        """What the oracle compares, at the data time of the last rows."""
        names = self.draft.asked()
        if not names:
            return []
        last = max(last_sweep_ns(t, self.draft.rows_of(n)) for n, t in self.draft.tables.items())
        return [{"kind": "ask", "label": "quiet", "operations": names, "now_ns": last}]


def short_hash(*parts: Any) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:10]
