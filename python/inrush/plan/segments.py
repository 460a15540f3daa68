"""The segments of a point's run, from the first statement to the last. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.border.plan import Segment, Statement
from inrush.plan.documents import last_sweep_ns, role_document, single_role
from inrush.plan.io import laid_out
from inrush.plan.retention import retain_role
from inrush.plan.units import LOAD_BATCH_ROWS, ns
from inrush.study.parts import Schedule

if TYPE_CHECKING:
    from inrush.plan.draft import Draft


class Segments:
    """The run from first statement to last: one measurement, in phases."""

    asked_before: tuple[border.ProbeTable, ...] = ("settings", "counters")

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.schedule = draft.study.schedule
        self.limit_ns = ns(self.schedule.limit_s)

    def all(self) -> list[Segment]:
        """The first and the last of every run are the same; what is between them is its own."""
        draft = self.draft
        return [
            self.control("create", [
                *self.leftovers(),
                *draft.server.open_namespace(draft.namespace),
                *(s for t in draft.plans.values() for s in t.create),
                *self.created_too(),
                *laid_out(draft.operations),
            ]),
            *self.probe("before", self.asked_before),
            *self.body(),
            *self.proof("proof", list(draft.tables)),
            *self.ask(),
            *self.probe("after", ("sizes", "counters")),
            self.control("drop", self.drop()),
        ]  # fmt: skip

    def body(self) -> list[Segment]:
        """One measurement: loaded, warmed, measured, cooled."""
        draft = self.draft
        loads = [name for name in draft.tables if draft.loaded_rows(name)]
        after_load = [s for t in draft.plans.values() for s in t.after_load]
        timed = draft.study.kind == "timed"
        return [
            *([self.load(loads)] if loads else []),
            *([self.control("after_load", after_load)] if after_load else []),
            *self.seen(loads),
            *([self.drive("warm", self.schedule.warm_s)] if timed and self.schedule.warm_s else []),
            self.drive("measure", self.schedule.measure_s),
            *self.retained(),
            *(self.seen(list(draft.written)) if timed and self.schedule.cool_s else []),
            *([self.drive("cool", self.schedule.cool_s)] if timed and self.schedule.cool_s else []),
        ]

    def created_too(self) -> list[Statement]:
        """Tables beside those of the rows."""
        return []

    def leftovers(self) -> tuple[Statement, ...]:
        """A server may hold what a killed run of this point left; an embedded engine begins with a fresh file."""
        return () if self.draft.server.embedded else tuple(self.drop())

    def drop(self) -> list[Statement]:
        """Everything that carries this run's mark."""
        draft = self.draft
        tables = () if draft.server.namespace_holds_tables else draft.plans.values()
        return [*(s for plan in tables for s in plan.drop), *draft.server.drop_namespace(draft.namespace)]

    def control(
        self, label: str, statements: Sequence[Statement], limit_ns: int | None = None
    ) -> border.ControlSegment:
        return {
            "kind": "control",
            "label": label,
            "statements": list(statements),
            "limit_ns": self.limit_ns if limit_ns is None else limit_ns,
        }

    def probe(self, label: str, wanted: Sequence[border.ProbeTable]) -> list[border.ProbeSegment]:
        found = self.draft.server.probes(list(self.draft.plans.values()))
        statements: dict[border.ProbeTable, tuple[Statement, ...]] = {
            "settings": (*found.settings, *([found.version] if found.version else [])),
            "sizes": found.sizes,
            "counters": found.counters,
        }
        probes: list[border.ProbePlan] = [
            {"into": into, "statement": s} for into in wanted for s in statements[into]
        ]
        return [{"kind": "probe", "label": label, "probes": probes}] if probes else []

    def load(self, names: Sequence[str]) -> border.DriveSegment:
        roles = []
        for name in names:
            work: border.RowsWork = {
                "kind": "rows",
                "table": self.draft.index[name],
                "first_row": 0,
                "rows": self.draft.loaded_rows(name),
                "batch_rows": LOAD_BATCH_ROWS,
            }
            roles.append(single_role(f"load/{name}", f"load/{name}", work))
        return self.driven("load", "load", roles)

    def seen(self, names: Sequence[str], limit_ns: int | None = None) -> list[border.ControlSegment]:
        """Waits until queries see what was loaded."""
        statements = self.until_seen(names)
        return [self.control("seen", statements, limit_ns)] if statements else []

    def until_seen(self, names: Sequence[str]) -> list[Statement]:
        return until_no_rows([self.draft.server.unseen(self.draft.plans[name]) for name in names])

    def driven(self, label: str, phase: border.Phase, roles: list[border.RolePlan]) -> border.DriveSegment:
        document: border.DriveSegment = {
            "kind": "drive",
            "label": label,
            "phase": phase,
            "roles": roles,
            "limit_ns": self.limit_ns,
        }
        if self.schedule.retry_s != Schedule.retry_s:  # plans that do not ask for it stay as they were
            document["retry_ns"] = ns(self.schedule.retry_s)
        return document

    def drive(self, phase: border.Phase, seconds: float) -> border.DriveSegment:
        """Warm and cool repeat the readers of the measured phase; writers write while it is measured."""
        roles = [r for r in self.draft.roles if phase == "measure" or r.table is None]
        writers = [r for r in roles if r.table is not None]
        document = self.driven(phase, phase, [role_document(r, self.draft.index, seconds) for r in roles])
        if phase == "measure" and (sample := self.sample(phase)):
            document["sample"] = sample
        repeats = self.draft.study.kind != "timed" and self.schedule.at_least_s > 0
        if writers and repeats:
            names = [name for name in self.draft.tables if name in self.draft.written]
            document["repeat"] = {
                "at_least_ns": ns(self.schedule.at_least_s),
                "max": self.schedule.max_repetitions,
                "fresh": [
                    *(s for name in names for s in self.draft.plans[name].fresh),
                    *self.until_seen(names),
                ],
                "proofs": self.repetition_proofs(names),
            }
        return document

    def sample(self, label: str) -> border.SamplePlan | None:
        """Sizes as a curve, where the study asks for it and the engine has them."""
        sizes_s = self.draft.study.record.sizes_s
        probes = self.probe(label, ("sizes",))
        if sizes_s is None or not probes:
            return None
        return {"every_ns": ns(sizes_s), "probes": probes[0]["probes"]}

    def repetition_proofs(self, names: Sequence[str]) -> list[border.ProofPlan]:
        """Of the table that a repetition has filled."""
        if self.schedule.proof == "checksum":
            return self.draft.proofs(names, read_back=False)
        proofs = self.draft.proofs(names, read_back=True)
        # Too large to be read back whole: its sums, and ranges of it.
        return [{**proof, "screen": "", "items": []} if proof["read_back"] else proof for proof in proofs]

    def retained(self) -> list[Segment]:
        """Deletes by age once more, up to a time that is known to the row."""
        roles = [retain_role(of) for of in self.draft.retained.values()]
        return [self.driven("retain", "cool", roles), *self.deleted()] if roles else []

    def deleted(self) -> list[border.ControlSegment]:
        """Waits for deletes that an engine works on after it has answered: what is left is proven afterwards."""
        draft = self.draft
        asked = [draft.server.deleting(draft.plans[name]) for name in draft.retained]
        return [self.control("deleted", until_no_rows(asked))] if any(asked) else []

    def proof(self, label: str, names: Sequence[str]) -> list[border.ProofSegment]:
        held = [n for n in names if self.draft.rows_of(n)]
        proofs = self.draft.proofs(held, read_back=True)
        return [{"kind": "proof", "label": label, "proofs": proofs}] if proofs else []

    def ask(self) -> list[border.AskSegment]:
        """What the oracle compares, at the data time of the last rows."""
        names, operations = self.draft.asked(), self.draft.study.workload.operations
        if not names:
            return []
        last = max(last_sweep_ns(t, self.draft.rows_of(n)) for n, t in self.draft.tables.items())
        by_ahead: dict[int, list[str]] = {}
        for name in names:
            by_ahead.setdefault(ns(operations[name].ahead_s), []).append(name)
        # What they ask from now on backwards counts from where the loaded rows end.
        return [
            {"kind": "ask", "label": "quiet", "operations": asked, "now_ns": max(0, last - ahead)}
            for ahead, asked in by_ahead.items()
        ]


def until_no_rows(queries: Iterable[str]) -> list[Statement]:
    return [{"text": query, "repeat": "until_no_rows"} for query in queries if query]
