"""One point as planning gives it: its document for the core, and what a person is shown of it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inrush.border.labels import PointLabels
from inrush.border.pipeline import LoadingPointPlan
from inrush.border.plan import PLAN_VERSION, OpPlan, Segment, TablePlan
from inrush.border.plan import PointPlan as SessionsPointPlan
from inrush.plan.documents import epoch_ns
from inrush.plan.intervals import interval_s, watch_s
from inrush.plan.units import ns
from inrush.plan.work import Lasts
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain


@dataclass(frozen=True)
class PointPlan:
    """`plan` is that of a run without its name and with the target's engine only: runs add the rest."""

    plan: SessionsPointPlan | LoadingPointPlan
    labels: PointLabels
    namespace: str
    #: Tables that are created, by their names in the workload.
    streams: tuple[str, ...]
    #: Rows that lie in the database at once, and that one repetition writes.
    rows: int
    written_rows: int
    batch_rows: int
    #: Approximate size of those rows.
    bytes: int
    #: Seconds of warming and cooling, and what decides how long is measured.
    fixed_s: float
    lasts: Lasts = field(default_factory=Lasts)
    notes: tuple[str, ...] = ()
    #: Table -> rows and bytes of values a second, of tables that samples fill.
    per_s: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Approximate size of the files that its steps dump.
    dumped_bytes: int = 0
    #: Size of the file that is laid out in place of tables.
    file_bytes: int = 0


def document(
    study: StudyAt[Plain],
    engine: str,
    seed: int,
    tables: Sequence[TablePlan],
    operations: Sequence[OpPlan],
    segments: Sequence[Segment],
    longest_s: float = 0.0,
) -> SessionsPointPlan:
    """longest_s: the longest segment with a planned length, which decides how finely is recorded."""
    interval = interval_s(study.record.interval_s, longest_s)
    return {
        "version": PLAN_VERSION,
        "study": study.name,
        "seed": seed,
        "epoch_ns": epoch_ns(study.workload.epoch),
        "target": {"engine": engine, "url": "", "options": dict(study.options.get(engine, {}))},
        "tables": tables,
        "operations": operations,
        "segments": segments,
        "record": {"interval_ns": ns(interval), "flush_ns": ns(max(2.0, interval))},
        "watch": {"every_ns": ns(watch_s(study.record.watch_s, longest_s)), "processes": {}, "data_dir": ""},
    }


def short_hash(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:10]
