"""The first sentence of a result, as page, terminal and document have it: the answer, of pipelines with what is full first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from inrush.analysis.answer import Answer
from inrush.analysis.asked import asked_sentence
from inrush.analysis.overview import Overview
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import NOTHING, sentence
from inrush.analysis.waves import waves_said
from inrush.engines import ENGINES, server, title
from inrush.engines.base import versions
from inrush.guards.disk import MAKE_ROOM
from inrush.model.pipeline import SERIAL
from inrush.predict.resources import NOT_TRIED, SERIAL_FOUND, Resource, ResourceForecast, resource_forecasts
from inrush.stats.files import is_pipeline
from inrush.text import counted, listed, number, percent

#: Setting in which an engine says its version.
VERSION = "version"
#: Beyond so many times the largest load that ran a resource is not said to be full first: nothing that was seen comes near it.
FAR = 10.0
#: Below it a share would be shown as none.
LEAST_SHOWN = 0.001


def first_sentence(analysis: Analysis, found: Answer | None, seen: Overview | None = None) -> str:
    said = answered(analysis, found, seen)
    versions = "" if said == NOTHING else versions_said(analysis)
    return " ".join(filter(None, [full_disk_said(analysis), said, versions]))


def full_disk_said(analysis: Analysis) -> str:
    """`3 of 8 runs failed because the disk was full.`"""
    failures = [str((m.run.summary.get("failure") or {}).get("message", "")) for m in analysis.runs]
    full = sum(MAKE_ROOM in message for message in failures)
    return f"{full} of {counted(len(failures), 'run')} failed because the disk was full." if full else ""


def versions_said(analysis: Analysis) -> str:
    """`Measured on ClickHouse 18.16.1 of 2018 and MySQL 9.7.4 of 2026.` A server without a record of its version is left out."""
    found: dict[str, dict[str, None]] = {}
    for m in analysis.runs:
        engine = str(m.run.plan["target"]["engine"])
        twin = server(engine) if engine in ENGINES else None
        if twin is None or twin.embedded:
            continue
        for row in m.run.rows("settings"):
            if row["name"] == VERSION and (said := str(row["value"])):
                found.setdefault(engine, {})[versions.shown(said, twin.year_of(said))] = None
    names = [
        f"{title(engine)} {' and '.join(filter(None, each))}" for engine, each in found.items() if any(each)
    ]
    return f"Measured on {listed(names)}." if names else ""


def answered(analysis: Analysis, found: Answer | None, seen: Overview | None) -> str:
    said = " ".join(filter(None, [asked_sentence(analysis), sentence(analysis, found, seen)]))
    if said != NOTHING and (swings := waves_said(analysis)):
        said = f"{said} {swings}"
    if said == NOTHING or not any(is_pipeline(m.run) for m in analysis.runs):
        return said
    full = full_first(in_order(analysis, resource_forecasts(analysis)))
    return f"{said} {full}" if full else said


def full_first(forecasts: Sequence[ResourceForecast]) -> str:
    """`Full first on DuckDB: load server, predicted at 7.5 pipelines (not reached; 53 % busy at 4); …`"""
    said = [f"{on(f)}{full_of(f)}" for f in forecasts if f.resources]
    return f"Full first {'; '.join(said)}." if said else ""


def full_of(forecast: ResourceForecast) -> str:
    """What was seen full at the largest load, and what the small loads put first where that is another."""
    along, first = forecast.training.along, forecast.resources[0]
    predicted, detail = first.name, resource_said(first, along)
    if forecast.serial_full_at < first.full_at:
        predicted = f"a {SERIAL}"
        detail = f"{predicted}, predicted at {number(forecast.serial_full_at, 3)} {along} ({SERIAL_FOUND})"
    full = [r for r in forecast.resources if r.seen_full]
    if not full:
        at, largest = min(first.full_at, forecast.serial_full_at), first.largest
        if isfinite(at) and at > FAR * largest:
            far = f"{number(at / largest, 2)} times as many"
            return f"nothing near {number(largest)} {along}, the most that was tried; by the small loads {detail}: {far}"
        return detail
    said = " and ".join(resource_said(r, along) for r in full)
    if predicted in (r.name for r in full):
        return said
    return f"{said}, where the small loads put {predicted} first{detail.removeprefix(predicted)}"


def on(forecast: ResourceForecast) -> str:
    """Which group: the engine by its title, other factors by name."""
    words = [title(str(v)) if k == "engine" else f"{k} {v}" for k, v in forecast.group]
    return f"on {', '.join(words)}: " if words else "of all: "


def resource_said(resource: Resource, along: str) -> str:
    share = min(resource.share, 1.0)
    shown = (
        percent(share, 1 if share < 0.1 else 0)
        if share >= LEAST_SHOWN
        else f"below {percent(LEAST_SHOWN, 1)}"
    )
    busy = f"{shown} busy at {number(resource.largest)}"
    found = "not reached" if resource.verdict == NOT_TRIED else resource.verdict
    if isfinite(resource.full_at):
        return f"{resource.name}, predicted at {number(resource.full_at, 3)} {along} ({found}; {busy})"
    if resource.seen_full:
        return f"{resource.name}, predicted never to be full ({found}; {busy})"
    return f"no resource by the small loads ({resource.name} comes nearest, {busy})"


def in_order(analysis: Analysis, forecasts: Sequence[ResourceForecast]) -> list[ResourceForecast]:
    """As the study names its engines."""
    engines = [str(e) for e in analysis.factors.get("engine", ())]
    return sorted(
        forecasts, key=lambda f: [engines.index(str(v)) for k, v in f.group if k == "engine" and v in engines]
    )
