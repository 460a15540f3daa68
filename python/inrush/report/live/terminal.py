"""The snapshot of a study in words: on a terminal below the runs that have ended, elsewhere a line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inrush.border.events import Event
from inrush.plan.planned import PlannedRun
from inrush.report.live.snapshot import Doc
from inrush.report.live.view import View
from inrush.text import counted, show_s

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PER_S = 2
#: Seconds between two lines where there is no terminal.
PLAIN_EVERY_S = 10.0
#: Of a load or a study that has longer to go, the hour of its end is shown.
LONG_S = 90.0
#: Lines of one kind that a terminal has room for.
MOST_ROLES, MOST_LIMITS, MOST_DEVICES = 6, 4, 3
PERCENTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}


class Plain(View):
    """A view that says a line every ten seconds while a run goes on: where there is no terminal."""

    said_s = 0.0

    def begun(self, n: int, of: int, run: PlannedRun) -> None:
        super().begun(n, of, run)
        self.said_s = self.clock()

    def event(self, event: Event) -> None:
        super().event(event)
        if event["event"] == "progress" and self.clock() - self.said_s > PLAIN_EVERY_S:
            self.said_s = self.clock()
            self.say(line(self.look()))


class Terminal:
    """Draws the view again and again, in place, until it is left."""

    def __init__(self, console: Console, view: View) -> None:
        from rich.live import Live

        self.console, self.view = console, view
        self._live = Live(
            console=console, refresh_per_second=PER_S, transient=True, get_renderable=self._drawn
        )

    def __enter__(self) -> Terminal:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        lines = words(self.view.look())
        return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines))


def words(shown: Doc) -> list[str]:
    """The snapshot as lines."""
    return [
        " · ".join(filter(None, [where(shown), time_left(shown)])),
        *(
            f"  {line}"
            for line in [*roles(shown), *used(shown), *limits(shown), *claims(shown), *ahead(shown)]
        ),
    ]


def line(shown: Doc) -> str:
    """`[3/24] duckdb batch_rows=1000 · measure · now 1.2 M rows/s · p99 3.1 ms · client 0.40 cores · 2 min left`"""
    now = shown["now"]
    parts = [
        where(shown, now["rate"] and f"now {now['rate']}"),
        now["p99"] and f"p99 {now['p99']}",
        now["errors"] and f"{now['errors']:,} errors",
        now["client"] and f"client {now['client']}",
        time_left(shown),
    ]
    return " · ".join(filter(None, parts))


def where(shown: Doc, rate: str | None = None) -> str:
    """`[3/24] duckdb batch_rows=1000 · measure · 42 %`, of a load `12,300,000 of 100,000,000 rows, 12 %` and its end."""
    run = shown["run"]
    if run is None:
        return "about to begin"
    place = f"[{shown['runs']['n']}/{shown['runs']['of']}] {run['point']}"
    return " · ".join(filter(None, [place, run["segment"], *progress_of(run, shown["now_s"]), rate]))


def progress_of(run: Doc, now_s: float) -> Iterator[str]:
    loaded, share = run["loaded"], run["share"]
    if not loaded:
        yield "" if share is None else f"{100 * share:.0f} %"
        return
    yield f"{loaded['rows']:,} of {loaded['of']:,} rows, {100 * loaded['rows'] / loaded['of']:.0f} %"
    if loaded["gaps"]:
        yield f"{counted(loaded['gaps'], 'gap')}, {show_s(loaded['gaps_s'])}"
    if run["left_s"] is not None and run["left_s"] >= LONG_S:
        yield f"the load ends at {clock_time(now_s + run['left_s'])}"


def time_left(shown: Doc) -> str:
    if shown["left"] is None:
        return ""
    is_long = shown["ends_s"] - shown["now_s"] >= LONG_S
    return f"{shown['left']} left" + (f", until {clock_time(shown['ends_s'])}" if is_long else "")


def clock_time(s: float) -> str:
    return time.strftime("%H:%M", time.localtime(s))


def roles(shown: Doc) -> Iterator[str]:
    each = list(shown["roles"].items())
    width = max((len(name) for name, _ in each[:MOST_ROLES]), default=0)
    for name, role in each[:MOST_ROLES]:
        times = [f"{label} {role['times'][key]}" for key, label in PERCENTILES.items() if role["times"][key]]
        due = role["due"] is not None and (role["backlog"] or role["late"])
        parts = [
            f"{name:<{width}}  {role['rate']}",
            "  ".join(times),
            f"{role['backlog']:,} due, {role['late']:,} late" if due else "",
            errors_said(role),
        ]
        yield " · ".join(filter(None, parts))
    if len(each) > MOST_ROLES:
        yield f"and {counted(len(each) - MOST_ROLES, 'more role')}"


def errors_said(role: Doc) -> str:
    """`12 errors: 10 timeout, 2 lost`"""
    if not role["errors"]:
        return ""
    kinds = ", ".join(f"{calls:,} {outcome}" for outcome, calls in role["outcomes"].items())
    return f"{role['errors']:,} errors" + (f": {kinds}" if kinds else "")


def used(shown: Doc) -> Iterator[str]:
    """Roles on one line, and the devices that do something on another."""
    whole, devices = [], []
    for one in shown["resources"]:
        said = [
            s
            for s in one["said"]
            if one["device"] == "" or s["what"] in ("read", "written", "busy", "received", "sent")
        ]
        text = ", ".join(f"{s['what']} {s['value']}" for s in said[:3])
        if not one["device"]:
            whole.append(f"{one['called']}: {text}")
        elif any(value > 0 for value in one["values"].values()):
            of = f"{one['called']} " if one["called"] != one["role"] else ""
            devices.append(f"{of}{one['device']}: {text}")
    if whole:
        yield " · ".join(whole)
    if devices:
        yield " · ".join(devices[:MOST_DEVICES])


def limits(shown: Doc) -> Iterator[str]:
    known = [limit for limit in shown["limits"] if limit["now"] is not None]
    for limit in sorted(known, key=lambda limit: -(limit["share"] or 0.0))[:MOST_LIMITS]:
        used_up = f" ({limit['used']})" if limit["used"] else ""
        yield f"{limit['what']} {limit['limit']}: {limit['figure']} {limit['now']}{used_up}"


def claims(shown: Doc) -> Iterator[str]:
    for claim in shown["claims"]:
        seen = "not yet measured" if claim["measured"] is None else f"measured {claim['measured']}"
        inside = {True: ", inside", False: ", OUTSIDE", None: ""}[claim["inside"]]
        yield f"claimed {claim['claimed']} [{claim['from']}, {claim['to']}] at {claim['point']}: {seen}{inside}"


def ahead(shown: Doc) -> Iterator[str]:
    runs = shown["next"]["runs"]
    if runs:
        more = len(runs) - 1 + shown["next"]["more"]
        yield f"next: {runs[0]['point']}" + (f", and {more} more" if more else "")
