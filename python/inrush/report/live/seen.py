"""What is known of a study while it runs, from what its listener hears. Reads no clock: every call says what time it is.

Events of the core say what each role has done since its repetition began; here they become what it does now, what it
did over the time of the run, and what it has done in the measured phase so far.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inrush.border.events import Event, Latencies, Progress, RoleProgress
from inrush.plan.planned import PlannedRun
from inrush.plan.roles import ALL_ROWS
from inrush.report.live.calls import Calls, histogram
from inrush.report.live.clock import Rates, StudyClock
from inrush.report.live.series import RoleSlice, RunSeries, Slice
from inrush.report.live.usage import Using
from inrush.stats.measures import writing_roles

#: Notes and ended runs that are shown.
MESSAGES = 30
MEASURED = "measure"
NS = 1_000_000_000
#: Latencies of the last moments are shown so long: calls that end within one interval are heard of in the next.
STALL_INTERVALS = 2


@dataclass
class RoleSeen:
    """A role in the run in hand."""

    progress: RoleProgress
    #: Of the last moments in which a call ended; empty when none has for long.
    recent: Calls = field(default_factory=Calls)
    recent_ns: int = 0
    #: Of the repetition: when all its work was done, ns of the run; None: it goes on.
    ended_ns: int | None = None
    #: Of the measured phase so far: all its repetitions.
    measured: Calls = field(default_factory=Calls)
    measured_rows: int = 0
    measured_ops: int = 0
    #: Until its work was done.
    measured_s: float = 0.0
    measured_late: int = 0
    measured_outcomes: Counter[str] = field(default_factory=Counter)
    #: Outcome -> calls of the run, of all its phases.
    outcomes: Counter[str] = field(default_factory=Counter)

    def rests(self) -> None:
        """Until a segment has it again: nothing that is of now, no calls due, no lag."""
        self.recent = Calls()
        self.progress = {**self.progress, "due": None, "backlog": 0, "lag_p99_ms": None}


@dataclass
class RoleTotal:
    """Of a role on one engine, since inrush began: what only rises."""

    rows: int = 0
    ops: int = 0
    late: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    calls: Calls = field(default_factory=Calls)


@dataclass
class SegmentSeen:
    index: int
    label: str
    kind: str
    phase: str
    began_s: float


class StudySeen:
    def __init__(self, study: Mapping[str, Any], runs: Sequence[PlannedRun], now_s: float) -> None:
        """study: study.json; runs: all that are planned, in their order."""
        self.study = study
        self.plan(runs)
        self.clock = StudyClock()
        self.began_s = now_s
        #: running, then as study.json says.
        self.status = "running"
        self.run: PlannedRun | None = None
        self.run_began_s = now_s
        self.segment: SegmentSeen | None = None
        self.progress: Progress | None = None
        self.roles: dict[str, RoleSeen] = {}
        #: Of the run in hand, once its sessions work; until then of the run before it.
        self.series = RunSeries()
        self.using = Using()
        self.totals: dict[tuple[str, str], RoleTotal] = {}
        self.ended_runs = Counter[str]()
        self.messages: deque[tuple[float, str]] = deque(maxlen=MESSAGES)
        #: When the sessions were last heard of.
        self.heard_s: float | None = None
        self._of: tuple[int, int] | None = None

    def plan(self, runs: Sequence[PlannedRun]) -> None:
        self.planned = list(runs)
        self.runs = {run.run_id: k for k, run in enumerate(runs)}

    def begun(self, n: int, of: int, run: PlannedRun, now_s: float) -> None:
        self.clock.begun(n, of, run.point, run.block, writing_roles(run.plan), run.plan)
        self.run, self.run_began_s = run, now_s
        self.segment = self.progress = self._of = self.heard_s = None
        self.roles = {}
        self.using.ended()

    def event(self, event: Event, now_s: float) -> None:
        if event["event"] == "progress" and not self._says_when_it_ends(event):
            event = {**event, "share": None, "left_s": None}
        self.clock.event(event)
        match event["event"]:
            case "segment":
                self.segment = SegmentSeen(
                    event["index"], event["label"], event["kind"], event["phase"], now_s
                )
                for role in self.roles.values():
                    role.rests()
            case "progress":
                self._progress(event, now_s)
            case "note":
                self.note(event["text"], now_s)

    def ended(self, status: str) -> None:
        self.clock.ended()
        self.ended_runs[status] += 1
        self.using.ended()

    def note(self, message: str, now_s: float) -> None:
        self.messages.append((now_s, message))

    def rates(self) -> Rates:
        return self.clock.rates()

    def engine(self) -> str:
        return "" if self.run is None else str(self.run.labels.get("engine", ""))

    def ahead(self) -> list[PlannedRun]:
        """Runs that are planned behind the one in hand; rules may leave some of them out."""
        at = self.runs.get(self.run.run_id, -1) if self.run is not None else -1
        return self.planned[at + 1 :] if at >= 0 or self.run is None else []

    def _progress(self, event: Progress, now_s: float) -> None:
        of = (event["segment"], event["repetition"])
        same = of == self._of and self.progress is not None
        since_ns = self.progress["t_ns"] if same and self.progress is not None else event["began_ns"]
        seconds = max(0.0, (event["t_ns"] - since_ns) / 1e9)
        steps: dict[str, RoleSlice] = {}
        for name, now in event["roles"].items():
            role = self.roles.get(name)
            before = role.progress if role is not None and same else None
            role = role or RoleSeen(now, recent_ns=event["began_ns"])
            self.roles[name] = role
            steps[name] = self._counted(name, role, now, before, event["phase"] == MEASURED)
            self._timed(name, role, event, since_ns, event["phase"] == MEASURED)
        self.using.look(event["resources"], event.get("hosts"))
        if steps:
            busy_s = {name: cores * seconds for name, cores in self.using.busy_cores().items()}
            self._series_of_run_in_hand().add(Slice(now_s, seconds, steps, busy_s))
        self.progress, self._of, self.heard_s = event, of, now_s

    def _series_of_run_in_hand(self) -> RunSeries:
        """A new one with the first step of a run: between two runs the charts of the one before stay."""
        run = self.run.run_id if self.run is not None else ""
        if self.series.run != run:
            self.series = RunSeries(run, self.clock.point)
        return self.series

    def _counted(
        self,
        name: str,
        role: RoleSeen,
        now: RoleProgress,
        before: RoleProgress | None,
        measured: bool,
    ) -> RoleSlice:
        """What the role has done since the event before, added to all sums. before: of the same repetition."""
        rows = max(0, now["rows"] - (before["rows"] if before else 0))
        ops = max(0, now["ops"] - (before["ops"] if before else 0))
        late = max(0, now["late"] - (before["late"] if before else 0))
        failed = Counter(now["failed"]) - Counter(before["failed"] if before else {})
        new: Latencies = now["latency"]
        if new["n"] or failed:
            role.recent = Calls()
            role.recent.add(new, failed.total())
        if measured:
            role.measured.add(new, failed.total())
            role.measured_rows += rows
            role.measured_ops += ops
            role.measured_late += late
            role.measured_outcomes += failed
        role.outcomes += failed
        total = self.totals.setdefault((self.engine(), name), RoleTotal())
        total.rows, total.ops, total.late = total.rows + rows, total.ops + ops, total.late + late
        total.failed += failed
        total.calls.add(new)
        role.progress = now
        return RoleSlice(rows, ops, failed.total(), histogram(new))

    def _timed(self, name: str, role: RoleSeen, event: Progress, since_ns: int, measured: bool) -> None:
        """Its time in the measured phase, which ends with its work: others may go on for long."""
        t_ns = event["t_ns"]
        if since_ns == event["began_ns"]:
            role.ended_ns = None
        if role.ended_ns is None:
            role.measured_s += max(0.0, (t_ns - since_ns) / 1e9) if measured else 0.0
            if self._is_done(name, role.progress, event):
                role.ended_ns = t_ns
        new = event["roles"][name]
        if new["latency"]["n"]:
            role.recent_ns = t_ns
        elif t_ns - role.recent_ns > STALL_INTERVALS * self._interval_ns() or t_ns < role.recent_ns:
            role.recent = Calls()

    def _is_done(self, name: str, now: RoleProgress, event: Progress) -> bool:
        """By the plan: all calls of a bounded role have ended, or its time is over."""
        segments = self.run.plan["segments"] if self.run is not None else []
        segment: Mapping[str, Any] = segments[event["segment"]] if event["segment"] < len(segments) else {}
        plan = next((role for role in segment.get("roles", ()) if role["name"] == name), None)
        if plan is None:
            return False
        if plan["until"]["kind"] == "time":
            return bool(event["t_ns"] - event["began_ns"] >= plan["until"]["ns"])
        calls = planned_calls(plan["work"])
        return plan["until"]["kind"] == "work" and calls is not None and now["ops"] >= calls

    def _says_when_it_ends(self, event: Progress) -> bool:
        """Not while the rows of files are stored, which the plan does not count: the core then knows the segment's limit alone."""
        segments = self.run.plan["segments"] if self.run is not None else []
        segment: Mapping[str, Any] = segments[event["segment"]] if event["segment"] < len(segments) else {}
        return all(
            role["until"]["kind"] == "time" or role["work"].get("rows", 0) < ALL_ROWS
            for role in segment.get("roles", ())
        )

    def _interval_ns(self) -> int:
        return int(self.run.plan.get("record", {}).get("interval_ns", NS)) if self.run is not None else NS


def planned_calls(work: Mapping[str, Any]) -> int | None:
    """None where it has no end of its own, or its files decide how many calls it takes."""
    match work["kind"]:
        case "calls":
            return int(work["count"])
        case "rows" if work["rows"] < ALL_ROWS and not work.get("dump") and not work.get("input"):
            return -(-int(work["rows"]) // int(work["batch_rows"]))
    return None
