"""A plan in lines of text, as `inrush plan` prints it. Pure, and without the packages of an extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inrush.analysis.run_facts import is_instrument
from inrush.engines import server
from inrush.plan.cost import Cost, cost
from inrush.stats.quantity import show
from inrush.text import columns, counted, listed, number, show_s
from inrush.workload import STORED_SHARE

if TYPE_CHECKING:
    from inrush.plan.planned import StudyPlan
    from inrush.study.study import Study


def plan_lines(plan: StudyPlan, inputs: str | None = None, forecast: Cost | None = None) -> list[str]:
    """What would run, how long, how many bytes, what would be created where.

    inputs: a folder for input files alone. forecast: with what results and the machine say; without it usual rates alone.
    """
    study, forecast = plan.study, forecast or cost(plan)
    lines = [
        study.title,
        f"question: {study.question}",
        f"expected: {study.expect}",
        f"seed {plan.seed}, plan {plan.hash[:12]}" + (f", scale {study.scale}" if study.scale else ""),
        "",
        f"{counted(len(plan.planned), 'point')}, each {repetitions(study)}: {counted(forecast.runs, 'run')}"
        + (
            f", {len(plan.calibrations)} of them on the null engine for the client's overhead"
            if plan.calibrations
            else ""
        )
        + (f", of which a search makes about {forecast.made}" if study.search is not None else "")
        + (
            f"; then {counted(study.repeats.confirmations, 'fresh repeat')} of each point that is found best or nearly so"
            f"{fresh_time(forecast)}"
            if plan.confirmations
            else ""
        ),
        f"{'at least' if forecast.is_least else 'about'} {show_s(forecast.seconds)}, {', '.join(amounts(forecast))}"
        + (
            " (a forecast by usual rates; the pilot measures it)"
            if study.has_pilot
            else " (a forecast by usual rates)"
        )
        if forecast.rows or forecast.file_bytes
        else "as many rows and seconds as the files hold: they are read when the study runs",
        *forecast.said,
        *(f"warning: {said}" for said in forecast.warnings),
    ]
    lines += [
        f"{c.engine}: creates tables {', '.join(c.tables)} in a namespace of inrush's own, which is dropped after every run"
        for c in forecast.creates
    ]
    if inputs is not None:
        size = show(forecast.input_bytes, "bytes")
        lines.append(f"makes input files of about {size} in {inputs}, which are removed with the study")
    lines += ["", *columns(point_rows(plan), ("point", "rows", "size"), right=(1, 2))]
    lines += volume_lines(plan)
    if plan.unsupported:
        lines += ["", *(f"unsupported: {m.point}: {m.reason}" for m in plan.unsupported)]
    notes = dict.fromkeys(note for p in plan.planned.values() for note in p.notes)
    # What is inside of the process is asked within milliseconds: there is no wait to warn of.
    compared = sorted(e for e in study.engines if not is_instrument(e))
    if len(compared) > 1 and not study.unequal_durability and not all(server(e).embedded for e in compared):
        notes[
            f"{listed(compared)} are asked what acknowledged rows survive when the study runs; where that differs it is "
            "refused before the first run, unless --unequal-durability is said"
        ] = None
    return [*lines, *(["", *(f"note: {note}" for note in notes)] if notes else [])]


def fresh_time(forecast: Cost) -> str:
    """`, 3 min to 9 min more`; nothing where a run takes nobody knows how long."""
    if forecast.is_least:
        return ""
    return f", {' to '.join(dict.fromkeys(map(show_s, forecast.fresh_s)))} more"


def amounts(forecast: Cost) -> list[str]:
    """What is written, and where it lies."""
    found = []
    if forecast.rows or not forecast.file_bytes:
        found.append(f"{forecast.rows:,} rows written")
        found.append(f"at most {show(forecast.peak_bytes, 'bytes')} in a database at once")
    if forecast.dumped_bytes:
        found.append(f"dumps of about {show(forecast.dumped_bytes, 'bytes')} in files")
    if forecast.file_bytes:
        found.append(f"records of a file of {show(forecast.file_bytes, 'bytes')}")
    return found


def repetitions(study: Study) -> str:
    count = study.repeats.count
    if study.has_pilot:
        return f"once in a pilot and {counted(count, 'time')} in shuffled blocks"
    asked = (
        "repeats.pilot = false" if study.repeats.pilot is False else "it would show nothing about one point"
    )
    return f"{counted(count, 'time')}, without a pilot ({asked})"


def volume_lines(plan: StudyPlan) -> list[str]:
    """What samples bring in by second, hour and day: bytes of values, and stored by the usual share."""
    largest = max(plan.planned.values(), key=lambda p: sum(b for _, b in p.per_s.values()), default=None)
    if largest is None or not largest.per_s:
        return []
    per_s = {**largest.per_s, "together": tuple(map(sum, zip(*largest.per_s.values(), strict=True)))}
    rows = [
        (table, f"{rows:,.0f}", *(show(n * seconds, "bytes") for seconds in (1, 3_600, 86_400)))
        for table, (rows, n) in per_s.items()
    ]
    sizes = ", ".join(f"{name} {number(value)}" for name, value in plan.study.workload.sizes.items())
    return [
        "",
        f"rows that come in, for {sizes}; bytes of values only, without indexes and logs (an engine stores about {STORED_SHARE:g} times as much):",
        *columns(rows, ("table", "rows/s", "a second", "an hour", "a day"), right=(1, 2, 3, 4)),
    ]


def point_rows(plan: StudyPlan) -> Sequence[tuple[str, str, str]]:
    found = []
    for name, p in plan.planned.items():
        if p.rows:
            found.append((name, f"{p.rows:,}", show(p.bytes, "bytes")))
        elif p.file_bytes:
            found.append((name, "none", show(p.file_bytes, "bytes")))
        else:
            found.append((name, "of its files", ""))
    return found
