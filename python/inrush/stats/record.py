"""A run and a study as the statistics read them: plan, labels and tables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inrush.border.labels import start_of, storage_of
from inrush.border.pipeline import AnyPlan
from inrush.border.tables import (
    AnswerRow,
    FailureRow,
    FileRow,
    HistRow,
    IntervalRow,
    ProbeRow,
    ProofRow,
    RepetitionRow,
    SampleRow,
    SegmentRow,
    SendRow,
    SessionRow,
    StepRow,
)

FloatArray = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class RunRecord:
    """A sealed run as `store` reads it. All that statistics and the report know of a run."""

    run_id: str
    #: The RunPlan as it was given to the core; `labels` says factors, point, block and order.
    plan: AnyPlan
    env: Mapping[str, Any]
    #: run.json
    summary: Mapping[str, Any]
    #: Table of `docs/results.md` -> its rows; one that is missing has none.
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    #: Table that was fed from files -> the first row that was not stored and why: `a.csv, line 2: column v: not an integer`.
    rejects: Mapping[str, str] = field(default_factory=dict)
    _rows: dict[str, list[Any]] = field(default_factory=dict, compare=False, repr=False)
    #: What `once` has worked out of it.
    _once: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def labels(self) -> Mapping[str, Any]:
        labels: Mapping[str, Any] = self.summary.get("labels") or self.plan.get("labels", {})
        return labels

    @property
    def engine(self) -> str:
        return str(self.labels.get("engine") or self.plan["target"]["engine"])

    @property
    def storage(self) -> str:
        """Where its engine kept its data, by name; empty where the study has one place for it."""
        return storage_of(self.labels)

    @property
    def place(self) -> str:
        """Engine, storage, and what the study has its server started with: what facts of a server and its disk are of."""
        on = f" on {self.storage}" if self.storage else ""
        started = ", ".join(f"{name}={value}" for name, value in start_of(self.labels).items())
        return f"{self.engine}{on}" + (f" with {started}" if started else "")

    @property
    def block(self) -> int:
        """0 is the pilot, which enters no figure."""
        return int(self.summary.get("block", self.labels.get("block", 0)))

    @property
    def confirms(self) -> bool:
        """A fresh repeat of a point that was found best: it speaks of that choice and enters no other figure."""
        return bool(self.labels.get("confirms", False))

    @property
    def order(self) -> int:
        return int(self.summary.get("order", self.labels.get("order", 0)))

    @property
    def point(self) -> dict[str, Any]:
        """Factor -> value, engine included: what makes runs repetitions of each other."""
        return {"engine": self.engine, **dict(self.labels.get("factors", {}))}

    @overload
    def rows(self, table: Literal["segments"]) -> list[SegmentRow]: ...
    @overload
    def rows(self, table: Literal["repetitions"]) -> list[RepetitionRow]: ...
    @overload
    def rows(self, table: Literal["samples"]) -> list[SampleRow]: ...
    @overload
    def rows(self, table: Literal["files"]) -> list[FileRow]: ...
    @overload
    def rows(self, table: Literal["intervals"]) -> list[IntervalRow]: ...
    @overload
    def rows(self, table: Literal["sends"]) -> list[SendRow]: ...
    @overload
    def rows(self, table: Literal["hist"]) -> list[HistRow]: ...
    @overload
    def rows(self, table: Literal["failures"]) -> list[FailureRow]: ...
    @overload
    def rows(self, table: Literal["sessions"]) -> list[SessionRow]: ...
    @overload
    def rows(self, table: Literal["counters", "sizes", "settings"]) -> list[ProbeRow]: ...
    @overload
    def rows(self, table: Literal["proofs"]) -> list[ProofRow]: ...
    @overload
    def rows(self, table: Literal["answers"]) -> list[AnswerRow]: ...
    @overload
    def rows(self, table: Literal["steps"]) -> list[StepRow]: ...
    def rows(self, table: str) -> list[Any]:
        """Small tables as rows, read once; histograms and resources are read by column."""
        if table not in self._rows:
            held = self.tables.get(table)
            self._rows[table] = [] if held is None else held.to_pylist()
        return self._rows[table]


def once(make: Callable[[RunRecord], T]) -> Callable[[RunRecord], T]:
    """The same, worked out once of each run."""
    key = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def found(run: RunRecord) -> T:
        if key not in run._once:
            run._once[key] = make(run)
        of: T = run._once[key]
        return of

    return found


#: How the reason of a point begins that a search decided without a run.
SEARCHED = "bisection: "


@dataclass(frozen=True)
class Absent:
    """A point without a run, and why: shown, never missing."""

    point: Mapping[str, Any]
    #: `stopped` or `unsupported`
    why: str
    reason: str

    @property
    def searched(self) -> bool:
        """Whether a search decided it without a run: a lower load than one that was held, or a higher one than failed."""
        return self.why == "stopped" and self.reason.startswith(SEARCHED)


@dataclass(frozen=True)
class StudyRecord:
    """One study's sealed runs and what the study file says, as plain values."""

    #: name, title, question, expect, kind, answer, accept, published, repeats, seed, scale, plan_hash …
    study: Mapping[str, Any]
    runs: Sequence[RunRecord]
    absent: Sequence[Absent] = ()
    #: Point, as labels spell it -> the run on the null engine that did the same work: no run of the study.
    calibrations: Mapping[str, RunRecord] = field(default_factory=dict)
