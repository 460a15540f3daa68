"""The tables and operations of one point in the dialect of its engine: what segments are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.border.plan import KeyPlan, ProofPlan
from inrush.border.plan import OpPlan as OperationDocument
from inrush.border.plan import TablePlan as TableDocument
from inrush.border.statement import statement
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.plan.documents import (
    epoch_ns,
    has_events,
    members_on,
    operation_document,
    param_document,
    table_document,
)
from inrush.plan.dumps import dump_document
from inrush.plan.extracts import ends_as, range_document, way_out
from inrush.plan.io import io_directives, planned_operation
from inrush.plan.kept import as_stored, not_kept
from inrush.plan.keys import added_rows
from inrush.plan.pipeline_numbers import PipelineNumbers
from inrush.plan.ranges import Range, ranges_by_key, read_back_ranges
from inrush.plan.retention import Retained, in_pieces, retain_operation
from inrush.plan.roles import ALL_ROWS, ActiveRole
from inrush.plan.steps import longest_step_s
from inrush.plan.units import LOAD_BATCH_ROWS
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain
from inrush.study.operations import tables_of
from inrush.workload import Operation, Table

#: Up to so many rows of a table are read back whole; beyond, the checksum query alone proves it.
READ_BACK_ROWS = 10_000_000


class Draft:
    """What the segments are made of: the point's tables and operations in the engine's dialect."""

    def __init__(
        self,
        study: StudyAt[Plain],
        server: Twin,
        method: str,
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
        self.read_back_rows = READ_BACK_ROWS
        self.retained = {name: of for name, of in retained.items() if of.cut_ns > 0}
        self.layout = layout = study.layout
        #: Of the rows of generated tables.
        self.order = study.row_order
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
        #: Role -> keys of a call, of those with lists of them.
        self.keys_per_call: dict[str, int] = {}
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
        return self.loaded_rows(name) if self.study.measure else self.rows_in_batches(name)

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
        for operation, batch_rows in self.wanted().values():
            document = self.planned_document(operation, batch_rows)
            if isinstance(document, Unsupported):
                return Unsupported(f"{operation.name}: {document.reason}")
            self.operations.append(document)
        at = epoch_ns(self.study.workload.epoch)
        for of in self.retained.values():
            document = next(o for o in self.operations if o["name"] == of.operation)
            self.operations.append(retain_operation(document, of, at))
        return None

    def wanted(self) -> dict[str, tuple[Operation, int]]:
        """Name -> what is called, loads and members of pages among it, and rows of a batch."""
        operations = self.study.workload.operations
        wanted: dict[str, tuple[Operation, int]] = {}
        for name in self.tables:
            if self.loaded_rows(name):
                insert = Operation(f"load/{name}", "insert", table=name)
                wanted[insert.name] = (insert, LOAD_BATCH_ROWS)
        for role in self.roles:
            for name in role.operations:
                operation = operations[name]
                if role.table is not None:
                    one = replace(operation, name=f"{name}/{role.table}", table=role.table)
                    wanted[one.name] = (one, role.batch_rows)
                    continue
                members = members_on(operation, role.tables, self.study)
                members = tuple(m for m in members if m not in self.missing.get(name, ())) or members
                wanted |= {m: (operations[m], 0) for m in members}
                wanted[name] = (replace(operation, members=members), 0)
        return wanted

    def planned_document(self, operation: Operation, batch_rows: int) -> OperationDocument | Unsupported:
        """Of a table with a delete by age in pieces also when it deletes."""
        if operation.kind == "together":
            return operation_document(operation, self.index, OpPlan(""), [])
        method, name = "", operation.table or ""
        if operation.kind == "insert":
            method = self.insert_method(operation)
            if why := not_kept(self.server, self.tables[name]):
                return Unsupported(why)
        if operation.kind == "extract":
            out = way_out(operation, self.server)
            if isinstance(out, Unsupported):
                return out
            method = out
        planned = planned_operation(self.server, operation, method, self.plans, self.tables, batch_rows)
        if isinstance(planned, Unsupported):
            return planned
        params = [param_document(operation, p, self.index) for p in planned.params]
        of_method = replace(planned, method=planned.method or method)
        document = operation_document(operation, self.index, of_method, params, self.keys.get(operation.name))
        if (directives := io_directives(operation)) is not None:
            document["directives"] = directives
        if operation.dump is not None:
            document["dump"] = dump_document(operation, method, self.index)
        elif operation.range is not None:
            document["range"] = range_document(operation, method, self.index, self.rows_before(name))
            document["params"] = ends_as(self.tables[name].column(document["range"]["time"]).type, params)
        kept = self.retained.get(name)
        if kept is not None and planned.piece_s and kept.operation == operation.name:
            at = epoch_ns(self.study.workload.epoch)
            self.retained[kept.table] = in_pieces(kept, self.tables[kept.table], planned.piece_s, at)
        return document

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
        timed = any(r.table is None and r.calls is None for r in self.roles)
        said = [self.study.measure.seconds if self.study.measure and timed else 0.0]
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
            whole = rows <= self.read_back_rows or from_files
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
            if whole and not read_back and self.server.collapses and self.tables[name].identity:
                document["read_back_collapsed"] = text
            if unseen := self.server.unseen(self.plans[name]):
                document["unseen"] = unseen
            found.append(document)
            if read_back and not whole and not gone:
                found += self.ranges(name, proof.read_back)
        return found

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
