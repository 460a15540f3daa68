"""Figures of a run: those of each of its steps by the step's name, and those of several steps together. Pure.

A run without steps is its only step, and the figures of that one have no name before theirs.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import NamedTuple, TypeAlias

import inrush.stats
from inrush.stats.client_overhead import client_overhead
from inrush.stats.gaps import gaps_of, worked_in
from inrush.stats.measures import figure_windows, figures_of_work, whole
from inrush.stats.pages import page_figures
from inrush.stats.record import RunRecord
from inrush.stats.steps import bytes_per_row, held_bytes, loaded_rows, segments_of_steps, steps_of
from inrush.stats.watched import cumulative, spent

#: From a run without steps, or one step as a run by itself, to figures by name.
Computes: TypeAlias = Callable[[RunRecord], dict[str, float]]


class StepFigures(NamedTuple):
    """A step as a run by itself, with its figures by the names that they have there: `measures` lists them."""

    run: RunRecord
    figures: dict[str, float]


def figures_of_run(run: RunRecord) -> dict[str, float]:
    """All figures of one run, by name; a figure that was not measured has no entry."""
    return run_figures(run, figures_by_step(run))


def figures_by_step(run: RunRecord, calibration: RunRecord | None = None) -> dict[str, StepFigures]:
    """Step -> its own figures; of a run without steps the only one has no name.

    calibration: the same work on the null engine, which tells the client's CPU from that of an engine in its process.
    """
    return {step: StepFigures(of, own_figures(of, calibration)) for step, of in steps_of(run).items()}


def own_figures(step: RunRecord, calibration: RunRecord | None) -> dict[str, float]:
    figures = figures_of_work(step)
    for compute in computations():
        figures |= compute(step)
    return figures if calibration is None else figures | client_overhead(step, calibration)


@cache
def computations() -> tuple[Computes, ...]:
    """The `FIGURES` of every module of this folder, which no other file names, in the order of the modules' names."""
    found: list[Computes] = []
    for module in pkgutil.iter_modules(inrush.stats.__path__):
        found += getattr(import_module(f"inrush.stats.{module.name}"), "FIGURES", ())
    return tuple(found)


def run_figures(run: RunRecord, steps: Mapping[str, StepFigures]) -> dict[str, float]:
    """steps: `figures_by_step`."""
    figures: dict[str, float] = {}
    for step, of in steps.items():
        figures |= {step_figure(step, name): value for name, value in of.figures.items()}
        if step:
            figures |= named_step_figures(run, step, of)
    return figures | total_figures(run, figures)


def step_figure(step: str, name: str) -> str:
    """The name in the run of a figure of a step's role, or of one that is watched: `server.busy_cores` of step `cold` is
    `cold.server_busy_cores`. What a row costs is a figure of its sessions' threads and of the whole process."""
    role, metric = name.rsplit(".", 1)
    if not step or whole(role) == step or role.startswith(f"{step}."):
        return name
    process = "process_" if role == "client" and metric in ("cpu_us_per_row", "cpu_us_per_op") else ""
    return f"{step}.{role}_{process}{metric}"


def named_step_figures(run: RunRecord, step: str, of: StepFigures) -> dict[str, float]:
    """`<step>.<metric>`, which a run without steps has not: how long it took, what was read and written meanwhile, what it left."""
    windows = worked_in(figure_windows(of.run).values(), gaps_of(run))
    found = {"duration_s": sum(end - start for start, end in windows) / 1e9}
    for metric in ("read_bytes", "write_bytes"):
        for role, series in cumulative(of.run, metric).items():
            if (used := spent(series, windows)) is not None:
                found[f"{role}_{metric}"] = used
    # The client's bytes are the engine's where the engine is in its process, and nowhere else.
    embedded = (run.summary.get("page_counters") or {}).get("embedded", False)
    read_bytes = found.get(f"{'client' if embedded else 'server'}_read_bytes")
    found |= page_figures(run, step, of.figures.get(f"{step}.rows", 0.0), read_bytes)
    if sizes := held_bytes(run, step):
        found |= {f"{when}_bytes": size for when, size in sizes.items()}
        found["grown_bytes"] = sizes["after"] - sizes["before"]
        if (each := bytes_per_row(run, step, sizes)) is not None:
            found["bytes_per_row"] = each
    if done := [s for s in run.rows("steps") if s["step"] == step]:
        found["statements"] = float(sum(s["ended_by"] == "work" for s in done))
    return {f"{step}.{name}": value for name, value in found.items()}


def total_figures(run: RunRecord, figures: Mapping[str, float]) -> dict[str, float]:
    """Of steps together: their durations, and the rows and bytes of those that load. Steps of other points add nothing."""
    found: dict[str, float] = {}
    loads, ran = loaded_rows(run), segments_of_steps(run)
    for name, steps in run.labels.get("totals", {}).items():
        if any(step in run.labels.get("steps_left_out", {}) for step in steps):
            continue
        there = [step for step in steps if step in ran]
        duration_s = sum(figures[f"{step}.duration_s"] for step in there)
        if not there or duration_s <= 0:
            continue
        found[f"{name}.duration_s"] = duration_s
        for what in ("rows", "bytes"):
            of_loads = [figures.get(f"{step}.{what}", 0.0) for step in there if step in loads]
            if total := sum(of_loads):
                found |= {f"{name}.{what}": total, f"{name}.{what}_per_s": total / duration_s}
    return found
