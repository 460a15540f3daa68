"""What the segments of a run are made of: statements, probes, sessions at work, waits, proofs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.border.plan import Statement
from inrush.plan.documents import last_sweep_ns
from inrush.plan.units import ns
from inrush.study.parts import Schedule

if TYPE_CHECKING:
    from inrush.plan.draft import Draft


class SegmentPieces:
    """Single segments of a point's run."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.schedule = draft.study.schedule
        self.limit_ns = ns(self.schedule.limit_s)

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

    def sample(self, label: str) -> border.SamplePlan | None:
        """Sizes as a curve, where the study asks for it and the engine has them."""
        sizes_s = self.draft.study.record.sizes_s
        probes = self.probe(label, ("sizes",))
        if sizes_s is None or not probes:
            return None
        return {"every_ns": ns(sizes_s), "probes": probes[0]["probes"]}

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
