"""What a person sees of a study while it runs where there is no terminal: plain lines, on stderr."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.analysis.wording import name as name_of
from inrush.border.events import Event, Progress, RoleProgress
from inrush.plan.calibration import is_price
from inrush.results.store import Results, SealedRun, sealed_runs
from inrush.stats.files import rejected_rows
from inrush.stats.measures import call_gaps_s, figures_of_run, whole, writing_roles
from inrush.stats.quantity import rate_of, show
from inrush.stats.record import RunRecord
from inrush.text import counted, show_s

if TYPE_CHECKING:
    from rich.console import Console

    from inrush.plan.planned import PlannedRun

#: Of a load that has longer to go, the hour of its end is shown.
LONG_S = 90.0
#: Seconds between two lines where there is no terminal.
PLAIN_EVERY_S = 10.0
#: Rates are over so long: samples that come every few seconds are in it as often as they come.
RECENT_NS = 10_000_000_000
#: A paced role is behind when so much of its schedule is due and not done; less is what is under way.
BEHIND_S = 1.0


class Plain:
    """One line when a run ends, and one every ten seconds while it goes on."""

    def __init__(self, console: Console, results: Path | None = None) -> None:
        self.console = console
        self.results = results
        self.began_s = time.monotonic()
        # Those of a study that goes on were said before.
        self.has_result = results is not None and bool(sealed_runs(results))
        self.study = StudyClock()
        self.said_s = time.monotonic()

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begun(self, n: int, of: int, run: PlannedRun) -> None:
        self.study.begun(n, of, run.point, run.block, writing_roles(run.plan), run.plan)
        self.said_s = time.monotonic()

    def event(self, event: Event) -> None:
        self.study.event(event)
        if event["event"] == "progress" and time.monotonic() - self.said_s > PLAIN_EVERY_S:
            self.said_s = time.monotonic()
            self.say(self.study.line())

    def ended(self, run: PlannedRun, doc: Mapping[str, Any]) -> None:
        self.study.ended()
        sentence = self.found(run)
        self.say(f"{ended_line(self.study, doc)}{f' · {sentence}' if sentence else ''}")
        self.first(sentence)

    def found(self, run: PlannedRun) -> str:
        """Rate and proof of the run that has just been sealed."""
        path = self.results / run.run_id if self.results is not None else None
        if self.results is None or path is None or not (path / "run.json").is_file():
            return ""
        return found_line(SealedRun(path), Results(self.results).study.get("answer"))

    def first(self, sentence: str) -> None:
        """Says when there is a first figure with its proof: what follows repeats it and shows how sure it is."""
        if sentence and not self.has_result:
            self.has_result = True
            after = show_s(time.monotonic() - self.began_s)
            self.say(
                f"first result {after} after planning: {self.study.point}: {sentence}; "
                "what follows says how sure that is"
            )

    def note(self, message: str) -> None:
        self.say(message)

    def say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


class StudyClock:
    """Where a study is, from what the core says of the run in hand."""

    def __init__(self) -> None:
        self.n = self.of = 0
        self.point = ""
        self.block = 0
        self.last: Progress | None = None
        self.writers: Collection[str] = ()
        self.gaps_s: Mapping[str, float] = {}
        self.recent = Recent()
        self.label = ""
        self.run_began_s = time.monotonic()
        self.took_s: list[float] = []
        #: What the schedules of the run in hand ask for; None where its work says when it ends.
        self.timed_s: float | None = None

    def begun(
        self,
        n: int,
        of: int,
        point: str,
        block: int,
        writers: Collection[str] = (),
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        """writers: roles with rows that make the rate; without any, the rows of all do."""
        self.writers = writers
        self.gaps_s = call_gaps_s(plan or {})
        self.timed_s = timed_s(plan or {})
        self.n, self.of, self.point, self.block = n, of, point, block
        self.last, self.label = None, ""
        self.recent = Recent(self.gaps_s)
        self.run_began_s = time.monotonic()

    def event(self, event: Event) -> None:
        if event["event"] == "progress":
            self.last = {**event, "roles": rows_of_writers(event.get("roles", {}), self.writers)}
            self.recent.add(self.last)
            self.label = event["label"]
        elif event["event"] == "segment":
            # What was said of the segment before is not of now.
            self.last, self.label, self.recent = None, event["label"], Recent(self.gaps_s)

    def ended(self) -> None:
        self.took_s.append(time.monotonic() - self.run_began_s)

    def line(self) -> str:
        """`[3/24] duckdb batch_rows=1000 · measure · now 1.2 M rows/s · p99 3.1 ms · client 0.4 cores · 2 min left`"""
        shown = [] if self.last is None else figures(self.last, self.recent)
        loaded = [] if self.last is None else load_line(self.last, time.time())
        return " · ".join(
            [
                f"[{self.n}/{self.of}] {self.point}",
                *filter(None, [self.label, *loaded, *shown, self.left()]),
            ]
        )

    def left(self) -> str:
        left_s = self.left_s()
        return "" if left_s is None else f"{show_s(left_s)} left"

    def left_s(self) -> float | None:
        """Time left of the study: of this run as the core says, and runs to come as long as those before. Of the first one
        the schedules say how long a run is at least; nothing does where its work ends it and others follow."""
        ahead = self.of - self.n
        here = None if self.last is None else self.last.get("left_s")
        mean = sum(self.took_s) / len(self.took_s) if self.took_s else self.timed_s
        if mean is None:
            return here if ahead == 0 else None
        # The core speaks of the segment in hand, behind which others may come.
        rest = max(here or 0.0, mean - (time.monotonic() - self.run_began_s))
        return max(0.0, rest) + ahead * mean


def timed_s(plan: Mapping[str, Any]) -> float | None:
    """Seconds that the schedules of a run take, its load aside; None where a measured segment is as long as its work."""
    total = 0.0
    for segment in plan.get("segments", ()):
        if segment["kind"] == "drive":
            untils = [role["until"] for role in segment["roles"]]
            times = [until["ns"] / 1e9 for until in untils if until["kind"] == "time"]
            if segment["phase"] == "measure" and not times:
                return None
            total += max(times, default=0.0)
    return total or None


def rows_of_writers(roles: Mapping[str, RoleProgress], writers: Collection[str]) -> dict[str, RoleProgress]:
    """Rows that were deleted or read are in no rate beside rows that were put in."""

    def without_rows(role: RoleProgress) -> RoleProgress:
        return {**role, "rows": 0, "rows_per_s": 0.0}

    return {
        name: role if not writers or name in writers else without_rows(role) for name, role in roles.items()
    }


#: Role -> rows and operations a second.
Rates = Mapping[str, tuple[float, float]]
#: Role -> rows, operations, and operations that are due and not done.
Counts = Mapping[str, tuple[int, int, int]]


class Recent:
    """What was done within the last moments of one repetition: of progress events; their counts begin again with each."""

    def __init__(self, gaps_s: Mapping[str, float] | None = None) -> None:
        self.gaps_s = gaps_s or {}
        self.seen: deque[tuple[int, Counts]] = deque()
        self.of: tuple[Any, ...] = ()

    def add(self, event: Progress) -> None:
        of = (event.get("segment"), event.get("repetition"))
        if of != self.of:
            self.seen.clear()
            self.of = of
        counts = {
            role: (r["rows"], r["ops"], r.get("backlog", 0)) for role, r in event.get("roles", {}).items()
        }
        began_ns = event.get("began_ns")
        if not self.seen and began_ns is not None and 0 < event["t_ns"] - began_ns < RECENT_NS:
            # Of a last word a moment after the first one there would be a rate of that moment.
            self.seen.append((began_ns, dict.fromkeys(counts, (0, 0, 0))))
        self.seen.append((event["t_ns"], counts))
        while len(self.seen) > 2 and event["t_ns"] - self.seen[1][0] >= RECENT_NS:
            self.seen.popleft()

    def per_s(self) -> Rates | None:
        """Rows and operations a second; None while there is one event alone."""
        if len(self.seen) < 2:
            return None
        (since_ns, before), (until_ns, now) = self.seen[0], self.seen[-1]
        took_s = (until_ns - since_ns) / 1e9
        if took_s <= 0:
            return None
        rates = {}
        for role in (r for r in now if r in before):
            (rows, ops, backlog), (more_rows, more_ops, _) = before[role], now[role]
            rates[role] = self.as_due(role, (more_rows - rows) / took_s, (more_ops - ops) / took_s, backlog)
        return rates

    def alone(self, event: Progress) -> Rates:
        """What one event says by itself: rows and operations a second since the one before it."""
        return {
            role: self.as_due(role, r["rows_per_s"], r["ops_per_s"], r.get("backlog", 0))
            for role, r in event.get("roles", {}).items()
        }

    def as_due(self, role: str, rows_per_s: float, ops_per_s: float, backlog: int) -> tuple[float, float]:
        """Of a paced role no more than its schedule: nine batches end within two seconds where four a second are due.

        backlog: when the moments began; a role that was behind then is as fast as it catches up.
        """
        gap_s = self.gaps_s.get(role, 0.0)
        if not gap_s or not ops_per_s or backlog * gap_s > BEHIND_S:
            return rows_per_s, ops_per_s
        share = min(1.0, 1 / gap_s / ops_per_s)
        return share * rows_per_s, share * ops_per_s


def figures(event: Progress, recent: Recent) -> list[str]:
    """Rate of the last moments, worst p99 and client CPU of a progress event; nothing of a core that has not said any."""
    roles = event.get("roles", {}).values()
    shown = []
    rates = (recent.per_s() or recent.alone(event)).values()
    rows, operations = sum(rows for rows, _ in rates), sum(ops for _, ops in rates)
    if rows:
        shown.append(f"now {show(rows, 'x.rows_per_s')}")
    elif operations:
        shown.append(f"now {show(operations, 'x.ops_per_s')}")
    slowest = max((r["p99_ms"] for r in roles if r["p99_ms"] is not None), default=None)
    if slowest is not None:
        shown.append(f"p99 {show(slowest / 1e3, 'x.p99_s')}")
    errors = sum(r["errors"] for r in roles)
    if errors:
        shown.append(f"{errors:,} errors")
    if event.get("client_cpu") is not None:
        shown.append(f"client {event['client_cpu']:.2f} cores")
    return shown


def load_line(event: Progress, now_s: float) -> list[str]:
    """`12,300,000 of 100,000,000 rows, 12 %`, `2 gaps, 3 min`, `the load ends at 05:10`; nothing of other segments.

    now_s: by the wall clock.
    """
    loaded, left_s = event.get("loaded"), event.get("left_s")
    if loaded is None:
        return []
    shown = [f"{loaded['rows']:,} of {loaded['of']:,} rows, {100 * loaded['rows'] / loaded['of']:.0f} %"]
    if loaded["gaps"]:
        shown.append(f"{counted(loaded['gaps'], 'gap')}, {show_s(loaded['gaps_s'])}")
    if left_s is not None and left_s >= LONG_S:
        shown.append(f"the load ends at {time.strftime('%H:%M', time.localtime(now_s + left_s))}")
    return shown


def ended_line(study: StudyClock, doc: Mapping[str, Any]) -> str:
    took = show_s(study.took_s[-1])
    where = f"[{study.n}/{study.of}] {study.point}"
    if not is_price(study.point):
        where += " (pilot)" if study.block == 0 else f" (block {study.block})"
    if doc["status"] == "done":
        return f"{where}: {took}"
    return f"{where}: failed after {took}: {doc['failure']['message']}"


def found_line(run: SealedRun, answer: Mapping[str, Any] | None = None) -> str:
    """`431 k rows/s, 26 of 26 proofs hold`; empty for a run that proves nothing, such as one on the null engine.

    answer: the study's own. The line has this run's part of the answer, by the same clock and the same rows.
    """
    proofs = run.table("proofs").column("holds").to_pylist()
    if run.doc.get("status") != "done" or not proofs:
        return ""
    record = RunRecord(run.id, run.plan, run.env, run.doc, run.tables)
    writers = {whole(role) for role in writing_roles(run.plan)}
    in_steps = bool(record.labels.get("steps"))
    figure = figure_said(figures_of_run(record), str(answer["of"]) if answer else None, writers, in_steps)
    holds = f"{sum(proofs)} of {len(proofs)} proofs hold"
    line = ", ".join(filter(None, [figure, holds])) if all(proofs) else f"NO FIGURE: {holds}"
    return with_rejected(line, record)


def figure_said(
    figures: Mapping[str, float], of: str | None, writers: Collection[str], in_steps: bool
) -> str:
    """`134 k rows/s (rate of load)`: the answer's figure, of a fixed job its rate; without the name where one role works.

    of: the answer's figure. Without one, rows of all that write side by side; steps follow one another, and their rows
    have no rate together.
    """
    stated = stated_figure(figures, of, writers) if of else None
    if stated is not None:
        roles = {whole(name.rsplit(".", 1)[0]) for name in figures if name.endswith(".ops")}
        named = "" if roles == {stated.rsplit(".", 1)[0]} else f" ({name_of(stated)})"
        return show(figures[stated], stated) + named
    rows_per_s = None if in_steps else written_per_s(figures, writers)
    if not rows_per_s:
        return ""
    return show(rows_per_s, "x.rows_per_s") + (" by all that write" if len(writers) > 1 else "")


def stated_figure(figures: Mapping[str, float], of: str, writers: Collection[str]) -> str | None:
    """What the report's first sentence states of the answer's figure; None where this run has not measured it."""
    role, metric = of.rsplit(".", 1)
    if metric == "makespan_s":
        of = rate_of(of, {name for name, value in figures.items() if value > 0}, role in writers)
    elif metric == "keeps_up" or metric.endswith("_share"):
        of = f"{role}.rows_per_s"
    return of if of in figures else None


def with_rejected(line: str, run: RunRecord) -> str:
    """The line, with rows of files that did not fit and were not stored."""
    rejected = sum(n for n, _ in rejected_rows(run).values())
    return f"{line}, {rejected:,} rows rejected" if rejected else line


def written_per_s(figures: Mapping[str, float], writers: Iterable[str]) -> float | None:
    """Rows of all roles that write side by side, over the time of the longest; None where none of them has a rate."""
    rated = [role for role in writers if f"{role}.rows_per_s" in figures]
    took_s = max((figures[f"{role}.makespan_s"] for role in rated), default=0.0)
    if not took_s:
        return None
    return sum(figures[f"{role}.rows_per_s"] * figures[f"{role}.makespan_s"] for role in rated) / took_s
