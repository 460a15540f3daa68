"""A study on a terminal: what the live page shows, in words, below the runs that have ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inrush.border.events import Event
from inrush.live.snapshot import Doc
from inrush.run.progress import LONG_S, Plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from inrush.live.view import View

PER_S = 2
#: Lines of one kind that a terminal has room for.
MOST_ROLES, MOST_LIMITS, MOST_DEVICES = 6, 4, 3
PERCENTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}


class Scrolling(Plain):
    """A line when a run ends, and notes; what goes on meanwhile is drawn below them."""

    def event(self, event: Event) -> None:
        self.study.event(event)


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
        where(shown),
        *(
            f"  {line}"
            for line in [*roles(shown), *used(shown), *limits(shown), *claims(shown), *ahead(shown)]
        ),
    ]


def where(shown: Doc) -> str:
    """`[3/24] duckdb batch_rows=1000 · measure · 42 % · 2 min left, until 22:14`"""
    run = shown["run"]
    if run is None:
        return "about to begin"
    loaded, share = run["loaded"], run["share"]
    parts = [
        f"[{shown['runs']['n']}/{shown['runs']['of']}] {run['point']}",
        run["segment"] or "",
        f"{loaded['rows']:,} of {loaded['of']:,} rows" if loaded else "",
        f"{100 * share:.0f} %" if share is not None else "",
        end_said(shown),
    ]
    return " · ".join(filter(None, parts))


def end_said(shown: Doc) -> str:
    if shown["left"] is None:
        return ""
    until = time.strftime("%H:%M", time.localtime(shown["ends_s"]))
    return f"{shown['left']} left" + (
        f", until {until}" if shown["ends_s"] - shown["now_s"] >= LONG_S else ""
    )


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
        yield f"and {len(each) - MOST_ROLES} more roles"


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
