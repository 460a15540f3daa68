"""The tables and operations of one point in the dialect of its engine: what segments are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.border.labels import KeyCoverage, OptionalLabels, OraclePlan, PointLabels
from inrush.border.plan import KeyPlan, ProofPlan
from inrush.border.plan import OpPlan as OperationDocument
from inrush.border.plan import PointPlan as Document
from inrush.border.plan import TablePlan as TableDocument
from inrush.border.statement import statement
from inrush.engines.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.twin import Twin
from inrush.plan.documents import (
    epoch_ns,
    has_events,
    members_on,
    operation_document,
    param_document,
    row_bytes,
    table_document,
)
from inrush.plan.dumps import dump_document, dumped_bytes
from inrush.plan.extracts import ends_as, range_document, way_out
from inrush.plan.intervals import coarser
from inrush.plan.io import file_bytes, io_directives, io_notes, laid_out_s, planned_operation
from inrush.plan.kept import as_stored, not_kept
from inrush.plan.keys import added_rows, coverage, sentence
from inrush.plan.oracle import not_compared, oracle_plan
from inrush.plan.pipeline_numbers import PipelineNumbers
from inrush.plan.planned_point import PointPlan
from inrush.plan.ranges import Range, ranges_by_key, read_back_ranges
from inrush.plan.retention import Retained, in_pieces, retain_operation
from inrush.plan.roles import ALL_ROWS, ActiveRole
from inrush.plan.steps import around_s, longest_step_s, read_s, settle_s
from inrush.plan.units import LOAD_BATCH_ROWS, NS
from inrush.plan.work import Lasts, read_back, read_until_time, works
from inrush.study.operations import tables_of
from inrush.study.step_kinds import KIND as STEPS
from inrush.study.study import Study
from inrush.workload import Operation, Table

#: Types that not every engine sums, and what their values are called.
UNSEEN = {
    "uuid": "UUIDs",
    "decimal": "decimals",
    "blob": "blobs",
    "enum": "enums",
    "date": "dates",
    "json": "documents",
}
#: Up to so many rows of a table are read back whole; beyond, the checksum query alone proves it.
READ_BACK_ROWS = 10_000_000


class Draft:
    """What the segments are made of: the point's tables and operations in the engine's dialect."""

    def __init__(
        self,
        study: Study,
        server: Twin,
        method: str,
        layout: str,
        order: str | None,
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
        self.seed = seed
        self.retained = {name: of for name, of in retained.items() if of.cut_ns > 0}
        self.layout = layout
        #: Of the rows of generated tables.
        self.order = order
        self.tables: dict[str, Table] = {
            name: as_stored(server, workload.tables[name]) for name in workload.tables if name in used
        }
        #: Client processes, each with all sessions of every role.
        self.clients = 1
        self.index = {name: i for i, name in enumerate(self.tables)}
        self.plans: dict[str, TablePlan] = {
            name: replace(
                server.plan_table(table, layout if layout in table.layouts else "none", namespace),
                keyed=table.layouts.get(layout, ())[:1] == (table.identity,),
            )
            for name, table in self.tables.items()
        }
        #: Operation -> why this engine's mixes go without it.
        self.left_out: dict[str, str] = {}
        #: Page -> those of its members that its answers go without.
        self.missing: dict[str, tuple[str, ...]] = {}
        #: Step -> its kind, those that are left out included; step -> why it is.
        self.steps: dict[str, str] = {}
        self.steps_left_out: dict[str, str] = {}
        #: Step that client and load server do -> its numbers.
        self.loads: dict[str, PipelineNumbers] = {}
        self.roles = tuple(self.what_it_can(role) for role in roles)
        #: Table -> rows that roles write in one repetition.
        self.written = {
            role.table: role.first_row + role.rows
            for role in roles
            if role.table is not None and not role.source
        }
        #: Table -> rows that calls by key may add behind them.
        self.added = added_rows(workload, roles)
        self.operations: list[OperationDocument] = []
        #: Operation -> the rows that its keys are of.
        self.keys: dict[str, KeyPlan] = {}

    def loaded_rows(self, name: str) -> int:
        """Rows a table holds before anything is measured."""
        if name in self.written or self.tables[name].files is not None:
            return 0
        return self.roles[0].load_rows

    def rows_before(self, name: str) -> int:
        """Rows a table holds before it is read: those that are loaded, by a step too. Those that calls by key add may come
        later, or be fewer."""
        return self.rows_in_batches(name) if self.study.steps else self.loaded_rows(name)

    def rows_of(self, name: str) -> int:
        return self.rows_in_batches(name) + self.added.get(name, 0)

    def rows_in_batches(self, name: str) -> int:
        """Those that are loaded, or that roles write."""
        return self.written.get(name) or self.loaded_rows(name)

    # --- operations

    def what_it_can(self, role: ActiveRole) -> ActiveRole:
        """A mix, or a page, without the queries that the engine cannot answer, as long as one is left."""
        cannot = {name: self.unsupported(name, role.tables) for name in role.operations if not role.table}
        # What can do nothing of itself goes as a whole.
        whole = {
            name for name, of in cannot.items() if of and len(of) == len(self.queries(name, role.tables))
        }
        if whole == set(role.operations):
            return role
        reasons: dict[str, str] = {}
        for name, of in cannot.items():
            if name not in whole:
                reasons |= {f"{member} of {name}": reason for member, reason in of.items()}
                self.missing |= {name: tuple(of)} if of else {}
            else:
                reasons[name] = "; ".join(of.values())
        if not reasons:
            return role
        self.left_out |= reasons
        kept = {name: weight for name, weight in role.operations.items() if name not in whole}
        reason_text = "; ".join(f"{name} is unsupported ({reason})" for name, reason in reasons.items())
        note = f"{self.server.name}: {role.name} goes on without what it cannot do: {reason_text}"
        return replace(role, operations=kept, notes=(*role.notes, note))

    def queries(self, name: str, tables: Sequence[str]) -> tuple[str, ...]:
        """The queries that an operation of readers asks: itself, or its members that look at these tables."""
        operation = self.study.workload.operations[name]
        if operation.kind == "together":
            return members_on(operation, tables, self.study)
        return (name,) if operation.kind == "query" else ()

    def unsupported(self, name: str, tables: Sequence[str]) -> dict[str, str]:
        """Those of its queries that the engine cannot answer, and why."""
        operations = self.study.workload.operations
        planned = {
            q: planned_operation(self.server, operations[q], "", self.plans, self.tables)
            for q in self.queries(name, tables)
        }
        return {q: found.reason for q, found in planned.items() if isinstance(found, Unsupported)}

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
                members = tuple(m for m in members if m not in self.missing.get(name, ())) or members
                wanted |= {m: (workload.operations[m], 0) for m in members}
                wanted[name] = (replace(operation, members=members), 0)
        for operation, batch_rows in wanted.values():
            method = self.insert_method(operation) if operation.kind == "insert" else ""
            if operation.kind == "extract":
                out = way_out(operation, self.server)
                if isinstance(out, Unsupported):
                    return Unsupported(f"{operation.name}: {out.reason}")
                method = out
            if operation.kind == "together":
                self.operations.append(operation_document(operation, self.index, OpPlan(""), []))
                continue
            if operation.kind == "insert" and (
                why := not_kept(self.server, self.tables[operation.table or ""])
            ):
                return Unsupported(f"{operation.name}: {why}")
            planned = planned_operation(self.server, operation, method, self.plans, self.tables, batch_rows)
            if isinstance(planned, Unsupported):
                return Unsupported(f"{operation.name}: {planned.reason}")
            params = [param_document(operation, p, self.index) for p in planned.params]
            document = operation_document(
                operation,
                self.index,
                replace(planned, method=planned.method or method),
                params,
                self.keys.get(operation.name),
            )
            if (directives := io_directives(operation)) is not None:
                document["directives"] = directives
            if operation.dump is not None:
                document["dump"] = dump_document(operation, method, self.index)
            elif operation.range is not None:
                rows = self.rows_before(operation.table or "")
                document["range"] = range_document(operation, method, self.index, rows)
                of_time = self.tables[operation.table or ""].column(document["range"]["time"])
                document["params"] = ends_as(of_time.type, params)
            self.operations.append(document)
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

    def insert_method(self, operation: Operation) -> str:
        """The study's; of a load of whole files its way in."""
        own = (
            r.method
            for r in self.roles
            if r.method and f"{next(iter(r.operations))}/{r.table}" == operation.name
        )
        return next(own, self.method)

    def longest_s(self) -> float:
        """The longest segment with a planned length: seconds that are given, samples, calls at a rate."""
        schedule = self.study.schedule
        timed = any(r.table is None and r.calls is None for r in self.roles)
        said = [schedule.warm_s, schedule.cool_s, schedule.measure_s if timed else 0.0]
        said += [r.samples.count * r.samples.every_s for r in self.roles if r.samples]
        paced = [r for r in self.roles if r.rate_per_s > 0 and r.samples is None]
        said += [r.calls / r.rate_per_s for r in paced if r.calls is not None]
        said += [
            r.rows / r.batch_rows / r.rate_per_s for r in paced if r.table is not None and r.rows < ALL_ROWS
        ]
        return max(*said, longest_step_s(self.study))

    # --- documents of the border

    def table_documents(self) -> list[TableDocument]:
        return [
            table_document(table, self.plans[name], self.order, self.rows_of(name))
            for name, table in self.tables.items()
        ]

    def proofs(self, names: Sequence[str], read_back: bool) -> list[ProofPlan]:
        """Of engines that store something."""
        found: list[ProofPlan] = []
        for name in names:
            proof = self.server.proof(self.tables[name], self.plans[name])
            gone = self.retained[name].first_row if name in self.retained else 0
            rows = self.rows_of(name) - gone
            from_files = self.tables[name].files is not None
            whole = rows <= READ_BACK_ROWS or from_files
            text = statement(proof.read_back, proof.read_back_directives)
            document: ProofPlan = {
                "table": self.index[name],
                "first_row": gone,
                "rows": 0 if from_files else rows,
                "screen": statement(proof.checksum_query, proof.checksum_directives),
                "items": list(proof.items),
                "read_back": text if read_back and whole else "",
            }
            if not proof.checksum_query:
                continue
            if unseen := self.server.unseen(self.plans[name]):
                document["unseen"] = unseen
            found.append(document)
            if read_back and not whole and not gone:
                found += self.ranges(name, proof.read_back)
        return found

    def unseen(self, name: str, kind: str) -> list[str]:
        """Columns of one of `UNSEEN` that are in no figure of an engine that stores something."""
        proof = self.server.proof(self.tables[name], self.plans[name])
        seen = {item["column"] for item in proof.items if item["kind"] == "sum_hash"}
        columns = [c.name for c in self.tables[name].columns if c.type == kind]
        return [column for column in columns if column not in seen] if proof.checksum_query else []

    def ranges(self, name: str, read_back: str) -> list[ProofPlan]:
        """By time where rows follow it, else by key."""
        table, rows = self.tables[name], self.rows_of(name)
        parts: list[Range] = []
        if not has_events(table, self.order):
            at = epoch_ns(self.study.workload.epoch)
            parts = read_back_ranges(self.server, table, read_back, rows, self.seed, at)
        parts = parts or ranges_by_key(self.server, table, read_back, rows, self.seed)
        found: list[ProofPlan] = []
        for part in parts:
            document: ProofPlan = {
                "table": self.index[name],
                "screen": "",
                "items": [],
                "first_row": part.first_row,
                "rows": part.rows,
                "read_back": part.statement,
            }
            if part.series is not None:
                document["series"] = part.series
            found.append(document)
        return found

    def read_back_of(self, name: str) -> str:
        if self.ranges(name, ""):
            return "only seeded ranges are read back"
        return "nothing is read back: no time and no key says which rows are in a range"

    def summary(
        self, plan: Document, options: Mapping[str, str], keys_per_call: Mapping[str, int]
    ) -> PointPlan:
        schedule = self.study.schedule
        held = {name: self.rows_of(name) for name in self.tables if self.tables[name].files is None}
        writers = [role for role in self.roles if role.table is not None]
        written = sum(role.rows for role in writers if role.rows < ALL_ROWS)
        notes = [note for role in self.roles for note in role.notes]
        notes += [f"{self.server.name}: {loss}" for t in self.plans.values() for loss in t.losses]
        notes += [
            f"{name}: {rows:,} rows are proven by counts and sums; beyond {READ_BACK_ROWS:,} {self.read_back_of(name)}"
            for name, rows in held.items()
            if rows > READ_BACK_ROWS
        ]
        notes += [
            f"{name}: {what} ({', '.join(unseen)}) are in no count or sum of {self.server.name}; read-back alone proves them"
            for name, rows in held.items()
            if rows > READ_BACK_ROWS
            for kind, what in UNSEEN.items()
            if (unseen := self.unseen(name, kind))
        ]
        notes += [
            f"{name}: floats with values that are not finite ({', '.join(unseen)}) are in no sum; read-back alone proves them"
            for name, rows in held.items()
            if rows > READ_BACK_ROWS
            and (unseen := [c.name for c in self.tables[name].columns if c.not_finite])
        ]
        notes += [
            f"{self.server.name}: step {step} is left out: {reason}"
            for step, reason in self.steps_left_out.items()
        ]
        covered = self.covered()
        record, watch = plan["record"]["interval_ns"] / NS, plan["watch"]["every_ns"] / NS
        asked = self.study.record.interval_s is not None and self.study.record.watch_s is not None
        notes += [
            reason_text
            for reason_text in [coarser(self.longest_s(), record, watch)]
            if reason_text and not asked
        ]
        notes += [sentence(name, keys) for name, keys in covered.items()]
        notes += io_notes(self.operations, options.get("direct") != "false")
        notes += not_compared(self.server.oracle, self.asked(), self.study.workload.operations)
        some: OptionalLabels = {}
        if keys_per_call:
            some["keys_per_call"] = dict(keys_per_call)
        if covered:
            some["keys"] = covered
        if self.left_out:
            some["left_out"] = dict(self.left_out)
        if self.clients > 1:
            some["clients"] = self.clients
        if self.steps:
            some["steps"] = self.steps
            some["indexes"] = {
                name: [list(index) for index in table.layouts.get(self.layout, ())]
                for name, table in self.tables.items()
            }
        if self.study.totals:
            some["totals"] = {name: list(steps) for name, steps in self.study.totals.items()}
        if self.steps_left_out:
            some["steps_left_out"] = self.steps_left_out
        labels: PointLabels = {
            "kind": self.study.kind,
            "method": self.method,
            "layout": self.layout,
            "options": dict(options),
            "rows": written,
            "batch_rows": {role.name: role.batch_rows for role in writers},
            "sessions": {role.name: role.sessions for role in self.roles},
            **some,
            "notes": list(dict.fromkeys(notes)),
            "oracle": self.oracle(),
        }
        return PointPlan(
            plan=plan,
            labels=labels,
            namespace=self.namespace,
            streams=tuple(self.tables),
            rows=sum(held.values()),
            written_rows=written,
            batch_rows=min((role.batch_rows for role in writers), default=LOAD_BATCH_ROWS),
            bytes=sum(rows * row_bytes(self.tables[name]) for name, rows in held.items()),
            fixed_s=schedule.warm_s
            + schedule.cool_s
            + around_s(self.study)
            + settle_s(self.study)
            + laid_out_s(self.operations),
            lasts=self.lasts(),
            notes=tuple(dict.fromkeys(notes)),
            per_s={
                r.table: (rate := r.samples.rows / r.samples.every_s, rate * row_bytes(self.tables[r.table]))
                for r in writers
                if r.samples and r.table
            },
            dumped_bytes=dumped_bytes(self.roles, self.study.workload, held),
            file_bytes=file_bytes(self.operations),
        )

    def lasts(self) -> Lasts:
        schedule = self.study.schedule

        def quiet(name: str) -> int:
            return self.rows_of(name) - (self.retained[name].first_row if name in self.retained else 0)

        return Lasts(
            work=works(self.roles, self.tables, self.server),
            measure_s=read_s(self.study) or (schedule.measure_s if read_until_time(self.roles) else 0.0),
            at_least_s=0.0 if self.study.kind in ("timed", STEPS) else schedule.at_least_s,
            max_repetitions=schedule.max_repetitions,
            limit_s=schedule.limit_s,
            proven_rows=read_back(quiet, self.tables, READ_BACK_ROWS),
        )

    def covered(self) -> dict[str, KeyCoverage]:
        """Operation -> what its keys cover, of those that are called."""
        found = {}
        for name in (o["name"] for o in self.operations if "keys" in o):
            operation = self.study.workload.operations[name]
            assert operation.key_rows is not None, "it was planned from them"
            found[name] = coverage(
                operation, operation.key_rows, self.tables[operation.key_rows.table], self.keys[name]
            )
        return found

    def asked(self) -> list[str]:
        """The queries with quiet answers that an oracle can compare."""
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

    def oracle(self) -> OraclePlan | None:
        rows = {name: self.rows_of(name) for name in self.tables}
        return oracle_plan(
            self.server.oracle, self.asked(), self.study.workload.operations, self.tables, rows
        )
