"""What planning gives: points, runs, what is missing, and the whole. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from inrush.border.labels import RunLabels
from inrush.border.pipeline import AnyPlan
from inrush.plan.planned_point import PointPlan
from inrush.study.roles import label
from inrush.study.study import Study


@dataclass(frozen=True)
class Point:
    """A combination of an engine and a value of every factor: runs of one point are repetitions of each other."""

    id: str
    engine: str
    #: As the study writes them.
    factors: Mapping[str, object]

    @property
    def labels(self) -> dict[str, object]:
        """The factors as plain values, for tables and figures."""
        return {name: label(value) for name, value in self.factors.items()}

    def number(self, factor: str) -> float:
        """Its value of a factor of numbers: what a sweep goes along."""
        value = self.factors[factor]
        assert isinstance(value, (int, float)), "the study's reader refuses sweeps along anything else"
        return value


@dataclass(frozen=True)
class PlannedRun:
    """One plan for the core. `hash` is the same for equal runs, wherever their target is."""

    run_id: str
    point: str
    plan: AnyPlan
    labels: RunLabels
    block: int
    order: int
    hash: str
    #: The marked home that it creates and drops.
    namespace: str = ""


@dataclass(frozen=True)
class Missing:
    """A point that cannot be run, and why: shown, never left out."""

    point: str
    engine: str
    factors: Mapping[str, object]
    reason: str


@dataclass(frozen=True)
class StudyPlan:
    study: Study
    seed: int
    points: tuple[Point, ...]
    runs: tuple[PlannedRun, ...]
    unsupported: tuple[Missing, ...]
    #: Of all runs together.
    hash: str
    #: Point -> what its plan comes to: rows, bytes, namespace, notes.
    planned: Mapping[str, PointPlan]
    #: Runs on the null engine that price the client's own work, for engines that live in its process.
    calibrations: tuple[PlannedRun, ...] = ()
    #: Point -> the run of `calibrations` that does its work.
    calibrated_by: Mapping[str, str] = field(default_factory=dict)
    #: Fresh repeats of every point that can turn out best, rows of another seed; those of the others are never made.
    confirmations: tuple[PlannedRun, ...] = ()

    @property
    def all_runs(self) -> tuple[PlannedRun, ...]:
        """In the order they are made: the calibrations follow the pilot, or the first block where there is none, so that
        the first run gives a figure."""
        first = tuple(self.block(self.study.blocks.start))
        return (*first, *self.calibrations, *self.runs[len(first) :])

    def namespaces(self, engine: str) -> set[str]:
        """Every marked home that a run on this engine creates."""
        return {r.namespace for r in (*self.runs, *self.confirmations) if r.labels["engine"] == engine}

    def methods(self, engine: str) -> frozenset[str]:
        """Insert methods of its runs on this engine, by the engine's own names."""
        runs = [r for r in (*self.runs, *self.confirmations) if r.labels["engine"] == engine]
        return frozenset(op["method"] for r in runs for op in r.plan["operations"] if op["method"])

    def block(self, number: int) -> list[PlannedRun]:
        return [run for run in self.runs if run.block == number]

    def document(self) -> dict[str, object]:
        """What is filed with the results: the study's words, the order of runs, what is unsupported."""
        study = self.study
        return {
            "name": study.name,
            "file": study.file,
            "title": study.title,
            "question": study.question,
            "expect": study.expect,
            "kind": study.kind,
            "workload": study.workload.name,
            "sizes": dict(study.workload.sizes),
            "engines": list(study.engines),
            "factors": {name: [label(v) for v in values] for name, values in study.factors.items()},
            "answer": asdict(study.answer) if study.answer else None,
            "accept": dict(study.accept),
            "unequal_durability": study.unequal_durability,
            "expected": [asdict(e) for e in study.expected],
            "published": [asdict(p) for p in study.published],
            "repeats": {**asdict(study.repeats), "pilot": study.has_pilot},
            "stop": [asdict(rule) for rule in study.stop],
            "search": asdict(study.search) if study.search else None,
            "schedule": asdict(study.schedule),
            "scale": study.scale,
            "overrides": list(study.overrides),
            "seed": self.seed,
            "plan_hash": self.hash,
            "planned": [
                {"run": r.run_id, "hash": r.hash, "block": r.block, "order": r.order, "point": r.point}
                for r in self.all_runs
            ],
            "calibrated_by": dict(self.calibrated_by),
            "confirmations": [
                {"run": r.run_id, "hash": r.hash, "block": r.block, "order": r.order, "point": r.point}
                for r in self.confirmations
            ],
            "unsupported": [
                {"engine": m.engine, "factors": dict(m.factors), "point": m.point, "reason": m.reason}
                for m in self.unsupported
            ],
            "notes": sorted({note for point in self.planned.values() for note in point.notes}),
        }
