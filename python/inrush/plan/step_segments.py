"""What each step of a run becomes: its segments, and what is probed behind them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.border import plan as border
from inrush.plan import loads
from inrush.plan.documents import input_document, role_document
from inrush.plan.maintenance import statements
from inrush.plan.pieces import SegmentPieces, until_no_rows
from inrush.plan.retention import retain_role
from inrush.plan.roles import ActiveRole
from inrush.plan.single_role import single_role
from inrush.plan.units import LOAD_BATCH_ROWS, ns
from inrush.study.forms import Plain
from inrush.study.step_kinds import (
    Cold,
    Dump,
    KeyCalls,
    Load,
    Measure,
    Read,
    Restart,
    Roles,
    RoleStep,
    Settle,
    Sort,
    Statement,
    Step,
)

#: Between two looks at the progress of a statement.
PROGRESS_S = 0.5
#: What orders the values of a column; those of every other type sort as their bytes do.
SORTED_BY: Mapping[str, border.SortBy] = {
    **dict.fromkeys(("i16", "i32", "i64", "u8", "u16", "u32", "decimal"), "number"),
    **dict.fromkeys(("f32", "f64"), "float"),
}


class StepSegments(SegmentPieces):
    """The steps of a point's run, one after the other."""

    def body(self) -> list[border.Segment]:
        found: list[border.Segment] = []
        cold, looked = False, True
        for step in self.draft.study.steps:
            was_cold, cold = cold, isinstance(step, Cold) or (cold and isinstance(step, Settle | Restart))
            sized = isinstance(step, KeyCalls) or not isinstance(step, Read | Cold | Restart | Sort | Measure)
            if isinstance(step, Load) and step.source is not None:
                found, looked = [*found, *self.emptied(step)], False
            if sized and not looked and not was_cold:
                found += self.probe("before", ("sizes",))
            looked = sized and not cold
            found += self.step(step, looked)
        # Those of a measurement come before it cools.
        return found if self.draft.study.measure else [*found, *self.retained()]

    def step(self, step: Step[Plain], sizes: bool) -> list[border.Segment]:
        """The step, and what is probed after it: counters, and sizes where it may have changed them.

        They are not asked for where the engine is to stay cold for a later step: that may read its files.
        """
        asked: tuple[border.ProbeTable, ...] = ("sizes", "counters") if sizes else ("counters",)
        # Behind a step without a name the run ends, where both are asked for.
        probes = self.probe(step.name, asked) if step.name else []
        for probe in probes:
            probe["step"] = step.name
        loaded = [role.table for role in self.roles_of(step) if role.table is not None]
        seen = self.seen(loaded, self.limit_of(step)) if loaded and isinstance(step, Load | Roles) else []
        proofs = self.dumped(step) if isinstance(step, Dump) else []
        return [*self.work_of(step), *seen, *self.counted(step), *probes, *proofs]

    def counted(self, step: Step[Plain]) -> list[border.ControlSegment]:
        """Waits until the engine's counters have the pages that the step's sessions read: a later read would have them."""
        if not isinstance(step, RoleStep | Roles | Statement) or not self.read_follows(step):
            return []
        waited = until_no_rows([self.draft.server.uncounted()])
        return [self.control("counted", waited)] if waited else []

    def read_follows(self, step: Step[Plain]) -> bool:
        """Whether it reads, or a later step does before the server is restarted, which ends every session."""
        steps = self.draft.study.steps
        for later in steps[steps.index(step) :]:
            if isinstance(later, Read):
                return True
            if isinstance(later, Restart):
                return False
        return False

    def roles_of(self, step: Step[Plain]) -> list[ActiveRole]:
        """An insert into several tables is a role for each of them, `step.role/table`."""
        return [role for role in self.draft.roles if role.name.partition("/")[0] in step.sessions]

    def tables_of(self, step: RoleStep[Plain]) -> list[str]:
        return [name for role in self.roles_of(step) for name in role.tables]

    def emptied(self, step: Load[Plain]) -> list[border.ControlSegment]:
        """Of the rows that a load from a dump brings back."""
        names = self.tables_of(step)
        fresh = [s for name in names for s in self.draft.plans[name].fresh]
        return [self.control("emptied", [*fresh, *self.until_seen(names)])]

    def dumped(self, step: Dump[Plain]) -> list[border.ProofSegment]:
        """The files, read back: every row once."""
        (operation,) = step.role.operations
        proofs = self.draft.proofs(self.tables_of(step), read_back=False)
        found: list[border.ProofPlan] = [
            {
                "table": proof["table"],
                "first_row": proof["first_row"],
                "rows": proof["rows"],
                "screen": "",
                "items": proof["items"],
                "read_back": "",
                "dump": operation,
            }
            for proof in proofs
        ]
        return [{"kind": "proof", "label": step.name, "proofs": found}] if found else []

    def work_of(self, step: Step[Plain]) -> list[border.Segment]:
        match step:
            case Load(pipeline=of) if of is not None:
                return [*loads.around(step)]
            case Read() if step.warm_s or step.cool_s:
                warm = [self.around(step, "warm", step.warm_s)] if step.warm_s else []
                cool = [self.around(step, "cool", step.cool_s)] if step.cool_s else []
                return [*warm, self.sessions(step), *cool]
            case RoleStep() | Roles():
                return [self.sessions(step)]
            case Statement():
                return [self.maintenance(step)]
            case Measure():
                return self.measured(step)
            case Sort():
                return [self.sort(step)]
            case Settle():
                return [{"kind": "settle", "label": step.name, "step": step.name, "ns": ns(step.seconds)}]
            case Cold():
                return [{"kind": "pause", "label": step.name, "step": step.name, "action": "make_cold"}]
            case Restart():
                return [{"kind": "pause", "label": step.name, "step": step.name, "action": "restart"}]
            case _:
                raise AssertionError(f"the study's reader knows no step of kind {step.do}")

    def sessions(self, step: RoleStep[Plain] | Roles[Plain]) -> border.DriveSegment:
        seconds = step.seconds if isinstance(step, Read | Roles) else 0.0
        roles = [role_document(role, self.draft.index, seconds) for role in self.roles_of(step)]
        drive = self.driven(step.name, "measure", roles)
        drive["step"], drive["limit_ns"] = step.name, self.limit_of(step)
        if isinstance(step, Load | Dump | Roles | KeyCalls) and (sample := self.sample(step.name)):
            drive["sample"] = sample
        return drive

    def around(self, step: Read[Plain], phase: border.Phase, seconds: float) -> border.DriveSegment:
        """The step's calls before it or behind it: a segment of no step, which enters no figure."""
        roles = [role_document(role, self.draft.index, seconds) for role in self.roles_of(step)]
        drive = self.driven(f"{step.name}/{phase}", phase, roles)
        drive["limit_ns"] = self.limit_of(step)
        return drive

    def maintenance(self, step: Statement[Plain]) -> border.StatementSegment:
        draft = self.draft
        found: border.StatementSegment = {
            "kind": "statement",
            "label": step.name,
            "step": step.name,
            "statements": statements(
                draft.study.workload.operations[step.operation], draft.server, draft.plans
            ),
            "limit_ns": self.limit_of(step),
        }
        # Another connection to an engine in our process would wait for this one.
        if not draft.server.embedded and (sample := self.meanwhile(step.name)):
            found["sample"] = sample
        return found

    def meanwhile(self, label: str) -> border.SamplePlan | None:
        """How far a statement is, where the engine reports it, and sizes where the study asks for them."""
        progress = self.draft.server.probes(list(self.draft.plans.values())).progress
        sizes = self.sample(label)
        if not progress:
            return sizes
        first: border.ProbePlan = {"into": "counters", "statement": progress}
        if sizes is None:
            return {"every_ns": ns(PROGRESS_S), "probes": [first]}
        return {"every_ns": sizes["every_ns"], "probes": [first, *sizes["probes"]]}

    def limit_of(self, step: Step[Plain]) -> int:
        return self.limit_ns if step.limit_s is None else ns(step.limit_s)

    def sort(self, step: Sort[Plain]) -> border.SortPlan:
        draft = self.draft
        role = next(r for r in draft.roles if r.input is not None and r.input.sorted == step.name)
        assert role.input is not None, "it was chosen by it"
        table = draft.tables[role.table or ""]
        key = table.column(table.identity[0])
        found: border.SortPlan = {
            "kind": "sort",
            "label": step.name,
            "step": step.name,
            "from": input_document(role, role.input, draft.index, False),
            "to": input_document(role, role.input, draft.index, True),
            "column": table.columns.index(key),
            "limit_ns": self.limit_of(step),
        }
        if key.type in SORTED_BY:
            found["by"] = SORTED_BY[key.type]
        return found

    def measured(self, step: Measure[Plain]) -> list[border.Segment]:
        """Loaded, warmed, measured, cooled."""
        draft = self.draft
        loads = [name for name in draft.tables if draft.loaded_rows(name)]
        after_load = [s for t in draft.plans.values() for s in t.after_load]
        return [
            *([self.load(loads)] if loads else []),
            *([self.control("after_load", after_load)] if after_load else []),
            *self.seen(loads),
            *([self.phase("warm", step.warm_s)] if step.warm_s else []),
            self.repeated(step),
            *self.retained(),
            *(self.seen(list(draft.written)) if step.cool_s else []),
            *([self.phase("cool", step.cool_s)] if step.cool_s else []),
        ]

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

    def phase(self, phase: border.Phase, seconds: float) -> border.DriveSegment:
        """Warm and cool repeat the readers of the measured phase; writers write while it is measured."""
        roles = [r for r in self.draft.roles if phase == "measure" or r.table is None]
        return self.driven(phase, phase, [role_document(r, self.draft.index, seconds) for r in roles])

    def repeated(self, step: Measure[Plain]) -> border.DriveSegment:
        """The measured phase; where it writes, as often as it takes to measure long enough."""
        document = self.phase("measure", step.seconds)
        if sample := self.sample("measure"):
            document["sample"] = sample
        if step.at_least_s > 0 and any(role.table is not None for role in self.draft.roles):
            names = [name for name in self.draft.tables if name in self.draft.written]
            fresh = [s for name in names for s in self.draft.plans[name].fresh]
            document["repeat"] = {
                "at_least_ns": ns(step.at_least_s),
                "max": step.max_repetitions,
                "fresh": [*fresh, *self.until_seen(names)],
                "proofs": self.repetition_proofs(step, names),
            }
        return document

    def repetition_proofs(self, step: Measure[Plain], names: Sequence[str]) -> list[border.ProofPlan]:
        """Of the table that a repetition has filled."""
        if step.proof == "checksum":
            return self.draft.proofs(names, read_back=False)
        proofs = self.draft.proofs(names, read_back=True)
        # Too large to be read back whole: its sums, and ranges of it.
        return [{**proof, "screen": "", "items": []} if proof["read_back"] else proof for proof in proofs]

    def retained(self) -> list[border.Segment]:
        """Deletes by age once more, up to a time that is known to the row."""
        roles = [retain_role(of) for of in self.draft.retained.values()]
        return [self.driven("retain", "cool", roles), *self.deleted()] if roles else []
